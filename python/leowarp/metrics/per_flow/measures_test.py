# SPDX-License-Identifier: Apache-2.0
"""Tests the scalars of programs' measurements. The expected values are computed by hand."""

import numpy as np
import pyarrow as pa

from leowarp import scalars
from leowarp.metrics.inputs.stored import tables_of
from leowarp.metrics.per_flow.measures import freezes, measure_scalars, rendered_ns
from leowarp.scalars.of_programs import MEASURES
from leowarp.trace import TABLES

MS = 10**6
S = 10**9


def scalars_of(*rows: dict, end_ns: int = 100 * S) -> dict:
    """Return the scalars of flow 3 in a run. The run's programs wrote the lines `rows`."""
    given = [{"flow": 3, "role": 0, **row} for row in rows]
    table = pa.Table.from_pylist(given, schema=TABLES["measures"].arrow({}))
    found = measure_scalars(tables_of({"measures": table}), 3, end_ns)
    assert set(found) == set(scalars.names(MEASURES))
    return {name: value for name, value in found.items() if value is not None}


def test_a_run_without_measures_has_null_scalars():
    assert set(measure_scalars(tables_of({}), 0, S).values()) == {None}
    assert scalars_of() == {}
    assert scalars_of({"kind": "mine", "start_ns": 0}) == {}


def test_transactions_count_what_was_completed_and_what_was_not():
    rows = [{"kind": "transaction", "start_ns": i * S, "first_byte_ns": i * S + 2, "end_ns": i * S + i} for i in (3, 5)]
    found = scalars_of(*rows, {"kind": "transaction", "start_ns": 9 * S})
    assert found == {
        "transactions": 2, "transactions_failed": 1, "transaction_p50_ns": 3, "transaction_p99_ns": 5,
        "transaction_max_ns": 5, "first_byte_p50_ns": 2,
    }  # fmt: skip


def test_a_page_is_as_long_as_its_line_says():
    objects = [{"kind": "object", "name": name, "number": 0, "start_ns": 5} for name in "ab"]
    found = scalars_of(*objects, {"kind": "page", "number": 0, "start_ns": 5, "first_byte_ns": 7, "end_ns": 25})
    assert found == {
        "pages": 1, "pages_failed": 0, "page_objects": 2, "page_load_p50_ns": 20, "page_load_max_ns": 20,
        "page_first_byte_p50_ns": 2,
    }  # fmt: skip


def segment(end_s: float, kbps: int, **more) -> dict:
    return {
        "kind": "segment",
        "start_ns": 0,
        "end_ns": int(end_s * S),
        "bitrate_bps": kbps * 1000,
        "media_ns": 2 * S,
    } | more


def test_a_video_has_startup_mean_bitrate_stalls_and_latency():
    rows = [{"kind": "startup", "start_ns": S, "end_ns": 3 * S}, {"kind": "stall", "start_ns": 9 * S, "end_ns": 10 * S}]
    # The lines are not in the order of the segments, but the number of switches must not depend on the order of lines.
    rows += [segment(4, 300), segment(8, 300), segment(6, 600, media_ns=4 * S, latency_ns=7 * S)]
    assert scalars_of(*rows, {"kind": "stall", "start_ns": 97 * S}) == {
        "startup_ns": 2 * S, "segments": 3, "bitrate_mean_bps": (300e3 * 4 + 600e3 * 4) / 8, "bitrate_switches": 2,
        "stalls": 2, "stalled_ns": 4 * S, "stalled_ratio": 4 / 12, "live_latency_p50_ns": 7 * S,
        "live_latency_max_ns": 7 * S,
    }  # fmt: skip


def test_a_video_that_never_stalled_says_so():
    found = scalars_of({"kind": "startup", "start_ns": 0, "end_ns": 3}, segment(4, 300))
    assert (found["stalls"], found["stalled_ns"], found["stalled_ratio"]) == (0, 0, 0.0)


def test_frames_have_delays_losses_and_freezes():
    # There are 30 frames per second. Most frames take 20 ms to arrive. Frames 40 to 49 are lost, and frame 60 arrives
    # after frame 61.
    rows = [{"kind": "frame", "number": i, "start_ns": i * 33 * MS} for i in range(100)]
    for row in rows:
        if not 40 <= row["number"] < 50:
            row["end_ns"] = row["start_ns"] + (60 if row["number"] == 60 else 20) * MS
    found = scalars_of(*rows)
    assert found == {
        "frames": 100, "frames_lost": 10, "frame_delay_p50_ns": 20 * MS, "frame_delay_p95_ns": 20 * MS,
        "frame_delay_p99_ns": 60 * MS, "freezes": 1, "frozen_ns": 11 * 33 * MS,
    }  # fmt: skip


def test_a_frame_behind_a_later_one_is_not_rendered():
    table = pa.Table.from_pylist(
        [{"flow": 0, "role": 0, "kind": "frame", "number": n, "start_ns": 0, "end_ns": t} for n, t in
         ((0, 10), (2, 20), (1, 25), (3, 30), (4, None))],
        schema=TABLES["measures"].arrow({}),
    )  # fmt: skip
    assert rendered_ns(tables_of({"measures": table}).measures).tolist() == [10, 20, 30]


def test_a_freeze_is_three_times_the_mean_and_150_ms_above_it():
    def after(steady_ms: int, last_ms: float) -> list[int]:
        return freezes(
            (np.concatenate((np.arange(40) * steady_ms, [39 * steady_ms + last_ms])) * MS).astype("int64")
        ).tolist()

    # The compared interval x is one of the last 30 intervals, so their mean includes it: x exceeds (29 * 33 + x) / 30 +
    # 150 from 188.17 ms on.
    assert after(33, 188) == []
    assert after(33, 189) == [189 * MS]
    # If frames are 100 ms apart, an interval of more than three times the mean interval is a freeze. An interval x
    # exceeds 3 * (29 * 100 + x) / 30 from 322.2 ms on.
    assert after(100, 322) == []
    assert after(100, 323) == [323 * MS]
    assert freezes(np.array([0, 1, 2, 3, 1000]) * MS).tolist() == [], "of four intervals nothing is told"
    assert freezes(np.array([0, 1, 2, 3, 4, 1000]) * MS).tolist() == [996 * MS]
    assert len(freezes(np.zeros(0))) == 0
