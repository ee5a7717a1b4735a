# SPDX-License-Identifier: Apache-2.0
"""The measurement that a scenario's ``[measured]`` names, from all of its files."""

from __future__ import annotations

import datetime
from dataclasses import replace

import numpy as np

from leowarp.base.errors import ScenarioError
from leowarp.scenario.schema import Measured
from leowarp.timeline.recordings.formats.files import read, read_capacity
from leowarp.timeline.recordings.formats.mahimahi import OPPORTUNITY_BYTES
from leowarp.timeline.recordings.measurement import PING_BYTES, Capacity, Measurement
from leowarp.timeline.recordings.repetition import repeated_capacity
from leowarp.timeline.recordings.window import MARGIN_NS, Stretch


def measurement_of(keys: Measured, until_ns: int | None = None, begin_ns: int | None = None) -> Measurement:
    """Return the measurement that the scenario keys name, with its delays and capacities.

    until_ns: The end of the run on the measurement's clock. If the capacity is repeated, it is repeated until this
        time.
    begin_ns: The start of the run on the measurement's clock. If a large table is not repeated, only its rows around
        the run are read (`window`).
    Raises ScenarioError, with file and line, if a file cannot be read, or if the files contradict each other.
    """
    stretch = None
    if begin_ns is not None and until_ns is not None and not keys.repeat:
        stretch = Stretch(begin_ns, until_ns, MARGIN_NS + (keys.resample_ns or 0))
    measured = read(keys.file.path, keys.format, keys.interval_ns, stretch=stretch)
    if keys.file_up is not None:
        measured = _with_way_up(measured, keys, stretch)
    if keys.rtt == "one-way" and measured.round_trip is not None and measured.down is None:
        raise ScenarioError(
            f'{measured.source}: rtt = "one-way", and it holds no one-way delays',
            'write rtt = "halves", or measure with irtt and a server that stamps its clock',
        )
    # If the file has wall-clock times, the key `clock` is rejected: it could only contradict the recorder's own clock.
    if keys.clock is not None:
        if measured.wall_ns is not None:
            raise ScenarioError(
                f"measured.clock is given, and {measured.source} says what the wall clock showed", "take clock out"
            )
        measured = replace(measured, wall_ns=wall_ns_of(keys.clock))
    # The list has the downlink first and the uplink second, as the loop below expects.
    capacities = [measured.capacity_down, measured.capacity_up]
    if keys.repeat and until_ns is not None:
        capacities = [None if one is None else repeated_capacity(one, until_ns) for one in capacities]
    down, up = _files_of_capacity(keys, measured.wall_ns, until_ns)
    for place, (name, capacity, rate_bps) in enumerate((("", down, keys.rate_bps), ("_up", up, keys.rate_up_bps))):
        if capacity is not None and capacities[place] is not None:
            raise ScenarioError(
                f"{keys.file.path}: it has rate{name}_mbps, and measured.capacity{name} says the same of another file",
                "take one of them out",
            )
        capacities[place] = capacity or capacities[place]
        if rate_bps is None:
            continue
        if capacities[place] is not None:
            where = keys.file.path if capacity is None or keys.capacity is None else keys.capacity.path
            raise ScenarioError(
                f"measured.rate{name} has no effect: {where} says what this way could carry", f"take rate{name} out"
            )
        capacities[place] = constant(rate_bps)
    return measured.with_capacity(*capacities)


def probe_bytes_of(measured: Measurement, keys: Measured) -> int:
    """Return the IP length of the probes if the delays include the probes' transmission time. Otherwise, return 0."""
    if keys.probe_size_bytes is not None:
        return keys.probe_size_bytes
    if measured.probe_bytes is not None:
        return measured.probe_bytes
    # If the delays are from probes and neither the file nor the key gives their length, ping's default length is the
    # most likely one.
    return PING_BYTES if measured.probes else 0


def _with_way_up(measured: Measurement, keys: Measured, stretch: Stretch | None) -> Measurement:
    # The times of `file_up` are on the clock of the downlink's file.
    assert keys.file_up is not None
    if measured.down is None or measured.up is not None:
        what = "round trips" if measured.round_trip is not None else "both ways"
        raise ScenarioError(
            f"measured.file_up has no effect: {measured.source} holds {what}",
            "take file_up out, or give files of one way",
        )
    other = read(
        keys.file_up.path,
        measured.format if keys.format == "auto" else keys.format,
        keys.interval_ns,
        stretch=stretch,
    )
    if other.down is None or other.up is not None:
        raise ScenarioError(f"{other.source}: measured.file_up is of the way up, and this holds more than one way",
                            "give a file of one-way delays")  # fmt: skip
    if measured.end_ns is not None and other.end_ns != measured.end_ns and keys.repeat:
        raise ScenarioError(
            f"{other.source} lasts {(other.end_ns or 0) / 1e9:g} s, and {measured.source} {measured.end_ns / 1e9:g} s: "
            "repeated, the two ways would come apart",
            "make both files equally long, or write repeat = false",
        )
    return replace(measured, up=other.down, capacity_up=measured.capacity_up or other.capacity_down)


def _files_of_capacity(
    keys: Measured, wall_ns: int | None, until_ns: int | None
) -> tuple[Capacity | None, Capacity | None]:
    """Return the capacities. If both files have wall-clock times, the capacities are on the clock of the delays. If one
    of the files lacks these times, capacities and delays start at the same instant."""
    # One full packet, with its overhead, uses exactly one opportunity.
    packet_bytes = OPPORTUNITY_BYTES + keys.overhead_bytes
    both_ways: list[Capacity | None] = [None, None]
    for place, file in enumerate((keys.capacity, keys.capacity_up)):
        if file is None:
            continue
        round_ns = until_ns if keys.repeat else None
        one, other, its_wall_ns = read_capacity(
            file.path, keys.capacity_format, packet_bytes=packet_bytes, until_ns=round_ns
        )
        # If files are repeated, their wall-clock times disagree after the first round, so all files start at the
        # beginning of the run.
        if wall_ns is not None and its_wall_ns is not None and not keys.repeat:
            one = _later(one, its_wall_ns - wall_ns)
            other = None if other is None else _later(other, its_wall_ns - wall_ns)
        if place == 1 or keys.capacity_up is not None:
            if other is not None:
                raise ScenarioError(f"{file.path}: it has rate_up_mbps, and measured.capacity_up names a file too",
                                    "take one of them out")  # fmt: skip
        elif other is not None:
            both_ways[1] = other
        both_ways[place] = one
    return both_ways[0], both_ways[1]


def _later(capacity: Capacity, by_ns: int) -> Capacity:
    return replace(capacity, t_ns=capacity.t_ns + by_ns, end_ns=capacity.end_ns + by_ns)


def constant(rate_bps: int) -> Capacity:
    """Return a capacity with the same rate at all times."""
    return Capacity(t_ns=np.zeros(1, dtype=np.int64), rate_bps=np.array([rate_bps], dtype=np.int64), end_ns=0)


def wall_ns_of(instant: str) -> int:
    """Return a UTC instant, as a scenario writes it, in ns since 1970."""
    since = datetime.datetime.fromisoformat(instant) - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1_000
