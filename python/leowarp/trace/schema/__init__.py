# SPDX-License-Identifier: Apache-2.0
"""The columns of the trace tables: name, types, unit and meaning.

The columns are defined only in this package, with one module per group of tables. From these definitions, `make docs`
makes the agent's tables (`crates/timeline/src/record/tables.rs`). The definitions are also the source of Parquet field
metadata, pandas attributes, the check of the guest's files, and `docs/reference/tables.md`.
"""

from leowarp.trace.schema.columns import TableSchema
from leowarp.trace.schema.cures import MERGES, NODETOTALS, NOTICES, ORDERS, SWITCHES
from leowarp.trace.schema.flows import ACKS, ECHOES, FLOWS
from leowarp.trace.schema.hosts import BBR_MODE, COUNTERS, SOCKETS
from leowarp.trace.schema.links import LINKS, LINKTOTALS
from leowarp.trace.schema.measures import MEASURES
from leowarp.trace.schema.packets import BINS, DELAYS, DROPS, PACKETS
from leowarp.trace.schema.reordering import DENSITIES, REORDERING

RECORDED: dict[str, TableSchema] = {
    table.name: table
    for table in (
        SOCKETS, PACKETS, BINS, DELAYS, LINKS, LINKTOTALS, COUNTERS, DROPS, FLOWS, ACKS, ECHOES, REORDERING,
        DENSITIES, SWITCHES, MERGES, NOTICES, ORDERS, NODETOTALS,
    )
}  # fmt: skip
"""The tables that the agent writes as record files."""

TABLES: dict[str, TableSchema] = RECORDED | {MEASURES.name: MEASURES}
"""All tables of `30-trace/`, by name."""

COMPUTED = {"sockets": (BBR_MODE,)}
"""Additional columns by table. They are computed when the table is read in words (`words.py`)."""
