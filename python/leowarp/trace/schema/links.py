# SPDX-License-Identifier: Apache-2.0
"""The tables about the queues of links, and about the traffic of each link."""

from leowarp.trace.schema.columns import BYTES, I64, LINK_DIRECTION, NS, PKTS, T_NS, U32, U64, Column, TableSchema

# A row is stored only if a value changed, because most links of a constellation carry no packets for most of a run.
LINKS = TableSchema(
    "links",
    "Queue",
    "Samples of the queue of each direction of a link. The interval is `observe.queues`. A sample is stored only if a "
    "value has changed.",
    (
        T_NS,
        LINK_DIRECTION,
        Column("queue_pkts", U32, PKTS, "packets waiting"),
        Column("queue_bytes", U64, BYTES, "bytes waiting, as the kernel counts them"),
        Column("queue_max_pkts", U32, PKTS, "most packets waiting at once since the previous sample; null: netem"),
    ),
)


def _counted(stem: str, what: str) -> tuple[Column, Column]:
    return (
        Column(f"{stem}_pkts", U64, PKTS, f"packets {what}"),
        Column(f"{stem}_bytes", U64, BYTES, f"bytes {what}, as the kernel counts them"),
    )


# In every run, the sums of these columns are checked: offered = delivered + dropped + held, in packets and in bytes
# (docs/concepts/truth.md).
LINKTOTALS = TableSchema(
    "linktotals",
    "LinkTotal",
    "Balance of each direction of a link at the end: offered = delivered + dropped by cause + held.",
    (
        LINK_DIRECTION,
        *_counted("offered", "offered"),
        *_counted("delivered", "delivered"),
        *_counted("dropped_queue", "dropped by a full queue"),
        *_counted("dropped_loss", "dropped by the link's loss ratio"),
        *_counted("dropped_down", "dropped when the link went down"),
        *_counted("held", "in the queue or in flight at the end"),
        Column("queue_max_pkts", U32, PKTS, "most packets that ever waited at once; null: netem"),
        Column("busy_ns", U64, NS, "time spent transmitting; null: netem"),
        Column(
            "run_queue_max_pkts", U32, PKTS,
            "most packets that waited at once before the run's end (`queue_max_pkts` also counts the time after it, "
            "while the links drain); null: netem",
        ),
        Column("run_queue_max_pkts_at_ns", I64, NS,
            "first time at which `run_queue_max_pkts` waited; null: no packet ever waited, or netem",
        ),
        Column(
            "run_queue_max_bytes", U64, BYTES,
            "most bytes that waited at once before the run's end, the link's overhead included; null: netem",
        ),
        Column("run_queue_max_bytes_at_ns", I64, NS,
            "first time at which `run_queue_max_bytes` waited; null: no packet ever waited, or netem",
        ),
    ),
)  # fmt: skip
