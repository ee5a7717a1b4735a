# SPDX-License-Identifier: Apache-2.0
"""Run a case in leowarp or in ns-3, and measure cost and results in the same way."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from path_text import path_text

import leowarp as lw
from leowarp.base.errors import LeowarpError

NS3_CONTROLS = {"cubic": "TcpCubic", "reno": "TcpLinuxReno", "bbr": "TcpBbr"}
"""A dict from a congestion control's name in Linux to its class in ns-3."""
GAUGE = Path(__file__).resolve().parent / "gauge.py"
BUFFER_BYTES = 16 << 20
SEGMENT_BYTES = 1448


@dataclass(frozen=True)
class Case:
    """A scenario with its congestion control and duration."""

    name: str
    scenario: Path
    congestion_control: str
    duration_s: int


@dataclass(frozen=True)
class Outcome:
    """The result of one run.

    cpu_s: The processor time in s (user and system) of the process and of all processes for which it waited.
    memory_bytes: The memory peak in bytes. For ns-3, this is the peak of its process. For leowarp, this is the guest's
        peak plus the peak of the largest other process.
    numbers: The results, by the names in `COUNTED`. None means that the program does not report the result.
    series: The columns `t_ns, window_pkts, goodput_bps`, every 50 ms.
    """

    cpu_s: float
    memory_bytes: int
    numbers: dict[str, float | int | None]
    series: pd.DataFrame


COUNTED = ("goodput_bps", "sent_pkts", "lost_pkts", "late_pkts", "retransmissions_pkts", "spurious_pkts",
           "lost_again_pkts", "recoveries", "timeouts", "undos")  # fmt: skip
"""The counts of the transfer's data packets. `lost_again_pkts` counts retransmissions that were lost. A sender detects
their loss only by a timer or by RACK."""


def costed(command: list[str], scratch: Path) -> tuple[str, float, int]:
    """Run a command. Return its output, its processor time in s, and the peak memory of its largest process in bytes
    (at least 10 MB).

    Raises LeowarpError with the last output lines if the command's exit status is not 0.
    """
    costs = scratch / "costs.json"
    gauged = [sys.executable, "-I", "-S", str(GAUGE), str(costs), *command]
    made = subprocess.run(gauged, capture_output=True, text=True, errors="replace")
    if made.returncode:
        raise LeowarpError(f"{' '.join(command)} failed: {made.stderr[-1000:].strip()}")
    spent = json.loads(costs.read_text(encoding="utf-8"))
    return made.stdout, spent["cpu_s"], spent["memory_bytes"]


def leowarp_run(case: Case, directory: Path) -> Outcome:
    """Run leowarp with packet truth and metrics, and without the report."""
    command = [
        sys.executable, "-m", "leowarp", "run", str(case.scenario), "--out", str(directory), "--force", "--no-report",
        "--set", f"run.duration={case.duration_s} s",
        "--set", f"flows.0.congestion_control={case.congestion_control}",
    ]  # fmt: skip
    _, cpu_s, memory_bytes = costed(command, directory.parent)
    run = lw.open(directory)
    memory_bytes += run.manifest["costs"]["guest_peak_memory_bytes"]
    flow = run.summary["flows"][0]
    packets = run.packets(flow=0)  # contains every retransmission and every lost packet
    again = packets[(packets["direction"] == "data") & packets["is_retransmission"] & packets["drop_cause"].notna()]
    numbers = {
        "goodput_bps": flow["goodput_mean_bps"], "sent_pkts": flow["sent_pkts"], "lost_pkts": flow["lost_pkts"],
        "late_pkts": flow["late_pkts"], "retransmissions_pkts": flow["retransmissions_pkts"],
        "spurious_pkts": flow["spurious_retransmissions_pkts"], "recoveries": flow["sender_recoveries"],
        "lost_again_pkts": len(again), "timeouts": flow["sender_timeouts"], "undos": flow["sender_undos"],
    }  # fmt: skip
    window = run.series("cwnd_pkts", 0)[["t_ns", "cwnd_pkts"]]
    goodput = run.series("goodput_in_order_bps", 0)[["t_ns", "goodput_in_order_bps"]]
    series = window.merge(goodput, on="t_ns", how="inner").set_axis(["t_ns", "window_pkts", "goodput_bps"], axis=1)
    return Outcome(cpu_s, memory_bytes, numbers, series)


def ns3_run(case: Case, directory: Path, program: Path) -> Outcome:
    """Simulate the path of a leowarp run in ns-3. The path is computed from the run's timeline in `directory`."""
    run = lw.open(directory)
    flow = run.plan.flows[0]
    timeline = pq.read_table(directory / "20-timeline.parquet")
    path, samples = directory.with_suffix(".path"), directory.with_suffix(".samples.csv")
    path.write_text(path_text(timeline, flow.source, flow.destination, BUFFER_BYTES), encoding="utf-8")
    control = NS3_CONTROLS[case.congestion_control]
    command = [str(program), str(path), control, str(case.duration_s * 10**9), str(samples)]
    said, cpu_s, memory_bytes = costed(command, directory.parent)
    counts = json.loads(said)
    numbers = {name: counts.get(name) for name in COUNTED}
    return Outcome(cpu_s, memory_bytes, numbers, sampled(samples))


def sampled(samples: Path) -> pd.DataFrame:
    """Return ns-3's samples as columns `t_ns, window_pkts, goodput_bps`: the window at the sample, and the goodput
    until the next sample."""
    table = pd.read_csv(samples)
    seconds = np.diff(table["t_ns"]) / 1e9
    received = np.diff(table["received_in_order_bytes"])
    return pd.DataFrame({
        "t_ns": table["t_ns"][:-1], "window_pkts": table["cwnd_bytes"][:-1] / SEGMENT_BYTES,
        "goodput_bps": 8 * received / seconds,
    })  # fmt: skip


def as_json(outcomes: list[Outcome]) -> dict[str, Any]:
    """Return the costs of a case in one program, for all repetitions. Also return the results, which are the same in
    each repetition.

    Raises LeowarpError if the results of two repetitions differ.
    """
    first = outcomes[0].numbers
    for other in outcomes[1:]:
        if other.numbers != first:
            raise LeowarpError(f"two repetitions differ: {first} and {other.numbers}")
    return {
        "cpu_s": [round(each.cpu_s, 2) for each in outcomes],
        "memory_bytes": max(each.memory_bytes for each in outcomes),
        **first,
    }
