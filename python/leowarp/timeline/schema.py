# SPDX-License-Identifier: Apache-2.0
"""Columns and events of `20-timeline.parquet`: name, type, unit, meaning. `crates/timeline` mirrors it."""

from __future__ import annotations

import pyarrow as pa

from leowarp.routes.schema import column

TIMELINE_DOC = (
    "Everything that happens to the network, as events at exact instants. Sorted by time; within one instant: node, "
    "link up, rate, delay, jitter, loss, route, path, link down."
)

EVENTS = {
    "node": "a node exists: `a` (name), `kind`. All at 0",
    "link": "a link between `a` and `b` goes up (the first time it is made) or down: `kind`, `up`, `on_down`, "
    "`discipline`, `limit_pkts` or `limit_bytes` of each direction, `overhead_bytes`",
    "rate": "direction a>b sends at `rate_bps` from now on",
    "delay": "direction a>b delays by `delay_ns` from now on",
    "jitter": "direction a>b adds, to the delay of each packet by itself, a draw of mean 0 and standard deviation "
    "`sigma_ns` from `distribution`, from now on",
    "loss": "direction a>b loses `loss_ratio` of its packets from now on",
    "route": "`node` sends packets for `destination` to `next_hop` from now on",
    "path": "packets from host `a` to host `b` leave on `path_id` from now on",
}
"""What each event means, and the columns that it fills; all others are null."""

TIMELINE = (
    column("t_ns", pa.int64(), "ns", "time since the run's start", nullable=False),
    column("event", pa.string(), "", "node, link, rate, delay, jitter, loss, route or path", nullable=False),
    column("a", pa.string(), "", "node; of values of a direction the end that sends; of path the source host"),
    column("b", pa.string(), "", "node; of values of a direction the end that receives; of path the destination host"),
    column("kind", pa.string(), "", "of a node: satellite, ground, host, router; of a link: isl, gsl, wire"),
    column("up", pa.bool_(), "", "of a link: up or down"),
    column("on_down", pa.string(), "", "of a link that goes down: what it holds still arrives (drain) or not (drop)"),
    column("limit_pkts", pa.int64(), "pkts", "of a link: waiting packets in each direction; null: no such limit"),
    column("limit_bytes", pa.int64(), "bytes", "of a link: waiting bytes in each direction; null: no such limit"),
    column(
        "discipline",
        pa.string(),
        "",
        "of a link: leolink (limits count waiting packets), netem (limit_pkts counts those in the delay line too) or "
        "jitter (so too; packets may overtake each other in the delay line, before they are serialised)",
    ),
    column("overhead_bytes", pa.int64(), "bytes", "of a link: bytes per packet on top of its IP length"),
    column("rate_bps", pa.int64(), "bit/s", "of rate: null is unshaped"),
    column("delay_ns", pa.int64(), "ns", "of delay: one way"),
    column("sigma_ns", pa.int64(), "ns", "of jitter: standard deviation"),
    column(
        "distribution",
        pa.string(),
        "",
        "of jitter: uniform, normal, exponential or table (the table's metadata `jitter_table`: equally likely values "
        "of mean 0 and standard deviation 1)",
    ),
    column("loss_ratio", pa.float64(), "", "of loss: share of packets, 0 to 1"),
    column("node", pa.string(), "", "of route: the node whose table changes"),
    column("destination", pa.string(), "", "of route: the host that packets are for"),
    column("next_hop", pa.string(), "", "of route: neighbour that they go to; null: no route any more"),
    column("path_id", pa.int32(), "", "as in the routes table; of route: the path it is for; of path: null is none"),
)  # fmt: skip
