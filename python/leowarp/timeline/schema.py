# SPDX-License-Identifier: Apache-2.0
"""The columns and events of `20-timeline.parquet`: name, type, unit and meaning. `crates/timeline` has the same columns
and events in Rust."""

from __future__ import annotations

import pyarrow as pa

from leowarp.routes.schema import column

TIMELINE_DOC = (
    "Everything that happens to the network, as events at exact instants. Sorted by time; within one instant: node, "
    "link up, queue, rate, delay, jitter, loss, capacity, channel, route, path, link down."
)

EVENTS = {
    "node": "a node exists: `a` (name), `kind`. All at 0",
    "link": "a link between `a` and `b` goes up (the first time it is made) or down: `kind`, `up`, `on_down`, "
    "`discipline`, `limit_pkts` or `limit_bytes` of each direction, `overhead_bytes`, `in_order`, `probe_bytes`",
    "queue": "what waits to be sent in direction a>b waits in a `queue` with these `parameters`, `ecn`, `limit_pkts` "
    "or `limit_bytes`. At 0; a direction without one has a fifo with its link's limits",
    "rate": "direction a>b sends at `rate_bps` from now on",
    "delay": "direction a>b delays by `delay_ns` from now on",
    "jitter": "direction a>b adds, to the delay of each packet by itself, a draw of mean 0 and standard deviation "
    "`sigma_ns` from `distribution`, from now on",
    "loss": "direction a>b loses `loss_ratio` of its packets from now on",
    "capacity": "a row of direction a>b's table of capacity, known from the start: it sends `rate_bps` from now on. "
    "The first at 0; a direction with such rows has no `rate`",
    "channel": "a row of direction a>b's table of delay and loss, known from the start: what begins to be sent from "
    "now on is delayed by `delay_ns` and lost with the probability `loss_ratio`. The first at 0; a direction with "
    "such rows has no `delay` and no `loss`",
    "route": "`node` sends packets for `destination` to `next_hop` from now on",
    "path": "packets from host `a` to host `b` leave on `path_id` from now on",
}
"""The meaning of each event, and the columns that it uses. All other columns are null."""

TIMELINE = (
    column("t_ns", pa.int64(), "ns", "time since the run's start", nullable=False),
    column("event", pa.string(), "", "what happens: see below", nullable=False),
    column("a", pa.string(), "", "node; of values of a direction the end that sends; of path the source host"),
    column("b", pa.string(), "", "node; of values of a direction the end that receives; of path the destination host"),
    column("kind", pa.string(), "", "of a node: satellite, ground, host, router; of a link: isl, gsl, wire"),
    column("up", pa.bool_(), "", "of a link: up or down"),
    column("on_down", pa.string(), "", "of a link that goes down: what it holds still arrives (drain) or not (drop)"),
    column("limit_pkts", pa.int64(), "pkts", "of a link (each way) or queue: waiting packets; null: no such limit"),
    column("limit_bytes", pa.int64(), "bytes", "of a link (each way) or queue: waiting bytes; null: no such limit"),
    column(
        "discipline",
        pa.string(),
        "",
        "of a link: leolink (limits count waiting packets), netem (limit_pkts counts those in the delay line too) or "
        "jitter (so too; packets may overtake each other in the delay line, before they are serialised)",
    ),
    column("overhead_bytes", pa.int64(), "bytes", "of a link: bytes per packet on top of its IP length"),
    column("rate_bps", pa.int64(), "bit/s", "of rate and capacity: null is unshaped; of capacity 0 is nothing at all"),
    column("delay_ns", pa.int64(), "ns", "of delay and channel: one way"),
    column("sigma_ns", pa.int64(), "ns", "of jitter: standard deviation"),
    column(
        "distribution",
        pa.string(),
        "",
        "of jitter: uniform, normal, exponential or table (the table's metadata `jitter_table`: equally likely values "
        "of mean 0 and standard deviation 1)",
    ),
    column("loss_ratio", pa.float64(), "", "of loss and channel: share of packets, 0 to 1"),
    column("node", pa.string(), "", "of route: the node whose table changes"),
    column("destination", pa.string(), "", "of route: the host that packets are for"),
    column("next_hop", pa.string(), "", "of route: neighbour that they go to; null: no route any more"),
    column("path_id", pa.int32(), "", "as in the routes table; of route: the path it is for; of path: null is none"),
    column("queue", pa.string(), "", "of queue: fifo, codel, fq_codel, pie, fq_pie, cake or red"),
    column("ecn", pa.bool_(), "", "of queue: packets that can be marked are marked instead of dropped"),
    column("parameters", pa.string(), "", "of queue: JSON object of integers, times in ns and sizes in bytes"),
    column("in_order", pa.bool_(), "", "of a link: false: packets that meet a smaller delay overtake; null: none does"),
    column(
        "probe_bytes",
        pa.int64(),
        "bytes",
        "of a link: size of the packets that measured the channel's delay, which holds their own time on the link; "
        "null: it holds none",
    ),
    column(
        "change_id", pa.int32(), "", "of path: number of the change, from 0 for each a and b; null: the first path at 0"
    ),
)
