# SPDX-License-Identifier: Apache-2.0
"""Tests the keys for TCP's sysctls, pacing, delayed acknowledgements, the size of packets, and flood pings."""

import pytest

from leowarp.scenario import load, resolve
from leowarp.scenario.loading_test import problems_of, write

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
        ("tcp.recovery=5", "tcp_recovery", "5"),
        ("tcp.reordering=100", "tcp_reordering", "100"),
        ("tcp.max_reordering=1000", "tcp_max_reordering", "1000"),
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


def test_losses_are_found_in_one_way_alone(tmp_path):
    [problem] = problems_of(chain(tmp_path), ["tcp.recovery=1", "tcp.rack=false"])
    assert (problem.key, problem.rule) == ("tcp.rack", "is given, and recovery says it, too")
    [problem] = problems_of(chain(tmp_path), ["tcp.reordering=500"])
    assert (problem.key, "max_reordering" in problem.hint) == ("tcp.reordering", True)
    plan = resolve(load(chain(tmp_path), ["tcp.reordering=500", "tcp.max_reordering=500"]))
    assert plan.hosts[0].sysctl["net.ipv4.tcp_reordering"] == "500"
    # If [tcp] sets one of two conflicting keys and a host sets the other one, the host's key applies
    path = chain(tmp_path, "[tcp]\nrack = false\n[hosts.B.tcp]\nrecovery = 3\n")
    assert [host.sysctl["net.ipv4.tcp_recovery"] for host in resolve(load(path)).hosts] == ["0", "3"]


def test_a_key_wins_over_the_profile_and_a_sysctl_over_the_key(tmp_path):
    path = chain(tmp_path, '[tcp]\nprofile = "newreno"\nsack = true\n[hosts.B.tcp]\necn = "on"\nsack = "profile"\n')
    a, b = resolve(load(path)).hosts
    assert [host.sysctl["net.ipv4.tcp_sack"] for host in (a, b)] == ["1", "0"]
    assert [host.sysctl["net.ipv4.tcp_ecn"] for host in (a, b)] == ["2", "1"]
    over = resolve(load(path, ["hosts.B.tcp.sysctl.net.ipv4.tcp_ecn=0"])).hosts[1]
    assert over.sysctl["net.ipv4.tcp_ecn"] == "0"


def test_each_host_paces_as_it_is_told(tmp_path):
    plan = resolve(load(chain(tmp_path, '[tcp]\npacing = "fq"\n[hosts.B.tcp]\npacing = "internal"\n')))
    assert [host.tcp.pacing for host in plan.hosts] == ["fq", "internal"]
    assert resolve(load(write(tmp_path, plan.to_toml(), "plan.toml"))) == plan


def test_acknowledgements_are_delayed_with_one_timer_that_the_module_gets(tmp_path):
    plan = resolve(load(chain(tmp_path)))
    assert {(host.tcp.delayed_ack, host.tcp.delayed_ack_timer_ns) for host in plan.hosts} == {("adaptive", 40_000_000)}
    assert plan.modules == {}
    path = chain(tmp_path, '[tcp]\ndelayed_ack = "on"\n[hosts.A.tcp]\ndelayed_ack = "off"\n')
    on = resolve(load(path, ["tcp.delayed_ack_timer=25 ms"]))
    assert [(host.tcp.delayed_ack, host.tcp.delayed_ack_timer_ns) for host in on.hosts] == [
        ("off", 25_000_000),
        ("on", 25_000_000),
    ]
    assert on.modules == {"delack": {"max_ns": "25000000"}}
    text = on.to_toml()
    assert "[modules" not in text
    plan_path = write(tmp_path, text, "plan.toml")
    assert resolve(load(plan_path)) == on
    again = resolve(load(plan_path, ["tcp.delayed_ack_timer=30 ms"]))
    assert again.modules == {"delack": {"max_ns": "30000000"}}
    assert resolve(load(plan_path, ["tcp.delayed_ack=adaptive"])).modules == {}


@pytest.mark.parametrize("medium", ["chain", "jittered", "access"])
def test_the_size_of_packets_is_a_key_of_every_medium(tmp_path, medium):
    ends = 'source = "dish"\ndestination = "server"' if medium == "access" else 'source = "A"\ndestination = "B"'
    path = write(tmp_path, f'name = "small"\n[{medium}]\n[network]\nmtu = "1115 B"\n[[flows]]\n{ends}\n')
    plan = resolve(load(path))
    assert plan.network.mtu_bytes == 1115
    assert resolve(load(write(tmp_path, plan.to_toml(), "plan.toml"))) == plan


def test_a_probe_fits_into_a_packet(tmp_path):
    small = '[network]\nmtu = "1115 B"'
    plan = resolve(load(chain(tmp_path, f'rate = "1 Mbit/s"\n{small}', "udp")))
    assert plan.flows[0].payload_bytes == 1087
    (problem,) = problems_of(chain(tmp_path, f'payload = "1088 B"\n{small}', "ping"))
    assert problem.key == "flows.0.payload"
    assert "at most 1087 B fit" in str(problem)


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
    again = resolve(
        load(write(tmp_path, resolve(load(chain(tmp_path, "", "ping"))).to_toml(), "p.toml"), ["flows.0.flood=true"])
    ).flows[0]
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
        ("tcp", "[tcp]\ndelayed_ack = true", "tcp.delayed_ack", "allowed: adaptive, on, off"),
        ("tcp", '[tcp]\ndelayed_ack_timer = "200 ms"', "tcp.delayed_ack_timer", "1 ms to 100 ms"),
        (
            "tcp",
            '[tcp]\ndelayed_ack = "on"\n[hosts.B.tcp]\ndelayed_ack_timer = "20 ms"',
            "hosts.B.tcp.delayed_ack_timer",
            "one timer",
        ),
        (
            "tcp",
            '[tcp]\ndelayed_ack = "on"\ndelayed_ack_timer = "40.5 ms"',
            "tcp.delayed_ack_timer",
            '"40500 us" is no whole number of ms',
        ),
        ("tcp", '[modules.delack]\nmax_ns = "40 ms"', "modules.delack", 'delayed_ack = "on"'),
        ("tcp", '[network]\nmtu = "9000 B"', "network.mtu", "256 B to 1500 B"),
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
