# SPDX-License-Identifier: Apache-2.0
"""LeoReplayer's delay files: one line per 10 ms, with the one-way delay in ms as an integer.

The format is from SpaceNetLab/LeoCC, leoreplayer/README.md and replayer/src/frontend/delay_queue.cc at 867e673. Line k,
counted from 0, has the delay of packets sent between 10 k ms and 10 (k + 1) ms after the file's base time. After the
last line, LeoReplayer begins again with the first line. leowarp does the same with ``repeat``. The values are halves of
round trips measured by ping.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings.formats.lines import end_notes, numbered, text_of
from leowarp.timeline.recordings.measurement import PING_BYTES, Measurement, Series

INTERVAL_NS = 10_000_000
_HINT = "each line is one delay in whole ms, for instance 12"
_LONGEST_MS = 60_000


def read_leoreplayer(path: Path, interval_ns: int | None = None) -> Measurement:
    """Return the downlink delays. The delay of a line is valid until the next line.

    Raises ScenarioError with file and line if the file is malformed.
    """
    text = text_of(path)
    lines = numbered(text)
    if not lines:
        raise ScenarioError(f"{path} is empty", _HINT)
    for line, cell in lines:
        # isascii is needed in addition to isdigit, because isdigit accepts superscripts and the digits of all scripts.
        if not (cell.isascii() and cell.isdigit()) or len(cell) > 18 or int(cell) > _LONGEST_MS:
            raise ScenarioError(
                f"{path}:{line}: {cell[:40]!r} is not a delay in ms (a whole number up to {_LONGEST_MS})", _HINT
            )
    delay_ms = np.array([int(cell) for _, cell in lines], dtype=np.int64)
    step_ns = INTERVAL_NS if interval_ns is None else interval_ns
    series = Series.of(np.arange(len(delay_ms), dtype=np.int64) * step_ns, delay_ms * 1e6)
    return Measurement(
        source=str(path),
        format="leoreplayer",
        down=series,
        # The delays are halves of ping's round trips, so they include the transmission time of a ping packet.
        probe_bytes=PING_BYTES,
        probes=False,
        end_ns=len(delay_ms) * step_ns,
        notes=end_notes(text, lines[-1][0]),
    )
