# SPDX-License-Identifier: Apache-2.0
"""The columns and events of `20-timeline.parquet`: name, type, unit and meaning. `crates/timeline` has the same columns
and events in Rust."""

from __future__ import annotations

import pyarrow as pa

from leowarp.base.tables.metadata import column

TIMELINE_DOC = (
    "All events of the network at exact instants, sorted by time. Events of one instant are sorted by kind: node, "
    "link up, queue, rate, delay, jitter, loss, capacity, channel, route, path, link down."
)

EVENTS = {
    "node": "node `a` of this `kind` exists. All such events are at time 0",
    "link": "a link between `a` and `b` goes up (the first event creates it) or down. Columns: `kind`, `up`, "
    "`on_down`, `discipline`, `limit_pkts` or `limit_bytes` of each direction, `overhead_bytes`, `in_order`, "
    "`probe_bytes`",
    "queue": "packets of direction a>b wait in a `queue` with these `parameters`, `ecn`, `limit_pkts` or "
    "`limit_bytes`. All such events are at time 0; a direction without one has a fifo with its link's limits",
    "rate": "direction a>b sends at `rate_bps` from now on",
    "delay": "direction a>b delays packets by `delay_ns` from now on",
    "jitter": "from now on, direction a>b adds to the delay of each packet an independent draw from `distribution`, "
    "with mean 0 and standard deviation `sigma_ns`",
    "loss": "direction a>b loses `loss_ratio` of its packets from now on",
    "capacity": "direction a>b sends at `rate_bps` from now on. The event is a row of its table of capacity, which is "
    "known from the start. The first such event is at time 0; a direction with such events has no `rate`",
    "channel": "packets of direction a>b whose transmission starts from now on are delayed by `delay_ns`, and lost "
    "with the probability `loss_ratio`. The event is a row of the direction's table of delay and loss, which is known "
    "from the start. The first such event is at time 0; a direction with such events has no `delay` and no `loss`",
    "route": "`node` sends packets for `destination` to `next_hop` from now on",
    "path": "packets from host `a` to host `b` leave on `path_id` from now on",
}
"""The meaning of each event, and the columns that it uses. All other columns are null."""

TIMELINE = (
    column("t_ns", pa.int64(), "ns", "time since the run's start", nullable=False),
    column("event", pa.string(), "", "kind of event (see the table of events)", nullable=False),
    column("a", pa.string(), "", "a node; for values of a direction, the sender; for path, the source host"),
    column("b", pa.string(), "", "a node; for values of a direction, the receiver; for path, the destination host"),
    column("kind", pa.string(), "", "for node: satellite, ground, host or router; for link: isl, gsl or wire"),
    column("up", pa.bool_(), "", "for link: whether it goes up (true) or down (false)"),
    column(
        "on_down",
        pa.string(),
        "",
        "for a link that goes down: whether the packets in it still arrive (drain) or not (drop)",
    ),
    column("limit_pkts", pa.int64(), "pkts", "for link and queue: most packets that wait; null: no such limit"),
    column("limit_bytes", pa.int64(), "bytes", "for link and queue: most bytes that wait; null: no such limit"),
    column(
        "discipline",
        pa.string(),
        "",
        "for link: leolink (limits count waiting packets), netem (limit_pkts also counts packets in the delay line) or "
        "jitter (as netem; packets may overtake each other in the delay line, before they are serialised)",
    ),
    column("overhead_bytes", pa.int64(), "bytes", "for link: bytes per packet on top of its IP length"),
    column(
        "rate_bps",
        pa.int64(),
        "bit/s",
        "for rate and capacity: rate of sending (for capacity, 0: nothing is sent); null: no rate limit",
    ),
    column("delay_ns", pa.int64(), "ns", "for delay and channel: one-way delay"),
    column("sigma_ns", pa.int64(), "ns", "for jitter: standard deviation"),
    column(
        "distribution",
        pa.string(),
        "",
        "for jitter: uniform, normal, exponential or table (the metadata `jitter_table` has equally likely values of "
        "mean 0 and standard deviation 1)",
    ),
    column("loss_ratio", pa.float64(), "", "for loss and channel: share of packets that are lost, 0 to 1"),
    column("node", pa.string(), "", "for route: the node whose forwarding table changes"),
    column("destination", pa.string(), "", "for route: the destination host"),
    column("next_hop", pa.string(), "", "for route: the neighbour to which packets go; null: no route any longer"),
    column(
        "path_id",
        pa.int32(),
        "",
        "number of the path, as in 10-routes.parquet; for route, of the path to which the route belongs; for path, "
        "null means no path",
    ),
    column("queue", pa.string(), "", "for queue: fifo, codel, fq_codel, pie, fq_pie, cake or red"),
    column("ecn", pa.bool_(), "", "for queue: whether packets that can be marked are marked instead of dropped"),
    column("parameters", pa.string(), "", "for queue: JSON object of integers, times in ns and sizes in bytes"),
    column(
        "in_order",
        pa.bool_(),
        "",
        "for link: false if packets with a smaller delay overtake earlier ones; null: no packet overtakes",
    ),
    column(
        "probe_bytes",
        pa.int64(),
        "bytes",
        "for link: size of the packets that measured the channel's delay, which then includes their transmission time; "
        "null: the delay includes no transmission time",
    ),
    column("change_id", pa.int32(), "", "for path: number of the change, from 0 per a and b; null: the first path"),
)
