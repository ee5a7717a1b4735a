# SPDX-License-Identifier: Apache-2.0
"""Tests which sysctl and module parameters follow from `tcp.loss_detection`, and which keys cannot be combined with
it."""

import pytest

from leowarp.scenario import load, resolve
from leowarp.scenario.loading_test import problems_of, write
from leowarp.scenario.network.hosts import LOSS_DETECTIONS, OWN_SCOREBOARD
from leowarp.scenario.network.hosts_test import chain


@pytest.mark.parametrize(
    ("detection", "recovery"),
    [
        ("kernel", "0"), ("ncr-careful", "17"), ("ncr-aggressive", "33"), ("door", "48"), ("rr", "65"), ("pr", "81"),
        ("notified", "96"), ("rack-draft", "113"), ("rack-4.14", "129"),
    ],
)  # fmt: skip
def test_each_is_a_number_above_the_bits_that_the_kernel_reads(tmp_path, detection, recovery):
    plan = resolve(load(chain(tmp_path), ["tcp.profile=classic", f"tcp.loss_detection={detection}"]))
    assert {host.sysctl["net.ipv4.tcp_recovery"] for host in plan.hosts} == {recovery}
    assert ("loss_detection" in plan.modules) == (detection != "kernel")
    path = write(tmp_path, plan.to_toml(), "plan.toml")
    assert "[modules" not in path.read_text()
    assert resolve(load(path)) == plan
    # A plan contains the sysctls. If the user sets `tcp.loss_detection` on the plan, the sysctls are derived again
    again = resolve(load(path, ["tcp.loss_detection=kernel"]))
    assert {host.sysctl["net.ipv4.tcp_recovery"] for host in again.hosts} == {"0"}


def test_those_that_lie_over_the_kernels_keep_what_is_said_of_it(tmp_path):
    plan = resolve(load(chain(tmp_path), ["tcp.loss_detection=notified", "tcp.recovery=5"]))
    assert plan.hosts[0].sysctl["net.ipv4.tcp_recovery"] == str(5 + (LOSS_DETECTIONS.index("notified") << 4))
    # A misspelt method in OWN_SCOREBOARD would have no effect.
    assert set(OWN_SCOREBOARD) < set(LOSS_DETECTIONS)


def test_parameters_are_whole_numbers_to_the_module(tmp_path):
    keys = ["tcp.loss_detection=pr", "tcp.pr_beta=250 %", "tcp.pr_alpha=99.9 %", "tcp.door_freeze=30 ms"]
    assert resolve(load(chain(tmp_path), keys)).modules["loss_detection"] == {
        "door_freeze_ns": "30000000",
        "door_undo_ns": "0",
        "rr_percentile_ppm": "900000",
        "pr_alpha_ppm": "999000",
        "pr_beta_ppm": "2500000",
    }


def test_one_host_alone_may_find_losses_otherwise(tmp_path):
    plan = resolve(load(chain(tmp_path, '[hosts.A.tcp]\nloss_detection = "rr"\nrr_percentile = "50 %"\n')))
    assert [host.tcp.loss_detection for host in plan.hosts] == ["rr", "kernel"]
    assert [host.sysctl["net.ipv4.tcp_recovery"] for host in plan.hosts] == ["65", "1"]
    assert plan.modules["loss_detection"]["rr_percentile_ppm"] == "500000"


@pytest.mark.parametrize(
    ("rest", "keys", "key", "said"),
    [
        ("", ["tcp.loss_detection=ncr"], "tcp.loss_detection", "ncr-careful"),
        ("", ["tcp.loss_detection=pr", "tcp.pr_beta=100 %"], "tcp.pr_beta", "101 %"),
        ("", ["tcp.loss_detection=rr", "tcp.rr_percentile=0 %"], "tcp.rr_percentile", "1 %"),
        ("", ["tcp.loss_detection=pr", "tcp.rack=true"], "tcp.rack", "takes the place of RACK"),
        ("", ["tcp.loss_detection=rr", "tcp.recovery=1"], "tcp.recovery", "takes the place of RACK"),
        ("", ["tcp.loss_detection=pr", "tcp.profile=newreno"], "tcp.loss_detection", "counts what SACK reports"),
        ("[hosts.B.tcp]\nsack = false\n", ["tcp.loss_detection=pr"], "tcp.loss_detection", "B has none"),
        ('[tcp.sysctl]\n"net.ipv4.tcp_sack" = "0"\n', ["tcp.loss_detection=pr"], "tcp.loss_detection", "none"),
        (
            '[tcp.sysctl]\n"net.ipv4.tcp_recovery" = "1"\n',
            ["tcp.loss_detection=door"],
            "tcp.sysctl.net.ipv4.tcp_recovery",
            "bits of it",
        ),
        (
            '[tcp]\nloss_detection = "pr"\n[hosts.B.tcp]\npr_beta = "200 %"\n',
            [],
            "tcp.pr_beta",
            "one for all",
        ),
        ('[modules.loss_detection]\npr_beta_ppm = "1"\n', [], "modules.loss_detection", "from [tcp]"),
    ],
)
def test_what_cannot_be_is_refused_with_what_to_write(tmp_path, rest, keys, key, said):
    problems = problems_of(chain(tmp_path, rest), keys)
    assert {problem.key for problem in problems} == {key}
    assert said in f"{problems[0].rule} {problems[0].hint}"
