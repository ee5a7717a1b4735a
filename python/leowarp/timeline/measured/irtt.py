# SPDX-License-Identifier: Apache-2.0
"""irtt's JSON (``irtt client -o FILE``): round trips, and one-way delays if the server stamped its clock.

irtt-client(1), section OUTPUT, json_format 1. `delay.rtt` is what the server's own processing is taken out of; `send`
is client to server, here *up*, because the client is where the user is; `receive` is *down*. One-way delays are
differences of two machines' clocks: only as good as those agree, and negative if they do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from leowarp.errors import ScenarioError
from leowarp.timeline.measured.documents import IRTT_HINT as _HINT
from leowarp.timeline.measured.documents import document_of
from leowarp.timeline.measured.lines import text_of
from leowarp.timeline.measured.measurement import Measurement, Series

_LOST = {False: "false", True: "true"}
_UDP_BYTES = {"IPv4": 28, "IPv6": 48}
"""Headers of IP and UDP before irtt's own packet, whose length `config.params.length` is."""


def looks_like_irtt(text: str) -> bool:
    """Whether a JSON text has irtt's round trips; or irtt's version, if it was cut short before them."""
    return '"round_trips"' in text or '"irtt"' in text


def read_irtt(path: Path) -> Measurement:
    """Round trips with the ways lost ones were lost, one-way delays where there are any.

    Raises
    ------
    ScenarioError
        With the file, and the round trip or the line at fault.
    """
    document = document_of(path, text_of(path), "round_trips", "irtt", _HINT)
    trips = [_Trip(path, number, trip) for number, trip in enumerate(document["round_trips"])]
    # By sending: irtt lists them by sequence number, but a clock that was set puts later ones first.
    by_time = {trip.sent_ns: trip for trip in sorted(trips, key=lambda trip: trip.sent_ns)}
    kept = list(by_time.values())
    zero_ns = kept[0].sent_ns
    t_ns = np.array([trip.sent_ns - zero_ns for trip in kept], dtype=np.int64)
    lost = [trip.lost for trip in kept]
    notes = [f"{len(trips) - len(kept)} round trips with the sending time of another"] if len(kept) < len(trips) else []
    late = sum(trip.late for trip in kept)
    notes += [f"{late} replies came after a later one's"] if late else []
    return Measurement(
        source=str(path),
        format="irtt",
        round_trip=Series.of(t_ns, [trip.delay_ns("rtt") for trip in kept]),
        down=_one_way(t_ns, [trip.delay_ns("receive") for trip in kept], lost, "true_down"),
        up=_one_way(t_ns, [trip.delay_ns("send") for trip in kept], lost, "true_up"),
        lost_down=np.array([way == "true_down" for way in lost]),
        lost_up=np.array([way == "true_up" for way in lost]),
        probe_bytes=_probe_bytes(document),
        wall_ns=zero_ns if kept[0].on_wall_clock else None,
        notes=tuple(notes),
    )


class _Trip:
    """One of the round trips, with the few things that are needed of it."""

    def __init__(self, path: Path, number: int, trip: Any) -> None:
        self._where = f"{path}: round_trips[{number}]"
        self._trip = trip
        lost = self._value(("lost",))
        # irtt writes "false", "true", "true_up" or "true_down"; its documentation shows bare true and false.
        self.lost = _LOST[lost] if isinstance(lost, bool) else str(lost)
        if self.lost not in ("false", "true", "true_up", "true_down"):
            raise ScenarioError(f"{self._where}: lost = {lost!r} is none of false, true, true_up, true_down", _HINT)
        stamps = self._value(("timestamps", "client", "send"))
        # Without a stamp of the wall clock the monotonic one orders the probes as well, but dates none.
        wall = stamps.get("wall") if isinstance(stamps, dict) else None
        self.on_wall_clock = wall is not None
        self.sent_ns = self._integer(
            ("timestamps", "client", "send", "wall" if self.on_wall_clock else "monotonic"), least=0
        )
        self.late = self._optional(("timestamps", "server", "late")) is True or self._optional(("late",)) is True

    def delay_ns(self, name: str) -> float:
        """A delay; nan of a lost round trip, and where the server did not stamp."""
        if self.lost != "false" or (name != "rtt" and self._optional(("delay", name)) is None):
            return float("nan")
        # A round trip below 0 is no measurement; a one-way delay below 0 is two clocks that disagree.
        return float(self._integer(("delay", name), least=0 if name == "rtt" else None))

    def _integer(self, keys: tuple[str, ...], least: int | None) -> int:
        value = self._value(keys)
        if isinstance(value, bool) or not isinstance(value, int) or abs(value) >= 2**62:
            raise ScenarioError(f"{self._where}: {'.'.join(keys)} = {value!r:.40} is not a whole number of ns", _HINT)
        if least is not None and value < least:
            raise ScenarioError(f"{self._where}: {'.'.join(keys)} = {value} is below {least}", _HINT)
        return value

    def _value(self, keys: tuple[str, ...]) -> Any:
        value = self._optional(keys)
        if value is None:
            raise ScenarioError(f"{self._where}: {'.'.join(keys)} is missing", _HINT)
        return value

    def _optional(self, keys: tuple[str, ...]) -> Any:
        value = self._trip
        for key in keys:
            if not isinstance(value, dict):
                return None
            value = value.get(key)
        return value


def _one_way(t_ns: Any, delay_ns: list[float], lost: list[str], way: str) -> Series | None:
    """Delays of one way; a probe that is known to be lost this way is lost, of all others without a reply nothing is
    known."""
    if np.isnan(delay_ns).all():
        return None
    known = np.array([not np.isnan(d) or w == way for d, w in zip(delay_ns, lost, strict=True)])
    return Series.of(t_ns[known], np.array(delay_ns)[known])


def _probe_bytes(document: dict[str, Any]) -> int | None:
    values = list(_found(document, ("config", "params", "length"), ("config", "ip_version")))
    if len(values) < 2 or isinstance(values[0], bool) or not isinstance(values[0], int) or not 0 < values[0] < 65536:
        return None
    headers = _UDP_BYTES.get(str(values[1]))
    return None if headers is None else values[0] + headers


def _found(document: dict[str, Any], *paths: tuple[str, ...]) -> Iterator[Any]:
    for path in paths:
        value: Any = document
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        if value is not None:
            yield value
