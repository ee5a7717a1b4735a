# SPDX-License-Identifier: Apache-2.0
"""Which runs may share a boot, and with which: a run must give in a batch what it gives alone."""

from pathlib import Path

import pytest

from leowarp.running.shared_boot import shareable
from leowarp.scenario import Plan, load, resolve

CHAIN = """\
name = "shared"
[chain]
[[flows]]
source = "A"
destination = "B"
"""


def plan_of(folder: Path, *settings: str) -> Plan:
    path = folder / "scenario.toml"
    path.write_text(CHAIN)
    (folder / "my_cc.c").write_text("int x;\n")
    return resolve(load(path, settings))


@pytest.mark.parametrize(
    ("settings", "is_shareable"),
    [
        ((), True),
        (("flows.0.congestion_control=cubic_handover",), True),
        (("flows.0.congestion_control=bbr_handover",), True),
        (("flows.0.congestion_control=cdg",), True),
        (("chain.queue_discipline=codel", "chain.ecn=true"), True),
        (("chain.queue_discipline=fq_codel",), False),
        (("chain.queue_discipline=fq_pie",), False),
        (("chain.queue_discipline=cake",), False),
        (("chain.queue_discipline=pie",), False),
        (("chain.queue_discipline=red",), False),
        (("tcp.pacing=fq",), False),
        (("hosts.B.tcp.pacing=fq",), False),
        (("modules.tcp_cubic.hystart=0",), True),
    ],
)
def test_what_is_older_than_a_run_keeps_it_from_sharing_a_boot(tmp_path, settings, is_shareable):
    assert shareable(plan_of(tmp_path, *settings)) == is_shareable


def test_nobody_knows_what_a_module_of_ones_own_keeps(tmp_path):
    assert not shareable(plan_of(tmp_path, f'guest.cc_modules=["{tmp_path / "my_cc.c"}"]'))


def test_runs_whose_modules_differ_do_not_share_a_boot(tmp_path):
    plan, other_seed = plan_of(tmp_path), plan_of(tmp_path, "run.seed=9")
    other_parameter = plan_of(tmp_path, "modules.tcp_cubic.hystart=0")
    assert plan.boot() == other_seed.boot()
    assert plan.boot() != other_parameter.boot()
