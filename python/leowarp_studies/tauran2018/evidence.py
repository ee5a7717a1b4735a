# SPDX-License-Identifier: Apache-2.0
"""Effects of delayed ACKs, and the reasons for these effects, as numbers. The tests, explanations, figures and tables
of several claims use these numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from leowarp.metrics.inputs.tables import floats
from leowarp.study.statistics import Middle, middle
from leowarp_studies.tauran2018.runs import LABELS, OFF, ON
from leowarp_studies.tauran2018.traces import Trace

Frames = Mapping[str, Any]
"""The data sets of the study by name. A data set is missing if its runs failed or were not made."""

KEY = ["snr_db", "seed"]
"""Runs with equal values in these columns have the same fading, and form a pair."""

TIMER_MS = 35.0
"""If an ACK for one segment waited at least this long, in ms, it counts as sent by the 40 ms timer."""

EFFECT_TEXT = (
    "Change by delayed ACKs: at each SNR and seed, the difference between on and off over the mean without them at "
    "that "
    "SNR; median over all such pairs, with an interval of 95 % confidence"
)


def sessions(
    frames: Frames,
    congestion_control: str,
    *,
    resequencing: bool,
    delayed_ack: str | None = None,
    snr_db: float | None = None,
) -> pd.DataFrame:
    """Return the rows of the study's own sessions, with one row for each SNR and seed.

    delayed_ack, snr_db: The filters. If a filter is None, it removes no rows.
    """
    rows: pd.DataFrame = frames["sessions"]
    mine = (rows["congestion_control"] == congestion_control) & (rows["resequencing"] == resequencing)
    if delayed_ack is not None:
        mine &= rows["delayed_ack"] == delayed_ack
    if snr_db is not None:
        mine &= rows["snr_db"] == snr_db
    return rows[mine]


def snrs_db(frames: Frames) -> list[float]:
    """Return the SNRs of the sessions, in dB, ascending."""
    return sorted(frames["sessions"]["snr_db"].unique().tolist())


def median(
    frames: Frames, column: str, congestion_control: str, *, resequencing: bool, delayed_ack: str, snr_db: float
) -> Middle:
    """Return the median of a column and its interval. The median is taken over the seeds of one point of a curve."""
    return middle(
        sessions(frames, congestion_control, resequencing=resequencing, delayed_ack=delayed_ack, snr_db=snr_db)[column]
    )


def curve(
    frames: Frames, column: str, congestion_control: str, *, resequencing: bool, delayed_ack: str
) -> list[Middle]:
    """Return the median of a column for each SNR, over the seeds. The lowest SNR comes first.

    Returns: One median per entry of `snrs_db`.
    """
    return [
        median(frames, column, congestion_control, resequencing=resequencing, delayed_ack=delayed_ack, snr_db=snr_db)
        for snr_db in snrs_db(frames)
    ]


def effect(
    frames: Frames, column: str, congestion_control: str, *, resequencing: bool, from_db: float = -math.inf
) -> Middle:
    """Return the median relative change that delayed ACKs cause in a column (see `EFFECT_TEXT`). Only SNRs from
    `from_db` on are used."""
    return middle(effects(frames, column, congestion_control, resequencing=resequencing, from_db=from_db)["change"])


def effects(
    frames: Frames, column: str, congestion_control: str, *, resequencing: bool, from_db: float = -math.inf
) -> pd.DataFrame:
    """Return the change that delayed ACKs cause in each pair of sessions, as columns `snr_db, seed, change`.

    A session of 600 s may have no timeout at all, so the change is not a ratio of two sessions. It is their difference,
    divided by the mean without delayed ACKs at this SNR. If both sessions of a pair have no timeout, the change is 0.
    If timeouts occur only with delayed ACKs at this SNR, the change is infinite.
    """
    rows = sessions(frames, congestion_control, resequencing=resequencing)
    rows = rows[rows["snr_db"] >= from_db]
    with_them, without = (rows[rows["delayed_ack"] == each].set_index(KEY)[column] for each in (ON, OFF))
    # Sessions are paired by SNR and seed. If one session failed, only its pair is missing.
    both = pd.DataFrame({"on": with_them, "off": without}).dropna()
    mean = both["off"].groupby(level="snr_db").transform("mean")
    difference = (both["on"] - both["off"]).to_numpy(dtype="float64")
    # If timeouts occur only with delayed ACKs, the relative change of their number is infinite. The median can be
    # computed although some values are infinite.
    with np.errstate(divide="ignore", invalid="ignore"):
        # The divisor of the relative change is the mean at this SNR, not the count of one session. With few timeouts,
        # the ratio of two small counts would vary widely.
        change = np.where(difference == 0, 0.0, difference / mean.to_numpy(dtype="float64"))
    both["change"] = change
    return both.reset_index()[[*KEY, "change"]]


def by_acks(frames: Frames) -> dict[str, Any]:
    """Return data sets with sessions of Reno and CUBIC whose windows grow per ACK (`BY_ACKS`). The functions above this
    one accept the result as `frames`."""
    return {"sessions": frames["by_acks"]}


def like_by_acks(frames: Frames) -> dict[str, Any]:
    """Return the study's own sessions for which a counterpart with the same SNR and seed exists. In the counterpart,
    the window grows per ACK."""
    pairs = frames["by_acks"][KEY].drop_duplicates()
    return {"sessions": frames["sessions"].merge(pairs, on=KEY)}


def percent(value: Middle) -> str:
    """Return a text such as `-12 % (-20 to -5)`.

    >>> percent(Middle(-0.12, -0.2, -0.05, 5, 0.9375))
    '-12.0 % (-20.0 to -5.0)'
    """
    if not value.known:
        return "unknown"

    def percent(part: float) -> str:
        return f"{100 * part:+.1f}" if math.isfinite(part) else "from none to some"

    return f"{percent(value.median)} % ({percent(value.low)} to {percent(value.high)})"


def kbps(value: Middle) -> str:
    """Return a rate as text in kbit/s, `median (low to high)`."""
    return value.text(1e-3, 0)


def over_snr(values: list[Middle], scale: float = 1.0, digits: int = 0) -> str:
    """Return a text with the medians of a curve, in ascending order of SNR."""
    return ", ".join(f"{value.median * scale:.{digits}f}" if value.known else "unknown" for value in values)


def label(congestion_control: str) -> str:
    """Return the name of a congestion control in figures and tables."""
    return LABELS[congestion_control]


def what_it_did(frames: Frames, congestion_control: str, *, resequencing: bool) -> str:
    """Return a text with mean counts per session, once with delayed ACKs and once without. The means are over all SNRs
    and seeds."""
    parts = []
    for delayed_ack in (ON, OFF):
        rows = sessions(frames, congestion_control, resequencing=resequencing, delayed_ack=delayed_ack)
        parts.append(f"{delayed_ack}: {_counts(rows)}")
    where = "with" if resequencing else "without"
    return f"{label(congestion_control)} {where} resequencing, delayed ACKs {'; '.join(parts)}"


def _counts(rows: pd.DataFrame) -> str:
    """Return a text with means over the sessions."""

    def mean(column: str) -> float:
        return float(rows[column].mean()) if len(rows) else math.nan

    # The ratio of spurious retransmissions is converted into a count, because the sentence below also gives counts.
    spurious = float((rows["spurious_ratio"] * rows["sent_pkts"]).mean()) if len(rows) else math.nan
    return (
        f"{mean('sent_pkts'):,.0f} packets sent, {100 * mean('late_ratio'):.1f} % of them overtaken, "
        f"{mean('lost_pkts'):,.0f} lost by the link, {mean('dropped_pkts'):,.0f} by the queue; "
        f"{mean('recoveries'):,.0f} recoveries ({mean('undos'):,.0f} taken back), {mean('timeouts'):,.0f} timeouts, "
        f"{mean('retransmissions_pkts'):,.0f} retransmissions ({spurious:,.0f} spurious); median window "
        f"{mean('cwnd_pkts'):.1f} packets, SRTT {mean('srtt_us') / 1e3:.0f} ms"
    )


def traces(frames: Frames, congestion_control: str, *, resequencing: bool, delayed_ack: str) -> list[Trace]:
    """Return the traces of an algorithm at all SNRs, in ascending order."""
    kept: Mapping[tuple[str, str, bool, float], Trace] = frames["traces"]
    return [
        trace
        for (control, delayed, ordered, _), trace in sorted(kept.items())
        if (control, delayed, ordered) == (congestion_control, delayed_ack, resequencing)
    ]


def floor_text(frames: Frames, congestion_control: str) -> str:
    """Return a text that says how much of the time the RTO was at Linux's minimum, in sessions with resequencing."""
    shares = [
        f"{delayed} {np.mean([trace.floor_ratio for trace in own]):.0%}"
        for delayed in (ON, OFF)
        if (own := traces(frames, congestion_control, resequencing=True, delayed_ack=delayed))
    ]
    return f"{label(congestion_control)}: RTO = SRTT + 200 ms in {', '.join(shares)} of the samples"


def held_back_text(frames: Frames, congestion_control: str) -> str:
    """Return a text about how long ACKs waited in the sessions with delayed ACKs and resequencing, at all SNRs."""
    own = traces(frames, congestion_control, resequencing=True, delayed_ack=ON)
    waits = pd.concat([trace.waits for trace in own], ignore_index=True)
    count, wait_ms = floats(waits["acks_pkts"]), floats(waits["wait_ns"]) / 1e6
    single = floats(waits["segments_pkts"]) == 1
    # The limit is 5 ms below the timer's 40 ms, because the timer runs in ticks of the kernel's clock, and starts only
    # after the segment has been processed.
    timer = single & (wait_ms >= TIMER_MS)
    return (
        f"{label(congestion_control)}: {count[timer].sum() / count.sum():.0%} of the ACKs wait for the timer, "
        f"{count[~single & (wait_ms >= 1)].sum() / count.sum():.0%} 1 ms or more for a second segment"
    )
