# SPDX-License-Identifier: Apache-2.0
"""Converts the settings of link directions to the guest's form. This form is `links[].directions` of `setup.json`, and
`tables.bin` (design/interfaces.md, section 13).

Tables may have millions of rows. The code processes whole columns, and never makes a Python object for a row.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from leowarp.base.errors import ScenarioError
from leowarp.guest.setup.network import Network

ROW = np.dtype([("t_ns", "<i8"), ("value", "<u8"), ("loss", "<u4"), ("zero", "<u4")])
"""A row of `tables.bin`, 24 bytes. In a capacity table, `value` is in bit/s. In a channel table, it is a delay in ns.
`loss` has a meaning only for a channel."""
UNSHAPED = np.uint64(0xFFFFFFFFFFFFFFFF)
"""The value of an unlimited capacity. A capacity of 0 means that nothing is sent."""
CERTAIN = np.uint32(0xFFFFFFFF)
"""If `loss` has this value, all packets are lost. Smaller loss values are probabilities in units of 2^-32. The guest
compares them with a random u32."""


@dataclass(frozen=True)
class Directions:
    """The tables and queueing disciplines that the timeline sets for the directions of links.

    capacity_rows, channel_rows: int64 (directions,). The number of rows of each direction's tables.
    rows: dtype `ROW`. The rows of all tables, ordered by direction. For each direction, the rows of the
        capacity table come before the rows of the channel table. Each table is sorted by time.
    queues: A dict from a direction to its queueing discipline, in the form for `setup.json`. Only directions that have
        their own discipline are included.
    """

    capacity_rows: np.ndarray
    channel_rows: np.ndarray
    rows: np.ndarray
    queues: dict[int, dict[str, Any]]

    @classmethod
    def of_timeline(cls, timeline: pa.Table, network: Network) -> Directions:
        """Return the tables and queues of all directions.

        timeline: A table sorted by time, with the columns of `timeline.schema`.
        Raises ScenarioError if a table does not begin at 0, does not increase in time, or belongs to a link of another
            discipline than leolink, or if an event sets a quantity that a table of the same direction sets.
        """
        counts, parts, places = {}, [], []
        for rank, event in enumerate(("capacity", "channel")):
            chosen = timeline.filter(pc.field("event") == event)
            direction = network.ends(chosen).astype(np.int64)
            counts[event] = np.bincount(direction, minlength=2 * len(network.link_a))
            parts.append(_capacity(chosen) if event == "capacity" else _channel(chosen))
            # The guest expects the rows of a direction consecutively, with its capacity first.
            places.append(2 * direction + rank)
        place, rows = np.concatenate(places), np.concatenate(parts)
        # The sort is stable and the timeline is sorted by time, so the rows of a table stay sorted by time.
        order = np.argsort(place, kind="stable")
        place, rows = place[order], rows[order]
        directions = cls(counts["capacity"], counts["channel"], rows, _queues(timeline, network))
        _check_times(place, rows["t_ns"], network)
        _check_disciplines(directions, network)
        _check_events(timeline, counts, network)
        return directions

    def of_link(self, link: int, in_order: bool | None, probe_bytes: int | None) -> list[dict[str, Any]] | None:
        """Return the value of `directions` for a link, or None if both directions have only defaults.

        in_order: Whether packets keep their order. None means that the timeline has no column for it, as in older runs.
        probe_bytes: The IP length of the probes that measured the delays. The measured delays include the time to
            transmit a probe.
        Returns: One dict for the direction from a to b, and one for the direction from b to a. Each has only values
            that differ from the agent's defaults.
        """
        common: dict[str, Any] = {"in_order": False} if in_order is False else {}
        if probe_bytes:
            common["probe_bytes"] = probe_bytes
        made = []
        for direction in (2 * link, 2 * link + 1):
            own = dict(common)
            if direction in self.queues:
                own["queue"] = self.queues[direction]
            for key, rows in (("capacity_rows", self.capacity_rows), ("channel_rows", self.channel_rows)):
                if rows[direction]:
                    own[key] = int(rows[direction])
            made.append(own)
        return made if any(made) else None


def _records(rows: pa.Table) -> np.ndarray:
    """Return records for `tables.bin` with the times of `rows`. All fields except the time are 0."""
    records = np.zeros(len(rows), dtype=ROW)
    records["t_ns"] = rows["t_ns"].to_numpy()
    return records


def _capacity(rows: pa.Table) -> np.ndarray:
    """Return the records of capacities in bit/s. A record is `UNSHAPED` if the timeline has null. A rate of 0 is valid:
    nothing is sent."""
    records = _records(rows)
    if len(rows):
        rate_bps = rows["rate_bps"].combine_chunks()
        known = rate_bps.fill_null(0).to_numpy()
        # The kernel reads a u64, so a negative rate would become an enormous one.
        if np.any(known < 0):
            raise ScenarioError("reading the timeline: a capacity is negative")
        records["value"] = np.where(rate_bps.is_null().to_numpy(zero_copy_only=False), UNSHAPED, known.astype("<u8"))
    return records


def _channel(rows: pa.Table) -> np.ndarray:
    """Return the records of channel tables. Delays are in ns, and losses in units of 2^-32."""
    records = _records(rows)
    if len(rows):
        delay_ns, loss_ratio = rows["delay_ns"].to_numpy(), rows["loss_ratio"].to_numpy()
        # If a column contains null, its integers become floats and the null becomes nan; a comparison with nan is
        # false.
        if not np.all(delay_ns >= 0):
            raise ScenarioError("reading the timeline: the delay of a channel is missing or negative")
        if not np.all((loss_ratio >= 0) & (loss_ratio <= 1)):
            raise ScenarioError("reading the timeline: the loss of a channel is missing or not from 0 to 1")
        records["value"] = delay_ns
        # A loss of 1 would be 2^32, which does not fit into 32 bits, so it is stored as the largest value.
        records["loss"] = np.minimum(np.rint(loss_ratio * 2.0**32), float(CERTAIN)).astype("<u4")
    return records


def _queues(timeline: pa.Table, network: Network) -> dict[int, dict[str, Any]]:
    """Return the discipline, in the agent's form, of each direction for which the timeline sets one."""
    chosen = timeline.filter(pc.field("event") == "queue")
    queues: dict[int, dict[str, Any]] = {}
    names = ["queue", "ecn", "parameters", "limit_pkts", "limit_bytes"]
    # If a timeline of an older version lacks the columns `names`, it has no event of a queue.
    rows = chosen.select(names).to_pylist() if len(chosen) else []
    for direction, row in zip(network.ends(chosen).tolist(), rows, strict=True):
        if direction in queues:
            raise ScenarioError(f"reading the timeline: {network.words(direction)} has two queues")
        queues[direction] = {
            "kind": row["queue"],
            "ecn": bool(row["ecn"]),
            "parameters": json.loads(row["parameters"] or "{}"),
            "limit_pkts": row["limit_pkts"],
            "limit_bytes": row["limit_bytes"],
        }
    return queues


