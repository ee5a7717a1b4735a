# SPDX-License-Identifier: Apache-2.0
"""The event table of a timeline. Events are added in any order, and returned sorted."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from leowarp.base.tables.metadata import table_schema
from leowarp.routes import Routes
from leowarp.scenario.schema import Access, Chain, Ground, Isl, Measured, Mobile, Plan
from leowarp.timeline.metadata import TimelineMetadata
from leowarp.timeline.schema import TIMELINE, TIMELINE_DOC

# Within an instant, links come up before all other events, and paths change after the routes. Links go down last.
# Packets that would use these links then already have a different path (design/interfaces.md, section 3).
_ORDER = ("node", "link", "queue", "rate", "delay", "jitter", "loss", "capacity", "channel", "route", "path")
_RANKS = {event: rank for rank, event in enumerate(_ORDER)}
_LINK_DOWN_RANK = len(_ORDER)


@dataclass(frozen=True, kw_only=True)
class LinkKind:
    """The properties that links of one kind have in common.

    kind: isl, gsl or wire.
    on_down: drain or drop. With drain, packets in the queue and in flight still arrive after the link goes down.
    rate_bps: The rate in both directions. None means no rate limit.
    limit_pkts, limit_bytes: The maximum number of waiting packets or bytes per direction.
    has_own_rate: False if other events set the rate, or if no event sets it. For example, the rate of a measured link
        is in a table, and a wire has no rate.
    limit_counts_flying: True if the link's limit includes packets in the delay line, as netem's limit does. The plan's
        limit counts only waiting packets.
    full_packet_bytes: The IP length of a full packet. It is used to express the delay line as a number of packets.
    in_order: False if a packet may overtake others when the delay falls.
    probe_bytes: The size of the packets with which a channel's delay was measured. This delay includes the packets'
        transmission time.
    queue: The queueing discipline of each direction. Packets wait in this queue for the serialiser. A fifo needs no
        `queue` event, because it uses the limits of the link.
    ecn, queue_parameters: The parameters of this discipline, see `Events.queue`.
    """

    kind: str
    discipline: str
    on_down: str
    overhead_bytes: int
    rate_bps: int | None = None
    limit_pkts: int | None = None
    limit_bytes: int | None = None
    loss_ratio: float = 0.0
    has_own_rate: bool = True
    limit_counts_flying: bool = False
    full_packet_bytes: int = 1500
    in_order: bool = True
    probe_bytes: int = 0
    queue: str = "fifo"
    ecn: bool = False
    queue_parameters: Mapping[str, int] = field(default_factory=dict)

    @staticmethod
    def shaped(plan: Plan, kind: str, section: Chain | Ground | Isl, on_down: str) -> LinkKind:
        """Return a link with a queue, from a section of the plan. The link's rate and loss are the same in both
        directions."""
        link = LinkKind.queued(plan, kind, section, on_down)
        return replace(link, rate_bps=section.left_bps, loss_ratio=section.loss_ratio, has_own_rate=True)

    @staticmethod
    def queued(
        plan: Plan, kind: str, section: Access | Chain | Ground | Isl | Measured | Mobile, on_down: str
    ) -> LinkKind:
        """Return a link with a queue from a section of the plan. Its rates and losses are set separately for each
        direction."""
        discipline = plan.network.link_model
        return LinkKind(
            kind=kind,
            discipline=discipline,
            on_down=on_down,
            overhead_bytes=section.overhead_bytes,
            limit_pkts=section.queue_pkts,
            limit_bytes=section.queue_bytes,
            has_own_rate=False,
            limit_counts_flying=discipline == "netem" and plan.network.queue_counts == "waiting",
            full_packet_bytes=plan.network.mtu_bytes,
            queue=section.queue_discipline,
            ecn=section.ecn,
            queue_parameters=section.queue_parameters,
        )

    @staticmethod
    def ideal(plan: Plan, kind: str, on_down: str = "drain", overhead_bytes: int = 0) -> LinkKind:
        """Return a link without rate, delay, limit or loss.

        The link is used for wires between hosts and stations, and for other links that a medium does not model.
        """
        return LinkKind(
            kind=kind,
            discipline=plan.network.link_model,
            on_down=on_down,
            overhead_bytes=overhead_bytes,
            # A wire needs no rate event. An ideal link other than a wire needs an event that removes its rate limit.
            has_own_rate=kind != "wire",
        )

    def limit_with_flying_pkts(self, delay_ns: int, rate_bps: int | None) -> int | None:
        """Return netem's limit in packets. It is Q + ceil(D R/packet). With this limit, `limit_pkts` packets can wait
        while the delay line is full.

        On a link without a rate, no packet ever waits. The result is then None.

        >>> link = LinkKind(kind="isl", discipline="netem", on_down="drain", overhead_bytes=14, limit_pkts=500,
        ...                 limit_counts_flying=True)
        >>> link.limit_with_flying_pkts(10_000_000, 100_000_000)
        583
        """
        if not self.limit_counts_flying or self.limit_pkts is None:
            return self.limit_pkts
        # netem's limit includes the packets of the delay line (sch_netem.c, `netem_enqueue`).
        if rate_bps is None:
            return None
        # The formula for the packets in the delay line assumes full packets. For packets that are not full, the result
        # is an approximation (design/leolink.md).
        packet_bits = 8 * (self.full_packet_bytes + self.overhead_bytes)
        return self.limit_pkts + -(-delay_ns * rate_bps // (packet_bits * 1_000_000_000))


class Events:
    """Collects the events of a timeline.

    There may be millions of events of some kinds (`delays`, `capacity`, `channel`). They are stored and sorted as
    columns, because dicts would take too much memory.

    names: The names of all nodes. The methods identify a node by its index in this list.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._rows: list[tuple[int, int, dict[str, object]]] = []
        self._links: dict[tuple[int, int], list[tuple[dict[str, object], LinkKind]]] = {}
        self._bulks: list[tuple[str, dict[str, pa.Array]]] = []

    def node(self, node: int, kind: str) -> None:
        """Add a node, which exists from time 0. `kind` is satellite, ground, host or router."""
        self._add(0, "node", a=self._names[node], kind=kind)

    def link_up(self, t_ns: int, a: int, b: int, link: LinkKind) -> None:
        """Bring a link up, with its rate and loss in both directions."""
        is_first = (a, b) not in self._links
        self._link(t_ns, a, b, link, up=True)
        # Rate and loss are set again each time, because the guest creates the link anew.
        for sender, receiver in ((a, b), (b, a)):
            # Events `queue` occur only at time 0 (`timeline.schema`): a link that comes up again has the same queueing
            # discipline as at first.
            if link.queue != "fifo" and is_first:
                self.queue(
                    sender, receiver, link.queue, ecn=link.ecn, parameters=link.queue_parameters,
                    limit_pkts=link.limit_pkts, limit_bytes=link.limit_bytes,
                )  # fmt: skip
            if link.has_own_rate:
                self.rate(t_ns, sender, receiver, link.rate_bps)
            if link.loss_ratio:
                self.loss(t_ns, sender, receiver, link.loss_ratio)

    def link_down(self, t_ns: int, a: int, b: int, link: LinkKind) -> None:
        """Take a link down. If `on_down` is "drain", packets in the queue and in flight still arrive. If `on_down` is
        "drop", these packets are lost."""
        self._link(t_ns, a, b, link, up=False)

    def make_room_for_flying(self, longest_ns: Mapping[tuple[int, int], int], rate_bps: int | None = None) -> None:
        """Increase netem's limits by the number of packets in the delay line. `longest_ns` is a dict from each link to
        the link's longest delay in the run.

        If the rate of the links in `longest_ns` changes, `rate_bps` is their highest rate. None means that each link's
        own rate is used.
        """
        for ends, longest in longest_ns.items():
            for row, link in self._links.get(ends, ()):
                row["limit_pkts"] = link.limit_with_flying_pkts(
                    longest, link.rate_bps if rate_bps is None else rate_bps
                )

    def rate(self, t_ns: int, a: int, b: int, rate_bps: int | None) -> None:
        """Set the rate of direction a>b in bit/s, from `t_ns` on. None means no rate limit."""
        self._add(t_ns, "rate", a=self._names[a], b=self._names[b], rate_bps=rate_bps)

    def loss(self, t_ns: int, a: int, b: int, loss_ratio: float) -> None:
        """Set the share of packets that direction a>b loses, from `t_ns` on. Each packet is lost independently."""
        self._add(t_ns, "loss", a=self._names[a], b=self._names[b], loss_ratio=loss_ratio)

    def jitter(self, t_ns: int, a: int, b: int, sigma_ns: int, distribution: str) -> None:
        """From `t_ns` on, set the random delay of direction a>b. Its mean is 0, and its standard deviation is
        `sigma_ns` (`jitter_tables`)."""
        self._add(t_ns, "jitter", a=self._names[a], b=self._names[b], sigma_ns=sigma_ns, distribution=distribution)

    def delays(
        self,
        t_ns: int,
        a: NDArray[np.intp],
        b: NDArray[np.intp],
        delay_ns: NDArray[np.int64],
        *,
        both_ways: bool = True,
    ) -> None:
        """Set the delays of many links at one instant. Both directions of a link get the same delay. If `both_ways` is
        False, only the direction from a to b of each link gets the delay.

        a, b: int arrays of shape (n,). The ends of each link.
        delay_ns: int64 array of shape (n,)
        """
        if both_ways:
            # The order of simultaneous events decides the bytes of the file. The events of a link's two directions are
            # therefore next to each other.
            a, b = np.column_stack([a, b]).ravel(), np.column_stack([b, a]).ravel()
            delay_ns = np.repeat(delay_ns, 2)
        times = pa.array(np.full(len(a), t_ns, dtype=np.int64))
        columns = {"t_ns": times, "a": self._named(a), "b": self._named(b), "delay_ns": pa.array(delay_ns)}
        self._bulks.append(("delay", columns))

    def capacity(self, a: int, b: int, t_ns: NDArray[np.int64], rate_bps: NDArray[np.int64]) -> None:
        """Set the capacity of direction a>b as a table. The rate is `rate_bps[i]` from `t_ns[i]` on.

        t_ns: (n,) array of int. The values increase, and the first is 0.
        rate_bps: (n,) array of int. 0 means that nothing is sent. Masked values of a masked array and nulls of an Arrow
            array mean no rate limit.
        """
        self._table("capacity", a, b, t_ns, rate_bps=pa.array(rate_bps, pa.int64()))

    def channel(
        self, a: int, b: int, t_ns: NDArray[np.int64], delay_ns: NDArray[np.int64], loss_ratio: NDArray[np.float64]
    ) -> None:
        """Set the delay and loss of direction a>b as a table. Row i applies to packets whose transmission begins at or
        after `t_ns[i]`.

        t_ns: (n,) array of int. The values increase, and the first is 0.
        delay_ns: (n,) array of int
        loss_ratio: (n,) array of float, 0 to 1. The value 1 loses every packet.
        """
        values = {"delay_ns": pa.array(delay_ns, pa.int64()), "loss_ratio": pa.array(loss_ratio, pa.float64())}
        self._table("channel", a, b, t_ns, **values)

    def queue(
        self,
        a: int,
        b: int,
        kind: str,
        *,
        ecn: bool = False,
        parameters: Mapping[str, int] | None = None,
        limit_pkts: int | None = None,
        limit_bytes: int | None = None,
    ) -> None:
        """Set the queueing discipline of direction a>b. It holds the packets that wait to be serialised. Without this
        event, the discipline is a fifo with the link's limits.

        kind: fifo, codel, fq_codel, pie, fq_pie, cake or red.
        ecn: Whether the discipline marks ECN-capable packets instead of dropping them.
        parameters: The values by name (design/interfaces.md, section 13), times in ns and sizes in bytes. The guest
            derives missing values from the queue's limit.
        """
        self._add(
            0,
            "queue",
            a=self._names[a],
            b=self._names[b],
            queue=kind,
            ecn=ecn,
            parameters=json.dumps(dict(parameters or {}), sort_keys=True),
            limit_pkts=limit_pkts,
            limit_bytes=limit_bytes,
        )

    def route(self, t_ns: int, node: int, destination: int, next_hop: int | None, path_id: int | None) -> None:
        """Set the neighbour to which a node sends packets for a host, from `t_ns` on.

        next_hop: The neighbour. None means that the node no longer has a route to the host.
        path_id: The path of the route if packets keep their initial path, otherwise None.
        """
        self._add(
            t_ns,
            "route",
            node=self._names[node],
            destination=self._names[destination],
            next_hop=None if next_hop is None else self._names[next_hop],
            path_id=path_id,
        )

    def path(self, t_ns: int, source: int, destination: int, path_id: int | None, change_id: int | None = None) -> None:
        """Set the path of packets from `source` to `destination`, from `t_ns` on. `change_id` is the number of the
        route change. None means that this path is not the result of a change."""
        a, b = self._names[source], self._names[destination]
        self._add(t_ns, "path", a=a, b=b, path_id=path_id, change_id=change_id)

    def paths(self, routes: Routes, pair: int, source: int, destination: int) -> None:
        """Add the first path between a pair of stations, and all later changes of this path. The events are between the
        hosts `source` and `destination`."""
        numbers = routes.numbers
        for k, t_ns in enumerate(routes.t_ns.tolist()):
            change_id = numbers.change_ids[k][pair]
            if k == 0 or change_id is not None:
                self.path(t_ns, source, destination, numbers.path_ids[k][pair], change_id)

    def table(self, metadata: TimelineMetadata) -> pa.Table:
        """Return all events that were added, in the order of a timeline.

        Returns: The columns of `timeline.schema`. Rows are sorted by time. Rows of the same time are sorted by rank
            (`_ORDER`), and rows of the same rank are in the order in which they were added.
        """
        schema = table_schema("timeline", TIMELINE_DOC, TIMELINE, metadata.values())
        # Events that were added as rows come before events that were added as columns. Events with equal time and rank
        # stay in the order of addition, because lexsort is stable.
        parts = [pa.Table.from_pylist([row for _, _, row in self._rows], schema=schema)]
        ranks = [np.array([rank for _, rank, _ in self._rows], dtype=np.int64)]
        for event, given in self._bulks:
            count = len(given["t_ns"])
            columns = {**given, "event": pa.array([event]).take(pa.array(np.zeros(count, dtype=np.int32)))}
            arrays = [columns.get(field.name, pa.nulls(count, field.type)) for field in schema]
            parts.append(pa.Table.from_arrays(arrays, schema=schema))
            ranks.append(np.full(count, _RANKS[event]))
        table = pa.concat_tables(parts).combine_chunks()
        # lexsort takes the primary key last.
        order = np.lexsort([np.concatenate(ranks), table["t_ns"].to_numpy()])
        return table.take(pa.array(order)).replace_schema_metadata(schema.metadata)

    def _named(self, nodes: NDArray[np.intp]) -> pa.Array:
        return pa.array(self._names).take(pa.array(nodes))

    def _table(self, event: str, a: int, b: int, t_ns: NDArray[np.int64], **values: pa.Array) -> None:
        for name, column in values.items():
            if len(column) != len(t_ns):
                raise ValueError(f"{event}: {len(column)} values of {name} at {len(t_ns)} instants")
        ends = {"a": self._named(np.full(len(t_ns), a)), "b": self._named(np.full(len(t_ns), b))}
        self._bulks.append((event, {"t_ns": pa.array(t_ns, pa.int64()), **ends, **values}))

    def _link(self, t_ns: int, a: int, b: int, link: LinkKind, *, up: bool) -> None:
        # The row can be looked up by its link, so that `make_room_for_flying` can later raise the row's queue limit.
        row = self._add(
            t_ns,
            "link",
            rank=_RANKS["link"] if up else _LINK_DOWN_RANK,
            a=self._names[a],
            b=self._names[b],
            kind=link.kind,
            up=up,
            on_down=link.on_down,
            limit_pkts=link.limit_pkts,
            limit_bytes=link.limit_bytes,
            discipline=link.discipline,
            overhead_bytes=link.overhead_bytes,
            in_order=None if link.in_order else False,
            probe_bytes=link.probe_bytes or None,
        )
        self._links.setdefault((a, b), []).append((row, link))

    def _add(self, t_ns: int, event: str, *, rank: int | None = None, **values: object) -> dict[str, object]:
        row: dict[str, object] = {"t_ns": int(t_ns), "event": event, **values}
        self._rows.append((int(t_ns), _RANKS[event] if rank is None else rank, row))
        return row
