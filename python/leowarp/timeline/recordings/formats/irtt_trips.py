# SPDX-License-Identifier: Apache-2.0
"""One round trip of irtt's JSON, and checks of all round trips against irtt's own statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings.formats.documents import IRTT_HINT as _HINT
from leowarp.timeline.recordings.formats.documents import part_of

_SLACK_NS = 1_000
_SET_NS = 10_000_000
"""The wall clock counts as set if its difference from the monotonic clock changes by more than this value between two
probes."""


class Trip:
    """One round trip, with the values that `read_irtt` needs.

    clock: The clock of the sending times: wall, monotonic or number. The clock `number` means that the recording has no
        time stamps. A sending time is the sequence number, multiplied by irtt's interval.
    """

    def __init__(self, where: str, trip: Any, clock: str, interval_ns: int) -> None:
        self.where, self._trip, self.clock = where, trip, clock
        lost = self._value("lost")
        # irtt writes "false", "true", "true_up" or "true_down", although its documentation has the values true and
        # false.
        self.lost = str(lost).lower() if isinstance(lost, bool) else str(lost)
        if self.lost not in ("false", "true", "true_up", "true_down"):
            raise ScenarioError(f"{where}: lost = {lost!r} is none of false, true, true_up, true_down", _HINT)
        if self.lost != "false" and part_of(trip, "delay", "rtt") is not None:
            raise ScenarioError(f"{where}: lost = {lost!r}, and delay.rtt is there", _HINT)
        if clock == "number":
            self.sent_ns = self._integer("seqno", least=0) * interval_ns
        else:
            self.sent_ns = self._integer("timestamps", "client", "send", clock, least=0)
        self.late = part_of(trip, "timestamps", "server", "late") is True or part_of(trip, "late") is True

    @property
    def contradicts(self) -> bool:
        """Whether the round trip contradicts the client's own time stamps. Such a round trip is longer than the time
        stamps allow. Or it is shorter, and the difference exceeds the server's processing time."""
        stamps = [self._stamp("client", name, "monotonic") for name in ("send", "receive")]
        if self.lost != "false" or stamps[0] is None or stamps[1] is None:
            return False
        took_ns = stamps[1] - stamps[0]
        rtt_ns = self.delay_ns("rtt")
        server_ns = 0
        for clock in ("monotonic", "wall"):
            receive, send = (self._stamp("server", name, clock) for name in ("receive", "send"))
            if receive is not None and send is not None:
                server_ns = max(send - receive, 0)
                break
        return not took_ns - server_ns - _SLACK_NS <= rtt_ns <= took_ns + _SLACK_NS

    def delay_ns(self, name: str) -> float:
        """Return a delay in ns. The result is nan if the round trip was lost. A one-way delay is also nan if the server
        sent no time stamps."""
        if self.lost != "false" or (name != "rtt" and part_of(self._trip, "delay", name) is None):
            return float("nan")
        # A one-way delay may be negative, because the two clocks may disagree.
        return float(self._integer("delay", name))

    def _stamp(self, who: str, when: str, clock: str) -> int | None:
        value = part_of(self._trip, "timestamps", who, when, clock)
        return value if type(value) is int and value > 0 else None

    def _integer(self, *keys: str, least: int | None = None) -> int:
        value = self._value(*keys)
        if type(value) is not int or abs(value) >= 2**62:
            raise ScenarioError(f"{self.where}: {'.'.join(keys)} = {value!r:.40} is not a whole number of ns", _HINT)
        if least is not None and value < least:
            raise ScenarioError(f"{self.where}: {'.'.join(keys)} = {value} is below {least}", _HINT)
        return value

    def _value(self, *keys: str) -> Any:
        value = part_of(self._trip, *keys)
        if value is None:
            raise ScenarioError(f"{self.where}: {'.'.join(keys)} is missing", _HINT)
        return value