def _check_times(place: np.ndarray, t_ns: np.ndarray, network: Network) -> None:
    """Check that each table begins at 0 and has one row per instant. The kernel searches a table by time and uses the
    last row at or before the searched time."""
    if not len(place):
        return
    # All tables are checked in one comparison. The rows of a table are consecutive, and `place` is constant within a
    # table. A new table therefore begins where `place` changes.
    first = np.concatenate([[True], np.diff(place) != 0])
    late = np.flatnonzero(first & (t_ns != 0))
    if len(late):
        raise ScenarioError(
            f"reading the timeline: the table of {network.words(place[late[0]] // 2)} begins at {t_ns[late[0]]} ns, "
            "not at 0"
        )
    twice = np.flatnonzero(~first & (np.diff(t_ns, prepend=-1) <= 0))
    if len(twice):
        raise ScenarioError(
            f"reading the timeline: the table of {network.words(place[twice[0]] // 2)} has two rows at "
            f"{t_ns[twice[0]]} ns"
        )


def _check_disciplines(directions: Directions, network: Network) -> None:
    """Check that only links of discipline leolink have tables and queues. netem supports no tables, and nothing can
    replace netem's queue."""
    own = np.flatnonzero(directions.capacity_rows + directions.channel_rows).tolist()
    disciplines = network.links["discipline"].to_pylist()
    for direction in {*own, *directions.queues}:
        if disciplines[direction // 2] != "leolink":
            raise ScenarioError(
                f"reading the timeline: {network.words(direction)} has a table or a queue of its own, and its "
                f"discipline is {disciplines[direction // 2]}",
                'only link_model = "leolink" has them',
            )


def _check_events(timeline: pa.Table, counts: dict[str, np.ndarray], network: Network) -> None:
    # If an event changed a value that a table sets for the whole run, the result would be undefined.
    for event, table in (("rate", "capacity"), ("delay", "channel"), ("loss", "channel")):
        if not np.any(counts[table]):
            continue
        said = network.ends(timeline.filter(pc.field("event") == event))
        both = said[counts[table][said] > 0]
        if len(both):
            raise ScenarioError(
                f"reading the timeline: {network.words(int(both[0]))} has a table ({table}) and an event {event}"
            )
