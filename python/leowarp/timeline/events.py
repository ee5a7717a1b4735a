# SPDX-License-Identifier: Apache-2.0
"""Event tables: events are added in any order and returned as one sorted table."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from leowarp.routes import Routes
from leowarp.routes.schema import table_schema
from leowarp.scenario.schema import Plan
from leowarp.timeline.metadata import TimelineMetadata
from leowarp.timeline.schema import TIMELINE, TIMELINE_DOC

# Within an instant, links come up before all other events, and paths change after routes. Links go down last, so that
# packets sent over them already have another path (design/interfaces.md, section 3).
_ORDER = ("node", "link", "queue", "rate", "delay", "jitter", "loss", "capacity", "channel", "route", "path")
_RANKS = {event: rank for rank, event in enumerate(_ORDER)}
_LINK_DOWN_RANK = len(_ORDER)


class LinkKeys(Protocol):
    """Common fields of all plan sections that describe links with a queue."""

    @property
    def overhead_bytes(self) -> int: ...
    @property
    def queue_pkts(self) -> int | None: ...
    @property
    def queue_bytes(self) -> int | None: ...
    @property
    def queue_discipline(self) -> str: ...
    @property
    def ecn(self) -> bool: ...
    @property
    def queue_parameters(self) -> Mapping[str, int]: ...


class SteadyLinkKeys(LinkKeys, Protocol):
    """Keys of links with one rate and one loss, constant and equal in both directions."""

    @property
    def left_bps(self) -> int | None: ...
    @property
    def loss_ratio(self) -> float: ...


@dataclass(frozen=True, kw_only=True)
class LinkKind:
    """The common properties of links of one kind.

    kind: isl, gsl or wire.
    rate_bps: None: unshaped.
    limit_pkts, limit_bytes: Limit of waiting packets or bytes per direction.
    has_own_rate: False: separate events set the rate (a wire has no rate, and a measured link takes its rate from a
        table).
    limit_counts_flying: True: netem's limit includes the packets in the delay line; the plan's limit does not.
    full_packet_bytes: IP length of a full packet, to convert a delay line to packets.
    in_order: False: a packet may overtake when the delay falls.
    probe_bytes: Size of the packets with which a channel's delay was measured: the delay includes their transmission
        time.
    queue: Queueing discipline before the serialiser of each direction; a fifo has the link's limits and needs no event.
    ecn, queue_parameters: Parameters of that queue, see `Events.queue`.
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
    def shaped(plan: Plan, kind: str, section: SteadyLinkKeys, on_down: str) -> LinkKind:
        """A link with a queue, one rate and one loss for both directions, from a section of the plan.

        `kind` is isl or gsl; `on_down` is drain (held packets still arrive) or drop.
        """
        link = LinkKind.queued(plan, kind, section, on_down)
        return replace(link, rate_bps=section.left_bps, loss_ratio=section.loss_ratio, has_own_rate=True)

    @staticmethod
    def queued(plan: Plan, kind: str, section: LinkKeys, on_down: str) -> LinkKind:
        """A link with a queue from a section of the plan, with rates and losses set per direction."""
        discipline, counts = plan.network.link_model, plan.network.queue_counts
        if discipline == "netem" and section.queue_bytes is not None:
            raise ValueError("netem limits packets, not bytes: not a resolved plan")
        return LinkKind(
            kind=kind,
            discipline=discipline,
            on_down=on_down,
            overhead_bytes=section.overhead_bytes,
            limit_pkts=section.queue_pkts,
            limit_bytes=section.queue_bytes,
            has_own_rate=False,
            limit_counts_flying=discipline == "netem" and counts == "waiting",
            full_packet_bytes=plan.network.mtu_bytes,
            queue=section.queue_discipline,
            ecn=section.ecn,
            queue_parameters=section.queue_parameters,
        )

    @staticmethod
    def ideal(plan: Plan, kind: str, on_down: str = "drain", overhead_bytes: int = 0) -> LinkKind:
        """A link without rate, delay, limit or loss.

        Used for wires between hosts and stations, and for parts that a medium does not model.
        """
        return LinkKind(
            kind=kind,
            discipline=plan.network.link_model,
            on_down=on_down,
            overhead_bytes=overhead_bytes,
            # A wire needs no rate event. Any other ideal link needs an event that sets it to unshaped.
            has_own_rate=kind != "wire",
        )

    def limit_with_flying_pkts(self, delay_ns: int, rate_bps: int | None) -> int | None:
        """netem's limit that lets `limit_pkts` packets wait while the delay line is full: Q + ceil(D R/packet).

        Without a rate no packet ever waits, and a limit of netem would only truncate the delay line, so no limit is
        set.

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
        # The formula assumes full packets. The formula is exact while all packets have that size, and otherwise an
        # approximation (design/leolink.md).
        packet_bits = 8 * (self.full_packet_bytes + self.overhead_bytes)
        return self.limit_pkts + -(-delay_ns * rate_bps // (packet_bits * 1_000_000_000))


@dataclass(frozen=True)
class _Bulk:
    """Many events of one kind, as columns of equal length: one dict per event would be too much for millions."""

    event: str
    t_ns: pa.Array
    columns: dict[str, pa.Array]


class Events:
    """Events of a timeline under construction; nodes are indexes into `names`.

    Events that may number millions (`delays`, `capacity`, `channel`) are added, kept and sorted as columns.

    names: Names of all nodes; elsewhere a node is its index here.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._rows: list[tuple[int, int, dict[str, object]]] = []
        self._links: dict[tuple[int, int], list[tuple[dict[str, object], LinkKind]]] = {}
        self._bulks: list[_Bulk] = []

    def node(self, node: int, kind: str) -> None:
        """Add a node, which exists from time 0; `kind` is satellite, ground, host or router."""
        self._add(0, "node", a=self._names[node], kind=kind)

    def link_up(self, t_ns: int, a: int, b: int, link: LinkKind) -> None:
        """Bring a link up, with its rate and loss in both directions; its queue is set at the start."""
        is_first = (a, b) not in self._links
        self._link(t_ns, a, b, link, up=True)
        # The rate and the loss are set each time that the link comes up, because the guest creates the link again.
        for sender, receiver in ((a, b), (b, a)):
            # Events `queue` occur only at 0 (`timeline.schema`): a link that comes up again keeps the queue that it had
            # before.
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
        """Take a link down; held packets still arrive or are lost, depending on `on_down` (drain, drop)."""
        self._link(t_ns, a, b, link, up=False)

    def make_room_for_flying(self, longest_ns: Mapping[tuple[int, int], int], rate_bps: int | None = None) -> None:
        """Raise netem's limits by the size of the delay line, given each link's longest delay in the run.

        `rate_bps` gives the highest rate of each link whose rate changes; for other links, the link's own rate is used.
        """
        for ends, longest in longest_ns.items():
            for row, link in self._links.get(ends, ()):
                row["limit_pkts"] = link.limit_with_flying_pkts(
                    longest, link.rate_bps if rate_bps is None else rate_bps
                )

    def rate(self, t_ns: int, a: int, b: int, rate_bps: int | None) -> None:
        """Direction a>b has this rate from now on; None: unshaped."""
        self._add(t_ns, "rate", a=self._names[a], b=self._names[b], rate_bps=rate_bps)

    def loss(self, t_ns: int, a: int, b: int, loss_ratio: float) -> None:
        """Direction a>b loses this share of its packets from now on, independently."""
        self._add(t_ns, "loss", a=self._names[a], b=self._names[b], loss_ratio=loss_ratio)

    def jitter(self, t_ns: int, a: int, b: int, sigma_ns: int, distribution: str) -> None:
        """Direction a>b adds a random value of mean 0 and this standard deviation to each packet's delay
        (`jitter_tables`)."""
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
        """Delays of many links at one instant, equal in both directions (or only for directions a>b).

        a, b: int arrays of shape (n,). Ends of each link.
        delay_ns: int64 array of shape (n,)
        """
        if both_ways:
            # The two directions of each link follow one another: the order of simultaneous events is part of the output
            # bytes.
            a, b, delay_ns = (
                np.column_stack([a, b]).ravel(),
                np.column_stack([b, a]).ravel(),
                np.repeat(delay_ns, 2),
            )
        columns = {"a": self._named(a), "b": self._named(b), "delay_ns": pa.array(delay_ns)}
        self._bulks.append(_Bulk("delay", pa.array(np.full(len(a), t_ns, dtype=np.int64)), columns))

    def capacity(self, a: int, b: int, t_ns: NDArray[np.int64], rate_bps: NDArray[np.int64]) -> None:
        """Capacity of direction a>b, as a table known from the start: `rate_bps[i]` from `t_ns[i]` on.

        t_ns: (n,) array of int. Increasing; the first is 0.
        rate_bps: (n,) array of int. 0: nothing is sent. Masked values of a masked array and nulls of an Arrow array
            mean unshaped.
        """
        self._table("capacity", a, b, t_ns, rate_bps=pa.array(rate_bps, pa.int64()))

    def channel(
        self, a: int, b: int, t_ns: NDArray[np.int64], delay_ns: NDArray[np.int64], loss_ratio: NDArray[np.float64]
    ) -> None:
        """Delay and loss of direction a>b for packets whose transmission begins from `t_ns[i]` on, as a table.

        t_ns: (n,) array of int. Increasing; the first is 0.
        delay_ns: (n,) array of int
        loss_ratio: (n,) array of float. 0 to 1; 1 loses every packet.
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
        """Queue before the serialiser of direction a>b, which replaces a fifo with the link's limits.

        kind: fifo, codel, fq_codel, pie, fq_pie, cake or red.
        ecn: Whether the queue marks packets with ECN support instead of dropping them.
        parameters: Values by name (design/interfaces.md, section 13), times in ns and sizes in bytes; the guest derives
            missing values from the limit.
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
        """A node sends packets for a host to a neighbour from now on.

        next_hop: None: the node no longer has a route to the host.
        path_id: The path to which the entry belongs, if packets keep their initial path.
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
        """Packets leave on a path from now on. `change_id` numbers the change; None: this is not a change."""
        a, b = self._names[source], self._names[destination]
        self._add(t_ns, "path", a=a, b=b, path_id=path_id, change_id=change_id)

    def paths(self, routes: Routes, pair: int, source: int, destination: int) -> None:
        """The first path of a pair of the routes between the hosts `source` and `destination`, and all changes of the
        path."""
        numbers = routes.numbers
        for k, t_ns in enumerate(routes.t_ns.tolist()):
            change_id = numbers.change_ids[k][pair]
            if k == 0 or change_id is not None:
                self.path(t_ns, source, destination, numbers.path_ids[k][pair], change_id)

    def table(self, metadata: TimelineMetadata) -> pa.Table:
        """All events so far, in order.

        Returns: Columns as in `timeline.schema`; sorted by time, within an instant by rank, then in the order of
            addition.
        """
        schema = table_schema("timeline", TIMELINE_DOC, TIMELINE, metadata.values())
        # Events kept as rows come before events kept as columns; within each kind, events are in the order of addition.
        # Equal time and rank keep this order (lexsort is stable).
        parts = [pa.Table.from_pylist([row for _, _, row in self._rows], schema=schema)]
        ranks = [np.array([rank for _, rank, _ in self._rows], dtype=np.int64)]
        for bulk in self._bulks:
            count = len(bulk.t_ns)
            event = pa.array([bulk.event]).take(pa.array(np.zeros(count, dtype=np.int32)))
            given = {"t_ns": bulk.t_ns, "event": event, **bulk.columns}
            columns = [given.get(field.name, pa.nulls(count, field.type)) for field in schema]
            parts.append(pa.Table.from_arrays(columns, schema=schema))
            ranks.append(np.full(count, _RANKS[bulk.event]))
        table = pa.concat_tables(parts).combine_chunks()
        # The primary key comes last; lexsort is stable
        order = np.lexsort([np.concatenate(ranks), table["t_ns"].to_numpy()])
        return table.take(pa.array(order)).replace_schema_metadata(schema.metadata)

    def _named(self, nodes: NDArray[np.intp]) -> pa.Array:
        return pa.array(self._names).take(pa.array(nodes))

    def _table(self, event: str, a: int, b: int, t_ns: NDArray[np.int64], **values: pa.Array) -> None:
        """Add rows of a table for one direction, kept as columns.

        Raises ValueError if a column's length differs from that of the instants.
        """
        for name, column in values.items():
            if len(column) != len(t_ns):
                raise ValueError(f"{event}: {len(column)} values of {name} at {len(t_ns)} instants")
        ends = {"a": self._named(np.full(len(t_ns), a)), "b": self._named(np.full(len(t_ns), b))}
        self._bulks.append(_Bulk(event, pa.array(t_ns, pa.int64()), {**ends, **values}))

    def _link(self, t_ns: int, a: int, b: int, link: LinkKind, *, up: bool) -> None:
        """Add a `link` event, up or down. The row is kept, because `make_room_for_flying` may raise its limit at the
        end."""
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
