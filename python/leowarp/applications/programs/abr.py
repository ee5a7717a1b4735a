# SPDX-License-Identifier: Apache-2.0
"""Choose the next segment's bit rate as dash.js does. A rule uses the throughput, uses the buffer (BOLA), or switches
between throughput and buffer.

Spiteri, Urgaonkar, Sitaraman, "BOLA: Near-Optimal Bitrate Adaptation for Online Videos", INFOCOM 2016; Spiteri,
Sitaraman, Sparacio, "From Theory to Practice: Improving Bitrate Adaptation in the DASH Reference Player", MMSys 2018,
whose DYNAMIC is the default of dash.js. Some parts of dash.js are left out: placeholders of BOLA-E, abandoned
downloads, and two further rules (InsufficientBufferRule, SwitchHistoryRule).
"""

from __future__ import annotations

import math
from collections import deque
from typing import Protocol

SAFETY = 0.9
"""The share of the throughput that may be used (dash.js: `bandwidthSafetyFactor`)."""
SAMPLES = 4
"""The number of segments over which throughput is averaged (dash.js: `throughput.sampleSettings.vod`, 3 for live)."""
LEAST_BUFFER_S = 10.0
"""The maximum buffer, in seconds, at which BOLA chooses the lowest bit rate, and DYNAMIC chooses by throughput
(dash.js: MINIMUM_BUFFER_S)."""
BUFFER_PER_BITRATE_S = 2.0
"""The seconds of buffer that are added for each bit rate. If the buffer is at least 10 s plus 2 s per bit rate, BOLA
chooses the highest bit rate. If `target_s` is longer than this sum, `target_s` counts instead (dash.js:
MINIMUM_BUFFER_PER_BITRATE_LEVEL_S)."""


class Rule(Protocol):
    """A rule that chooses bit rates by their index in the ladder."""

    def choose(self, buffer_s: float, throughput_bps: float | None) -> int:
        """Return the index of the next segment's bit rate in the ladder.

        buffer_s: The media in the buffer that have not been played.
        throughput_bps: The value of `Throughput.mean_bps`. None means that no segment has arrived yet.
        """


class Throughput:
    """The mean throughput of the last `SAMPLES` segments. The time of each segment runs from the request to the last
    byte."""

    def __init__(self) -> None:
        self._last: deque[float] = deque(maxlen=SAMPLES)

    def add(self, length_bytes: int, took_ns: int) -> None:
        self._last.append(length_bytes * 8e9 / took_ns)

    def mean_bps(self) -> float | None:
        """Return the mean throughput. None means that no segment has arrived."""
        return sum(self._last) / len(self._last) if self._last else None


class ByThroughput:
    """A rule that chooses the highest bit rate below 0.9 of the throughput. The lowest bit rate is chosen if no bit
    rate is below this limit, or if the throughput is unknown."""

    def __init__(self, ladder_bps: tuple[int, ...]) -> None:
        self._ladder_bps = ladder_bps

    def choose(self, buffer_s: float, throughput_bps: float | None) -> int:
        safe_bps = SAFETY * (throughput_bps or 0)
        return max((place for place, bps in enumerate(self._ladder_bps) if bps <= safe_bps), default=0)


class Bola:
    """A rule that computes (V (u + g) - buffer) / bit rate for each bit rate, with u = 1 + ln(bit rate / lowest). It
    chooses the bit rate with the largest value.

    With the chosen V and g, the lowest bit rate is used while the buffer has up to 10 s. The highest bit rate is used
    when the buffer is long enough. It must have at least `target_s`, or 10 s plus 2 s per bit rate if this is longer
    (dash.js, BolaRule.js).
    """

    def __init__(self, ladder_bps: tuple[int, ...], target_s: float) -> None:
        self._ladder_bps = ladder_bps
        self._utilities = [1 + math.log(bps / ladder_bps[0]) for bps in ladder_bps]
        top_s = max(target_s, LEAST_BUFFER_S + BUFFER_PER_BITRATE_S * len(ladder_bps))
        # With a single bit rate, V and g have no effect and are set to 0.
        self._g = (self._utilities[-1] - 1) / (top_s / LEAST_BUFFER_S - 1)
        self._v_s = LEAST_BUFFER_S / self._g if self._g else 0.0

    def choose(self, buffer_s: float, throughput_bps: float | None) -> int:
        scores = [
            (self._v_s * (utility + self._g) - buffer_s) / bps
            for utility, bps in zip(self._utilities, self._ladder_bps, strict=True)
        ]
        # If two scores are equal, the higher bit rate is chosen.
        return max(range(len(scores)), key=lambda place: (scores[place], place))


class Dynamic:
    """A rule that begins with the choices of `ByThroughput`. It changes to BOLA when the buffer has at least 10 s,
    unless BOLA's bit rate is lower. It changes back to throughput when the buffer has less than 10 s, if BOLA's bit
    rate is the lower one."""

    def __init__(self, ladder_bps: tuple[int, ...], target_s: float) -> None:
        self._by_throughput, self._bola, self._is_bola = ByThroughput(ladder_bps), Bola(ladder_bps, target_s), False

    def choose(self, buffer_s: float, throughput_bps: float | None) -> int:
        by_throughput = self._by_throughput.choose(buffer_s, throughput_bps)
        by_buffer = self._bola.choose(buffer_s, throughput_bps)
        if self._is_bola:
            self._is_bola = buffer_s >= LEAST_BUFFER_S or by_buffer >= by_throughput
        else:
            self._is_bola = buffer_s >= LEAST_BUFFER_S and by_buffer >= by_throughput
        return by_buffer if self._is_bola else by_throughput


def rule_of(name: str, ladder_bps: tuple[int, ...], target_s: float) -> Rule:
    """Return the rule for a name: dynamic, throughput, bola, or `fixed:N`, which always chooses index N of the ladder.

    Raises ValueError if there is no rule with this name.
    """
    match name.partition(":"):
        case "dynamic", "", "":
            return Dynamic(ladder_bps, target_s)
        case "throughput", "", "":
            return ByThroughput(ladder_bps)
        case "bola", "", "":
            return Bola(ladder_bps, target_s)
        case "fixed", ":", place if place.isdigit() and int(place) < len(ladder_bps):
            return _Fixed(int(place))
    raise ValueError(f"there is no rule {name}: dynamic, throughput, bola, or fixed:0 to fixed:{len(ladder_bps) - 1}")


class _Fixed:
    def __init__(self, place: int) -> None:
        self._place = place

    def choose(self, buffer_s: float, throughput_bps: float | None) -> int:
        return self._place
