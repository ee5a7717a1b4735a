# SPDX-License-Identifier: Apache-2.0
"""Tests that the guest's random numbers depend only on the seed and on earlier draws from the same stream."""

import json
from pathlib import Path

import pytest

import leowarp as lw

pytestmark = pytest.mark.guest

EXAMPLE = Path(__file__).parents[2] / "examples" / "chain.toml"
MODULE = Path(__file__).with_name("draws_module.c")


def trace_of(folder: Path, **changed: object) -> dict[str, str]:
    """Return the sha256 of each table in the trace of a BBR flow. BBR draws a random phase of its cycle within 2 s, and
    again at 10 s, after PROBE_RTT."""
    changes = {"run.duration": "13 s", "flows.0.congestion_control": "bbr"} | changed
    made = lw.run(EXAMPLE, changes, folder, report=False, progress=False)
    files = json.loads((made.path / "manifest.json").read_text())["files"]
    return {name: digest for name, digest in files.items() if name.startswith("30-trace/")}


def test_what_else_draws_or_interrupts_moves_no_packet_of_bbr(tmp_path):
    alone = trace_of(tmp_path / "alone")
    module = {"guest.cc_modules": [str(MODULE)]}
    assert trace_of(tmp_path / "disturbed", **module) == alone
    # With the test's kernel module, interrupts occur at other instants, and the kernel draws many more random numbers.
    other = {"modules.draws_module.draws": "1000", "modules.draws_module.period_ns": "777777 ns"}
    assert trace_of(tmp_path / "other", **module, **other) == alone


def test_bbr_draws_by_the_seed(tmp_path):
    traces = [trace_of(tmp_path / str(seed), **{"run.seed": seed, "run.duration": "4 s"}) for seed in (1, 2, 3)]
    assert len({trace["30-trace/sockets.parquet"] for trace in traces}) > 1
