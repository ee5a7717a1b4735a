# SPDX-License-Identifier: Apache-2.0
"""The measurements that programs report (transactions, page loads, segmented video, paced frames), as scalars of their
flow.

Times are relative to the `start_ns` of each measurement. If the programs reported no measurement of a kind, the scalars
of this kind are null.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from leowarp import scalars
from leowarp.metrics.inputs.series import weighted_quantile, whole
from leowarp.metrics.inputs.tables import Tables, floats
from leowarp.scalars.of_programs import MEASURES

FREEZE_WINDOW_FRAMES = 30
"""Whether an interval is a freeze depends on the mean of this many intervals between rendered frames. The mean includes
the interval itself, as the last one (W3C webrtc-stats, `freezeCount`; libwebrtc, video/video_quality_observer2.cc,
kAvgInterframeDelaysWindowSizeFrames)."""
FREEZE_LEAST_FRAMES = 5
"""The number of intervals from which freezes are found (kMinFrameSamplesToDetectFreeze)."""
FREEZE_INCREASE_NS = 150_000_000
"""A freeze is longer than the mean interval by at least this time (kMinIncreaseForFreezeMs). A freeze is also at least
three times the mean interval."""


def measure_scalars(tables: Tables, number: int, end_ns: int) -> dict[str, Any]:
    """Return the scalars of the measurements that the programs of a flow reported (`scalars.of_programs.MEASURES`). A
    stall without an end lasts until the end of the run, `end_ns`."""
    row: dict[str, Any] = dict.fromkeys(scalars.names(MEASURES))
    mine = tables.of_flow("measures", number)
    of_kind = {str(kind): rows for kind, rows in mine.groupby("kind", observed=True)}
    if "transaction" in of_kind:
        row |= _transactions(of_kind["transaction"])
    if "page" in of_kind:
        row |= _pages(of_kind["page"], of_kind.get("object"))
    if {"startup", "segment", "stall"} & of_kind.keys():
        row |= _video(of_kind, end_ns)
    if "frame" in of_kind:
        row |= _frames(of_kind["frame"])
    return row


def freezes(rendered_ns: np.ndarray) -> np.ndarray:
    """Return the lengths of the freezes of a video in ns, in their order.

    rendered_ns: int array of shape (n,). The rendering times of the frames, increasing.

    The source is W3C, Identifiers for WebRTC's Statistics API, `freezeCount` and `totalFreezesDuration`. The mean is
    over the same intervals as in libwebrtc, video/video_quality_observer2.cc.
    """
    intervals = np.diff(np.asarray(rendered_ns, dtype="int64"))
    sums = np.concatenate(([0], np.cumsum(intervals)))
    last = np.arange(1, len(intervals) + 1)
    first = np.maximum(last - FREEZE_WINDOW_FRAMES, 0)
    mean = (sums[last] - sums[first]) / (last - first)
    long = (intervals >= 3 * mean) & (intervals >= mean + FREEZE_INCREASE_NS) & (last >= FREEZE_LEAST_FRAMES)
    return intervals[long]


def rendered_ns(frames: pd.DataFrame) -> np.ndarray:
    """Return the times at which the frames of a video were rendered, in ns, in ascending order. A frame is rendered
    when it is complete. A frame that is complete after a later frame is never rendered."""
    whole = frames[frames["end_ns"].notna()].sort_values(["end_ns", "number"], kind="stable")
    numbers = floats(whole["number"])
    in_order = numbers > np.concatenate(([-1.0], np.maximum.accumulate(numbers)[:-1]))
    return whole["end_ns"].to_numpy(dtype="int64")[in_order]


def _transactions(rows: pd.DataFrame) -> dict[str, Any]:
    took_ns = _took_ns(rows, "end_ns")
    return {
        "transactions": int((~np.isnan(took_ns)).sum()),
        "transactions_failed": int(np.isnan(took_ns).sum()),
        "transaction_p50_ns": _quantile(took_ns, 0.5),
        "transaction_p99_ns": _quantile(took_ns, 0.99),
        "transaction_max_ns": _quantile(took_ns, 1.0),
        "first_byte_p50_ns": _quantile(_took_ns(rows, "first_byte_ns"), 0.5),
    }


def _pages(rows: pd.DataFrame, objects: pd.DataFrame | None) -> dict[str, Any]:
    took_ns = _took_ns(rows, "end_ns")
    return {
        "pages": int((~np.isnan(took_ns)).sum()),
        "pages_failed": int(np.isnan(took_ns).sum()),
        "page_objects": None if objects is None else len(objects),
        "page_load_p50_ns": _quantile(took_ns, 0.5),
        "page_load_max_ns": _quantile(took_ns, 1.0),
        "page_first_byte_p50_ns": _quantile(_took_ns(rows, "first_byte_ns"), 0.5),
    }


def _video(of_kind: dict[str, pd.DataFrame], end_ns: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "startup" in of_kind:
        found["startup_ns"] = _quantile(_took_ns(of_kind["startup"][:1], "end_ns"), 1.0)
    stalls = of_kind.get("stall")
    found["stalls"] = 0 if stalls is None else len(stalls)
    stalled_ns = 0 if stalls is None else int((stalls["end_ns"].fillna(end_ns) - stalls["start_ns"]).sum())
    found["stalled_ns"] = stalled_ns
    if "segment" not in of_kind:
        return found
    segments = of_kind["segment"].sort_values("end_ns", kind="stable")
    bitrates_bps, media_ns = floats(segments["bitrate_bps"]), floats(segments["media_ns"])
    found["segments"] = len(segments)
    found["bitrate_mean_bps"] = float(np.average(bitrates_bps, weights=media_ns)) if media_ns.sum() else None
    found["bitrate_switches"] = int((np.diff(bitrates_bps) != 0).sum())
    found["stalled_ratio"] = stalled_ns / (stalled_ns + media_ns.sum()) if stalled_ns + media_ns.sum() else None
    latency_ns = floats(segments["latency_ns"])
    found["live_latency_p50_ns"] = _quantile(latency_ns, 0.5)
    found["live_latency_max_ns"] = _quantile(latency_ns, 1.0)
    return found


def _frames(rows: pd.DataFrame) -> dict[str, Any]:
    took_ns = _took_ns(rows, "end_ns")
    frozen_ns = freezes(rendered_ns(rows))
    return {
        "frames": len(rows),
        "frames_lost": int(np.isnan(took_ns).sum()),
        "frame_delay_p50_ns": _quantile(took_ns, 0.5),
        "frame_delay_p95_ns": _quantile(took_ns, 0.95),
        "frame_delay_p99_ns": _quantile(took_ns, 0.99),
        "freezes": len(frozen_ns),
        "frozen_ns": int(frozen_ns.sum()),
    }


def _took_ns(rows: pd.DataFrame, until: str) -> np.ndarray:
    return floats(rows[until]) - floats(rows["start_ns"])


def _quantile(values_ns: np.ndarray, q: float) -> int | None:
    return whole(weighted_quantile(values_ns, np.ones(len(values_ns)), q))