def stats_notes(document: dict[str, Any], trips: list[Trip]) -> list[str]:
    """Compare irtt's own counts with the round trips that were read, and return the differences as notes."""
    answered = sum(trip.lost == "false" for trip in trips)
    notes = []
    for name, count in (("packets_sent", len(trips)), ("packets_received", answered)):
        said = part_of(document, "stats", name)
        # `packets_received` includes duplicate replies, and replies that came too late to be listed as round trips.
        copies = part_of(document, "stats", "duplicates")
        more = copies if name == "packets_received" and isinstance(copies, int) else 0
        if type(said) is int and said not in (count, count + more):
            notes.append(f"irtt's {name} is {said}, and {count} can be read: some are missing, or left out")
    numbers = [value for trip in document["round_trips"] if isinstance(value := part_of(trip, "seqno"), int)]
    missing = max(numbers) - min(numbers) + 1 - len(set(numbers)) if numbers else 0
    if missing:
        notes.append(f"{missing} numbers (seqno) of round trips are missing: nothing is known of these")
    return notes


def clock_of(document: dict[str, Any]) -> tuple[str, int, list[str]]:
    """Return the clock for all sending times, irtt's interval in ns, and remarks for the user. The clock is wall,
    monotonic or number. With a clock, the interval is 0.

    The clock is the one that more round trips have. If the wall clock was set during the measurement, or did not
    advance, it is the monotonic clock.
    """
    both: list[tuple[int, int]] = []
    have = {"wall": 0, "monotonic": 0}
    for trip in document["round_trips"]:
        values = [part_of(trip, "timestamps", "client", "send", name) for name in have]
        for name, value in zip(have, values, strict=True):
            have[name] += value is not None
        whole = [value for value in values if type(value) is int]
        if len(whole) == 2 and max(map(abs, whole)) < 2**62:
            both.append((whole[0], whole[1]))
    if not any(have.values()):
        interval_ns = part_of(document, "config", "params", "interval")
        known = type(interval_ns) is int and 0 < interval_ns < 2**40
        return ("number", interval_ns, []) if known else ("wall", 0, [])
    # If wall-clock stamps are missing, the monotonic clock gives the sending times, but no date.
    if have["monotonic"] > have["wall"]:
        return "monotonic", 0, []
    if have["monotonic"] == have["wall"] == len(both) > 1:
        apart_ns = np.diff([wall - steady for wall, steady in sorted(both, key=lambda pair: pair[1])])
        # NTP changes a clock's speed by at most 0.5 ms per second, so a larger change at once means that the clock was
        # set.
        if (np.abs(apart_ns) > _SET_NS).sum() and (np.abs(apart_ns) > _SET_NS).sum() * 4 < len(both):
            by_s = float(apart_ns[np.abs(apart_ns).argmax()]) / 1e9
            return "monotonic", 0, [f"the client's wall clock was set by {by_s:g} s: times are of its monotonic clock"]
        if len({wall for wall, _ in both}) == 1:
            return "monotonic", 0, ["the client's wall clock stood still: times are of its monotonic clock"]
    return "wall", 0, []


def format_notes(document: dict[str, Any], trips: list[Trip]) -> list[str]:
    """Return a remark for each sign that the file is not in irtt's json_format 1."""
    notes = []
    version = part_of(document, "version", "json_format")
    if version is not None and version != 1:
        notes.append(f"irtt's json_format is {version!r:.40}, and 1 alone is known: look whether the delays are in ns")
    contradict = sum(trip.contradicts for trip in trips)
    if contradict:
        notes.append(
            f"delay.rtt of {contradict} of {len(trips)} round trips is not what their time stamps say: it is "
            "read as it stands"
        )
    return notes


def clocks_note(send_ns: list[float], receive_ns: list[float]) -> list[str]:
    """Return a sentence if the clocks of client and server differ by more than a round trip."""
    send, receive = np.array(send_ns), np.array(receive_ns)
    known = ~np.isnan(send) & ~np.isnan(receive)
    if not known.any():
        return []
    # If the server's clock is ahead, the uplink delay appears longer by the difference, and the downlink delay shorter.
    offset_ns = float(np.median((send - receive)[known]) / 2)
    if abs(offset_ns) <= float(np.median((send + receive)[known])):
        return []
    size_s = abs(offset_ns) / 1e9
    apart = f"{size_s / 3600:.0f} h" if size_s >= 7200 else f"{size_s:g} s"
    return [f"one-way delays are differences of two clocks, which are {apart} apart: only their changes mean something"]
