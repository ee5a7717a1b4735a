# SPDX-License-Identifier: Apache-2.0
"""Tests that every declared scalar has a value in at least one of these runs."""

from pathlib import Path

import pytest

import leowarp as lw
from leowarp import scalars
from leowarp.scalars.of_flows import DATAGRAMS

EXAMPLES = Path(__file__).parents[2] / "examples"

RUNS = {
    # This run has a route change that reorders the packets of a flow.
    "two-changes": {"run.duration": "40 s", "flows.0.congestion_control": "reno"},
    # The run "starlink-ping" has reconfigurations and lost replies
    "starlink-ping": {"run.duration": "50 s", "flows.0.name": "ping"},
    # In the run "jittered-probe", probes overtake each other
    "jittered-probe": {"run.duration": "5 s"},
}

TWO_TRANSFERS = """
name = "two-transfers"
run.duration = "10 s"
chain = { hops = 1, rate = "10 Mbit/s", delay = "10 ms" }
[[flows]]
name = "first"
kind = "tcp"
source = "A"
destination = "B"
size = "1 MB"
[[flows]]
kind = "tcp"
source = "A"
destination = "B"
size = "1 MB"
"""
"""A run in which two flows share a link, and one flow completes."""

OPPOSITE = TWO_TRANSFERS.replace('"A"\ndestination = "B"', '"B"\ndestination = "A"', 1)
"""A run without shares. The run records the reason for this."""

HELD = """
run.duration = "31 s"
cures = { move_queue = "kept", hold = true }
"""
"""The keys of a run whose cures act at the route change at 30 s. The run records the costs of these cures."""

OTHER_CURES = ({"cures.end_marker": True}, {"cures.duplicate": "100 ms", "cures.resequence": "flow"})
"""The keys of two runs. Their cures cannot be combined with the cures of `HELD`."""

OF_TCP_ALONE = {"congestion_control", "connect_ns", "completion_ns"}
"""The scalars in every flow's summary that are null for a flow of probes."""


@pytest.mark.guest
def test_every_declared_scalar_is_known_of_some_run(tmp_path):
    own, opposite = tmp_path / "two-transfers.toml", tmp_path / "opposite.toml"
    own.write_text(TWO_TRANSFERS)
    opposite.write_text(OPPOSITE)
    held = tmp_path / "held.toml"
    held.write_text(f'name = "held"\nextends = "{EXAMPLES / "two-changes.toml"}"\n{HELD}')
    todo = [(EXAMPLES / f"{name}.toml", changes) for name, changes in RUNS.items()]
    todo += [(own, {}), (opposite, {}), (held, {})]
    todo += [(EXAMPLES / "one-change.toml", cures) for cures in OTHER_CURES]
    known: dict[str, set[str]] = {"run": set(), "tcp": set(), "probe": set()}
    for number, (scenario, changes) in enumerate(todo):
        summary = lw.run(scenario, changes, tmp_path / f"run{number}", report=False, progress=False).summary
        known["run"] |= {name for name, value in scalars.flat(summary).items() if value is not None}
        for flow in summary["flows"]:
            kind = "tcp" if flow["kind"] == "tcp" else "probe"
            known[kind] |= {name for name, value in flow.items() if value is not None}
    assert known["run"] == set(scalars.names(scalars.RUN))
    # the scalar of Multipath TCP is covered by tests/guest/mptcp_test.py
    assert known["tcp"] == set(scalars.names(scalars.TCP)) - {"connection_goodput_mean_bps"}
    # the scalars of programs are covered by tests/guest/program_test.py
    assert known["probe"] == set(scalars.names(scalars.PROBE)) - OF_TCP_ALONE - set(scalars.names(DATAGRAMS))
