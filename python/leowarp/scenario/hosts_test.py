# SPDX-License-Identifier: Apache-2.0
"""TCP's switches as sysctls, pacing, and floods of pings."""

import pytest

from leowarp.scenario import load, resolve
from leowarp.scenario.load_test import problems_of, write

CHAIN = """\
name = "hosts"
[chain]
[[flows]]
kind = "{kind}"
source = "A"
destination = "B"
{rest}
"""


def chain(folder, rest="", kind="tcp"):
    return write(folder, CHAIN.format(kind=kind, rest=rest))


@pytest.mark.parametrize(
    ("setting", "sysctl", "value"),
    [
        ("tcp.ecn=passive", "tcp_ecn", "2"),
        ("tcp.ecn=on", "tcp_ecn", "1"),
        ("tcp.ecn=off", "tcp_ecn", "0"),
        ("tcp.sack=false", "tcp_sack", "0"),
        ("tcp.dsack=false", "tcp_dsack", "0"),
        ("tcp.rack=false", "tcp_recovery", "0"),
        ("tcp.timestamps=false", "tcp_timestamps", "0"),
    ],
)
def test_one_key_sets_one_sysctl_on_top_of_the_profile(tmp_path, setting, sysctl, value):
    base = resolve(load(chain(tmp_path))).hosts[0].sysctl
    plan = resolve(load(chain(tmp_path), [setting]))
    name = f"net.ipv4.{sysctl}"
    for host in plan.hosts:
        assert {**host.sysctl, name: base[name]} == base
        assert host.sysctl[name] == value
    assert resolve(load(write(tmp_path, plan.to_toml(), "plan.toml"))) == plan


def test_a_key_wins_over_the_profile_and_a_sysctl_over_the_key(tmp_path):
    path = chain(tmp_path, '[tcp]\nprofile = "newreno"\nsack = true\n[hosts.B.tcp]\necn = "on"\nsack = "profile"\n')
    a, b = resolve(load(path)).hosts
    assert [host.sysctl["net.ipv4.tcp_sack"] for host in (a, b)] == ["1", "0"]
    assert [host.sysctl["net.ipv4.tcp_ecn"] for host in (a, b)] == ["2", "1"]
    over = resolve(load(path, ["hosts.B.tcp.sysctl.net.ipv4.tcp_ecn=0"])).hosts[1]
    assert over.sysctl["net.ipv4.tcp_ecn"] == "0"


def test_each_host_paces_as_it_is_told(tmp_path):
    plan = resolve(load(chain(tmp_path, '[tcp]\npacing = "fq"\n[hosts.B.tcp]\npacing = "internal"\n')))
    assert [host.pacing for host in plan.hosts] == ["fq", "internal"]
    assert resolve(load(write(tmp_path, plan.to_toml(), "plan.toml"))) == plan


@pytest.mark.parametrize(
    ("rest", "interval_ns"),
    [("", 10_000_000), ('interval = "100 ms"', 100_000_000), ('interval = "none"', None)],
)
def test_a_flood_has_a_longest_interval_or_none(tmp_path, rest, interval_ns):
    plan = resolve(load(chain(tmp_path, f"flood = true\n{rest}", "ping")))
    assert (plan.flows[0].flood, plan.flows[0].interval_ns) == (True, interval_ns)
    path = write(tmp_path, plan.to_toml(), "plan.toml")
    assert resolve(load(path)) == plan
    still = resolve(load(path, ["flows.0.flood=false"])).flows[0]
    assert (still.flood, still.interval_ns) == (False, 10**9)
    again = resolve(load(write(tmp_path, resolve(load(chain(tmp_path, "", "ping"))).to_toml(), "p.toml"),
                         ["flows.0.flood=true"])).flows[0]  # fmt: skip
    assert (again.flood, again.interval_ns) == (True, 10_000_000)


def test_only_pings_are_floods_or_not(tmp_path):
    plan = resolve(load(chain(tmp_path)))
    assert plan.flows[0].flood is None
    assert resolve(load(chain(tmp_path, "", "ping"))).flows[0].flood is False


@pytest.mark.parametrize(
    ("kind", "rest", "key", "said"),
    [
        ("tcp", "flood = true", "flows.0.flood", "is a key of ping"),
        ("ping", 'flood = true\npacket_rate = "5 pkts/s"', "flows.0.packet_rate", "paced by its replies"),
        ("ping", "flood = true\nreplies = false", "flows.0.replies", "paced by its replies"),
        ("ping", 'interval = "none"', "flows.0.interval", "write flood = true"),
        ("ping", 'interval = "1 us"', "flows.0.interval", "100 us to 1 h"),
        ("tcp", '[tcp]\npacing = "qf"', "tcp.pacing", "allowed: internal, fq"),
        ("tcp", '[tcp]\necn = "passiv"', "tcp.ecn", 'did you mean "passive"'),
        ("tcp", "[tcp]\necn = true", "tcp.ecn", "allowed: passive, on, off"),
        ("tcp", '[tcp]\nsack = "yes"', "tcp.sack", 'or "profile"'),
    ],
)
def test_a_mistake_names_its_key_and_its_cure(tmp_path, kind, rest, key, said):
    problems = problems_of(chain(tmp_path, rest, kind))
    assert [problem.key for problem in problems] == [key]
    assert said in str(problems[0])
