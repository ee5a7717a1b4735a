# SPDX-License-Identifier: Apache-2.0
"""The results of the runs, as the claims and figures use them, one row per run. The values come from the packets of the
run and from the sender's own counts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leowarp import Run, TraceError
from leowarp.trace.schema.packets import DIRECTIONS
from leowarp_studies.cures.changes import BEFORE_S
from leowarp_studies.programs import losses
from leowarp_studies.programs.runs import (
    CHANGES,
    RATE_BPS,
    RECONFIGURATION_S,
    SHARE,
    STARLINK,
    STILL,
    TRANSFERS,
    made_runs,
    parts_of,
)
from leowarp_studies.programs.senders import KERNEL

DATA = DIRECTIONS[0]
"""The direction of packets from source to destination."""
BIN_NS = 100_000_000
"""The width in ns of the bins in the trace's table `bins`."""
AFTER_S = 3
"""The time after a change that is evaluated, in s."""
DIP_BINS = 3
"""The minimum length of a dip, in bins. Together, the bins last 300 ms, which is two round trips on the longest path
with a full queue."""
DIPPED_RATIO = 0.9
WARM_S = 5
"""The share of a transfer is measured from this time in s after its start. By then, slow start is over."""
BEYOND_PKTS = 128
"""The number of packet numbers that aioquic's receiver remembers (quic/recovery.py, QuicPacketNumberWindow)."""
CHANGE_S = {CHANGES: BEFORE_S, STARLINK: RECONFIGURATION_S}
"""The time in s on the run's clock at which the path changes, by group."""


def frame_of(rows: Mapping[str, pd.DataFrame], folder: Path) -> pd.DataFrame:
    """Return all runs of the study.

    rows: The rows of the study engine, by group.
    Returns: The columns `group, sample, condition, sender`, `size_bytes, completion_ns, goodput_bps`, `sent_pkts,
        lost_pkts, late_pkts`, and `run` (directory). `beyond_pkts`: packets late by more than `BEYOND_PKTS`.
        `declared_pkts`: packets that the sender declared lost, or with TCP, packets that it retransmitted.
        `spurious_pkts`: the number of packets declared lost minus the number of lost packets. For TCP, `spurious_pkts`
        is the number of retransmissions whose original also arrived. `found_spurious_pkts`: packets that the sender
        first declared lost, but later recognised as received. The column is null if the sender does not report this
        number. `share_ratio`: the transfer's share of the data that arrived for it and for the competing transfer.
        `bytes`: bytes that arrived in the `AFTER_S` seconds after the change. `missing_ratio` (a share of the link's
        capacity), `dip_ratio` and `recovery_ns` compare the sender with the same sender on the unchanging path. If a
        column does not apply to a group, its value is null.
    """
    found = []
    for group in rows:
        found += [_measured(group, name, directory) for name, directory in made_runs(rows, folder, group)]
    frame = pd.DataFrame([values for values, _ in found])
    series = [arrived for _, arrived in found]
    return _against_still(frame, series) if len(frame) else frame


def _measured(group: str, name: str, directory: Path) -> tuple[dict[str, Any], np.ndarray | None]:
    """Return the values of a run, and the bytes that arrived in each bin after the path change."""
    sample, condition, sender = parts_of(name)
    run = Run(directory)
    transfer = TRANSFERS[group]
    flow = _transfer_flow(run, sender)
    number, start_ns = flow["flow"], round(transfer.start_s * 1e9)
    if sender in KERNEL:
        completion_ns, declared = flow["completion_ns"], flow["retransmissions_pkts"]
        spurious, heard = flow["spurious_retransmissions_pkts"], None
    else:
        completion_ns = losses.done_ns(directory, transfer.size_bytes) - start_ns
        said = losses.of_run(directory)
        declared, heard = said.declared_pkts, said.found_spurious_pkts
        # The client received all bytes, so the sender must have declared every lost packet lost. If the sender has
        # declared more losses than there were lost packets, the additional declarations were spurious.
        spurious = declared - flow["lost_pkts"]
    if completion_ns is None:
        raise TraceError(f"the transfer of {directory} did not end", "make the runs anew: --force")
    packets = run.packets(number)
    late = packets[(packets["direction"] == DATA) & packets["is_late"].fillna(False).astype(bool)]
    values: dict[str, Any] = {
        "group": group, "sample": sample, "condition": condition, "sender": sender, "size_bytes": transfer.size_bytes,
        "completion_ns": float(completion_ns), "goodput_bps": transfer.size_bytes * 8e9 / completion_ns,
        "sent_pkts": flow["sent_pkts"], "lost_pkts": flow["lost_pkts"], "late_pkts": flow["late_pkts"],
        "beyond_pkts": int((late["extent_pkts"] > BEYOND_PKTS).sum()), "declared_pkts": declared,
        "spurious_pkts": spurious, "found_spurious_pkts": heard, "share_ratio": None, "run": str(directory),
    }  # fmt: skip
    if group == SHARE:
        values["share_ratio"] = _share(run, number, start_ns + WARM_S * 1_000_000_000)
    change_s = CHANGE_S.get(group)
    return values, None if change_s is None else _arrived(run, number, change_s * 1_000_000_000, AFTER_S)


