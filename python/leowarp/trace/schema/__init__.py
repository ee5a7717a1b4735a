# SPDX-License-Identifier: Apache-2.0
"""Columns of the trace tables: name, types, unit, meaning.

They are defined only here, in one module for each group of tables. The agent's part of them
(`crates/timeline/src/record/tables.rs`, made by `make docs`), Parquet field metadata, the pandas attributes, the check
of the guest's files and `docs/reference/tables.md` are made from it.
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
"""Tables that the agent writes as records."""

TABLES: dict[str, TableSchema] = RECORDED | {MEASURES.name: MEASURES}
"""All tables of `30-trace/`."""

COMPUTED = {"sockets": (BBR_MODE,)}
"""For each table, the columns that are computed from those of the file when it is read in words (`words.py`)."""
