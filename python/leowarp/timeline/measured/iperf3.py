# SPDX-License-Identifier: Apache-2.0
"""iperf3's JSON (``iperf3 -J -i 0.1 -c SERVER``): what a transfer by TCP got in each interval.

iperf_api.c of iperf 3.9 to 3.16, print_interval_results. The client is where the user is: it sends *up*, and with
``--reverse`` the server sends *down*. Retransmissions, congestion window and round trip are the sender's, so of a
reversed transfer they are not in the client's file. The throughput is what one flow made of the path, and the round
trip is TCP's smoothed one with the flow's own queue in it: neither is the capacity or the delay of an idle path.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from leowarp import plainfiles
from leowarp.errors import ScenarioError
from leowarp.timeline.measured.documents import IPERF3_HINT as _HINT
from leowarp.timeline.measured.documents import document_of
from leowarp.timeline.measured.lines import text_of
from leowarp.timeline.measured.measurement import Measurement, Series, Transfer

_MOST_S = 30 * 86_400


def looks_like_iperf3(text: str) -> bool:
    """Whether a JSON text has iperf3's intervals and not irtt's round trips."""
    return '"round_trips"' not in text and '"intervals"' in text


def read_iperf3(path: Path) -> Measurement:
    """The transfer; its smoothed round trips as a series, if the file is the sender's.

    Raises
    ------
    ScenarioError
        With the file, and the interval or the line at fault.
    """
    document = _document(path)
    start = _part(document, "start")
    test = _part(start, "test_start")
    if test.get("protocol", "TCP") != "TCP":
        raise ScenarioError(
            f"{path}: start.test_start.protocol = {test['protocol']!r:.40}: only TCP's can be read", _HINT
        )
    rows = [_row(path, number, interval) for number, interval in enumerate(document["intervals"])]
    t_ns, end_ns = (np.array([round(row[name] * 1e9) for row in rows], dtype=np.int64) for name in ("start", "end"))
    for number in np.flatnonzero(
        (end_ns <= t_ns) | (np.diff(t_ns, prepend=-1) <= 0) | (np.diff(end_ns, prepend=0) <= 0)
    )[:1]:
        raise ScenarioError(
            f"{path}: intervals[{number}].sum: from {t_ns[number] / 1e9:g} s to {end_ns[number] / 1e9:g} s, which "
            "is no interval after the one before",
            _HINT,
        )
    columns = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in _VALUES}
    transfer = Transfer(
        t_ns=t_ns, length_ns=end_ns - t_ns, way="down" if test.get("reverse") in (1, True) else "up",
        rate_bps=columns["bits_per_second"], retransmissions=columns["retransmits"],
        cwnd_bytes=columns["snd_cwnd"], rtt_ns=columns["rtt"] * 1e3,
    )  # fmt: skip
    measured = ~np.isnan(transfer.rtt_ns) & (transfer.rtt_ns > 0)
    notes = ["throughput is what the flow got, payload alone; it is not the capacity"]
    if measured.any():
        notes.append("round trips are TCP's smoothed ones, with the flow's own queue in them")
    seconds = _part(start, "timestamp").get("timesecs")
    # From 2001 on: a machine without a clock begins in 1970, and its wall clock says nothing.
    known = isinstance(seconds, int) and not isinstance(seconds, bool) and 1_000_000_000 <= seconds < 2**33
    return Measurement(
        source=str(path),
        format="iperf3",
        # At the end of the interval, when iperf3 asks the socket (iperf_api.c, iperf_stats_callback).
        round_trip=Series.of(end_ns[measured], np.round(transfer.rtt_ns[measured])) if measured.any() else None,
        transfer=transfer,
        wall_ns=int(seconds) * 1_000_000_000 if known and seconds is not None else None,
        notes=tuple(notes),
    )


_VALUES = {"bits_per_second": 1e13, "retransmits": 1e9, "snd_cwnd": 1e12, "rtt": 6e7}
"""What is read of each interval, and the most that is believed."""


def _part(of: dict[str, Any], name: str) -> dict[str, Any]:
    """An object within an object; an empty one if it is missing, since older iperf3 leave some out."""
    part = of.get(name)
    return part if isinstance(part, dict) else {}


def _document(path: Path) -> dict[str, Any]:
    text = text_of(path)
    if len(text) > plainfiles.MOST_JSON_BYTES:
        raise ScenarioError(
            f"{path}: iperf3's JSON of more than {plainfiles.MOST_JSON_BYTES >> 20} MiB",
            "measure with longer intervals (iperf3 -i 1), or for a shorter time",
        )
    return document_of(path, text, "intervals", "iperf3", _HINT)


def _row(path: Path, number: int, interval: Any) -> dict[str, float]:
    """Of one interval, over its streams: rates, retransmissions and windows add up, round trips are their mean.

    Returns
    -------
    dict of str to float
        ``start`` and ``end`` in s, and `_VALUES`; nan of what the file does not tell.
    """
    where = f"{path}: intervals[{number}]"
    if not isinstance(interval, dict) or not isinstance(interval.get("streams"), list) or not interval["streams"]:
        raise ScenarioError(f"{where}: no streams in it", _HINT)
    whole = interval.get("sum") if isinstance(interval.get("sum"), dict) else interval["streams"][0]
    found = {name: _number(f"{where}.sum", whole, name, _MOST_S) for name in ("start", "end")}
    for place, stream in enumerate(interval["streams"]):
        _number(f"{where}.streams[{place}]", stream, "bits_per_second", _VALUES["bits_per_second"])
    for name, most in _VALUES.items():
        values = [
            _number(f"{where}.streams[{place}]", stream, name, most) if name in stream else float("nan")
            for place, stream in enumerate(interval["streams"])
        ]
        # nan of a single stream makes the sum nan: a total over the others would look whole.
        total = sum(values)
        found[name] = total / len(values) if name == "rtt" else total
    return found


def _number(where: str, of: Any, name: str, most: float) -> float:
    """A number of the file as it is, in the file's unit; an error if it is none, below 0 or above `most`."""
    value = of.get(name) if isinstance(of, dict) else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ScenarioError(f"{where}.{name} = {value!r:.40} is not a number from 0 to {most:g}", _HINT)
    return float(value)