def _transfer_flow(run: Run, sender: str) -> dict[str, Any]:
    """Return the summary of the flow that carries the transfer. If the sender is a program, the transfer is the
    program's connection with the most packets."""
    flows = run.summary["flows"]
    if sender in KERNEL:
        return flows[0]
    mine = [flow for flow in flows if flow["kind"] == "udp" and flow["program"] == 0]
    if not mine:
        raise TraceError(f"the run {run.path} has no connection of its program", "make the runs anew: --force")
    return max(mine, key=lambda flow: flow["sent_pkts"])


def _arrived(run: Run, flow: int, from_ns: int, seconds: float) -> np.ndarray:
    """For each bin, return the bytes of payload that arrived at the destination, including retransmissions."""
    bins = run.bins(flow)
    mine = bins[bins["direction"] == DATA]
    counts = np.zeros(round(seconds * 1e9) // BIN_NS)
    place = (mine["t_ns"].to_numpy() - from_ns) // BIN_NS
    inside = (place >= 0) & (place < len(counts))
    np.add.at(counts, place[inside].astype(int), mine["delivered_bytes"].to_numpy(dtype="float64")[inside])
    return counts


def _share(run: Run, flow: int, from_ns: int) -> float | None:
    """Return which share of the arrived data belongs to one of two competing transfers. Data are counted only while
    both transfers had data to send. None means that one of the two transfers ended before `from_ns`."""
    beside = run.summary["flows"][1]
    both = [_arrived(run, number, from_ns, 60) for number in (flow, beside["flow"])]
    # The last bin in which both transfers have data is left out, because it is incomplete.
    until = min(int(np.flatnonzero(each)[-1]) if each.any() else 0 for each in both)
    one, other = (float(each[:until].sum()) for each in both)
    return one / (one + other) if until else None


def _against_still(frame: pd.DataFrame, series: list[np.ndarray | None]) -> pd.DataFrame:
    """Return `frame` with more columns, which describe the effects of a route change. Each run is compared with the run
    of the same sender on the path without changes."""
    still = {
        (row.group, row.sample, row.sender): series[place]
        for place, row in enumerate(frame.itertuples())
        if row.condition == STILL
    }
    found = []
    for place, row in enumerate(frame.itertuples()):
        mine, theirs = series[place], still.get((row.group, row.sample, row.sender))
        missing_ratio: float | None = None
        dip: tuple[float, float] | tuple[None, None] = (None, None)
        if mine is not None and theirs is not None and row.group == CHANGES and row.condition != STILL:
            missing_ratio = float((theirs - mine).sum()) * 8 / (RATE_BPS * AFTER_S)
            dip = dipped(mine, theirs)
        found.append({
            "bytes": None if mine is None else float(mine.sum()),
            "missing_ratio": missing_ratio,
            "dip_ratio": dip[0], "recovery_ns": dip[1],
        })  # fmt: skip
    return pd.concat([frame, pd.DataFrame(found, index=frame.index)], axis=1)


def dipped(mine: np.ndarray, theirs: np.ndarray) -> tuple[float, float]:
    """Return the depth and duration of a dip in one series relative to another.

    mine, theirs: The bytes in each bin of `BIN_NS`, from the change on. `mine` is from the run with the change, and
        `theirs` from the run without it.
    Returns dip_ratio: The share of the bytes that is missing in the worst `DIP_BINS` consecutive bins, or 0 if no bytes
        are missing.
    Returns recovery_ns: The time until the end of the last `DIP_BINS` consecutive bins below `DIPPED_RATIO` of
        `theirs`, or 0 if there are no such bins.

    >>> dipped(np.array([4.0, 1, 1, 4, 4, 4]), np.full(6, 4.0))
    (0.5, 500000000.0)
    """
    window = np.ones(DIP_BINS)
    have, wanted = np.convolve(mine, window, "valid"), np.convolve(theirs, window, "valid")
    ratio = np.divide(have, wanted, out=np.ones_like(have), where=wanted > 0)
    low = np.flatnonzero(ratio < DIPPED_RATIO)
    return max(0.0, 1 - float(ratio.min())), float((low[-1] + DIP_BINS) * BIN_NS) if len(low) else 0.0
