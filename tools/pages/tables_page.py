# SPDX-License-Identifier: Apache-2.0
"""Make the reference page of a run's files and table columns from the schemas.

``python tools/pages/tables_page.py FILE`` writes the page. ``--check FILE`` reports whether FILE is up to date.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from generated import write_or_check
from leowarp import scalars
from leowarp.metrics import (
    CAUSE_COLUMNS,
    CHANGE_COLUMNS,
    DENSITY_COLUMNS,
    LINK_COLUMNS,
    LONG_COLUMNS,
    PAIR_COLUMNS,
    RECOVERY_COLUMNS,
    REORDERING_COLUMNS,
    SATELLITE_COLUMNS,
    SERIES,
    numbers_of,
)
from leowarp.routes.schema import ROUTES, ROUTES_DOC
from leowarp.timeline.schema import EVENTS, TIMELINE, TIMELINE_DOC
from leowarp.trace import TABLES
from leowarp.trace.schema import COMPUTED
from leowarp.trace.schema.columns import Column


def reference_page() -> str:
    """Return the page as Markdown.

    Returns: The same schemas always give the same bytes.
    """
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    """Yield the lines of the page. The page lists the files of a run in the order of their creation, with their
    columns."""
    yield from _INTRODUCTION.splitlines()
    yield from _table("10-routes.parquet", ROUTES_DOC, (_of_field(field) for field in ROUTES))
    yield from _table("20-timeline.parquet", TIMELINE_DOC, (_of_field(field) for field in TIMELINE))
    yield ""
    yield "| event | meaning |"
    yield "|---|---|"
    for event, meaning in EVENTS.items():
        yield f"| `{event}` | {_cell(meaning)} |"
    # The host checks the guest's records against the schemas that this page lists. Page and records therefore cannot
    # differ.
    for table in TABLES.values():
        columns = (_of_column(column) for column in (*table.columns, *COMPUTED.get(table.name, ())))
        yield from _table(f"30-trace/{table.name}.parquet", table.doc, columns)
    yield from _table(
        "40-metrics.parquet",
        "Every number computed from the trace, one per row.",
        _of_columns(LONG_COLUMNS),
    )
    yield from _scalars()
    yield from _SERIES.splitlines()
    for series in SERIES.values():
        yield f"| `{series.name}` | {series.unit} | {_cell(series.definition)} |"
    yield from _table(
        "Metrics `route_change.*`",
        "One row per route change, in `40-metrics.parquet` under these names, with the instant of the change as "
        "`t_ns`. The paths themselves are in `10-routes.parquet`.",
        _of_columns(numbers_of(CHANGE_COLUMNS)),
    )
    yield from _table(
        "Metrics `recovery.*`",
        "One row per route change and TCP flow, in `40-metrics.parquet` under these names, with the instant of the "
        "change as `t_ns` and the flow's number as `flow`.",
        _of_columns(numbers_of(RECOVERY_COLUMNS)),
    )
    yield from _table(
        "Metrics `reordering.*`, `reordering_window.*`, `reordering_change.*`",
        "One row per flow for the whole run, one per window, and one per change of the flow's path. These are the "
        "columns of `run.reordering()`. In `40-metrics.parquet`, a metric's name contains the scope. `t_ns` is the "
        "start of the window or the instant of the change.",
        _of_columns(REORDERING_COLUMNS),
    )
    yield from _table(
        "Histograms of reordering",
        "One row per bar of a histogram. These are the columns of `run.densities()`. In `40-metrics.parquet`, scope "
        "and kind form the metric's name, for example `reordering.density`. The metric's value is `share_ratio`. "
        "`index` is a column there.",
        _of_columns(DENSITY_COLUMNS),
    )
    yield from _table(
        "Metrics `cause.*`, `no_cause.*`",
        "One row per flow and route change, and one row per flow for effects that no change caused. These are the "
        "columns of `run.causes()`.",
        _of_columns(CAUSE_COLUMNS),
    )
    yield from _table(
        "Links of a run",
        "One row per direction of a link that was offered a packet. These are the columns of `run.links()` and of "
        "`leowarp show RUN --links --json`.",
        _of_columns(LINK_COLUMNS),
    )
    yield from _table(
        "Satellites of a run",
        "One row per satellite that was offered a packet, for all links over which it sends. These are the columns of "
        "`run.satellites()` and of `leowarp show RUN --links --json`.",
        _of_columns(SATELLITE_COLUMNS),
    )
    yield from _table(
        "Pairs of stations of a run",
        "One row per ordered pair of stations with TCP flows. These are the columns of `run.pairs()`.",
        _of_columns(PAIR_COLUMNS),
    )


def _scalars() -> Iterator[str]:
    """Yield the tables of scalars: for the run, for all flows, and for each kind of flow."""
    yield from _SCALARS.splitlines()
    # Scalars are compared by identity and not by name, because scalars of TCP and of probes may have the same name and
    # different descriptions.
    common = {id(scalar) for scalar in scalars.COMMON}
    sections = {
        "Of the run": scalars.RUN,
        "Of every flow": scalars.COMMON,
        "Of TCP flows": tuple(scalar for scalar in scalars.TCP if id(scalar) not in common),
        "Of pings and UDP probes": tuple(scalar for scalar in scalars.PROBE if id(scalar) not in common),
        "Of flows of programs": tuple(scalar for scalar in scalars.PROGRAM if id(scalar) not in common),
    }
    for title, section in sections.items():
        yield from ("", f"### {title}", "", "| scalar | unit | about | shown | meaning |", "|---|---|---|---|---|")
        for each in section:
            shown = ", ".join(where for where, words in (("overview", each.overview), ("page", each.page)) if words)
            yield f"| `{each.name}` | {each.unit.symbol} | {each.group} | {shown} | {_cell(each.definition)} |"


def _of_columns(columns: Mapping[str, tuple[object, str | None, str]]) -> Iterator[tuple[str, str, str | None, str]]:
    """Convert a table that is declared as name -> (type, unit, meaning) to rows."""
    return ((name, str(kind), unit, doc) for name, (kind, unit, doc) in columns.items())


def _table(name: str, doc: str, columns: Iterable[tuple[str, str, str | None, str]]) -> Iterator[str]:
    """Yield a section with a table. Each of `columns` is (name, type, unit, meaning)."""
    yield ""
    yield f"## {name}"
    yield ""
    yield doc
    yield ""
    yield "| column | type | unit | meaning |"
    yield "|---|---|---|---|"
    for column, kind, unit, meaning in columns:
        yield f"| `{column}` | {kind} | {unit or ''} | {_cell(meaning)} |"


def _of_column(column: Column) -> tuple[str, str, str | None, str]:
    """Return the row of a trace column. The meaning includes the words that replace the column's numbers in Python and
    in CSV."""
    name, kind, unit, meaning = _of_field(column.field())
    words = ", ".join(f'"{word}"' for word in column.words.values())
    return name, kind, unit, f"{meaning}; in words {words}" if words else meaning


def _of_field(field: pa.Field) -> tuple[str, str, str, str]:
    """Return the name, type, unit and meaning of an Arrow column. Unit and meaning are in the column's metadata.

    The type of a dictionary of strings is shown as string, because the dictionary is only a way to store strings.
    """
    # `kind` is the name that users see in data frames.
    kind = {"double": "float64", "list<item: string>": "list of string"}.get(str(field.type), str(field.type))
    if pa.types.is_dictionary(field.type):
        kind = "string"
    metadata = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
    return field.name, kind if field.nullable else f"{kind}, never null", metadata["unit"], metadata["doc"]


def _cell(text: str) -> str:
    """Escape a text for a cell of a Markdown table, in which a bar ends a cell."""
    return text.replace("|", "\\|")


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page. Return the exit status of `write_or_check`."""
    return write_or_check(reference_page(), "tools/pages/tables_page.py", arguments)


_SCALARS = """
## Scalars

`summary.json` has the scalars of the run, and the scalars of each flow under `flows`. `leowarp show RUN --metrics`
prints all of them, grouped by topic. In `40-metrics.parquet`, their names begin with `run.` or `flow.`. Two groups
change their names: `fairness.jain_index` becomes `run.fairness_jain_index`, and `drops_by_cause_pkts.queue` becomes
`run.drops_queue_pkts`. Ratios, and counts of other things than packets, have no unit. The column *shown* says where
else a scalar appears: *overview* is the table of `leowarp run` and `leowarp compare`, and *page* is the page of a
report. Both use units that are easy to read."""

_SERIES = """
## Series

A series has the values of a quantity of a flow over time. In Python, `run.series("cwnd_pkts", flow=0)` returns it, and
`leowarp report RUN --plot cwnd,srtt` draws it. You may omit the unit. `40-metrics.parquet` contains the series of
goodput, `srtt_us`, `share_ratio`, `path_delay_ns` (for a pair of stations, without a flow) and `jain_index`.

| series | unit | meaning |
|---|---|---|"""

_INTRODUCTION = """\
# A run directory and its tables

<!-- Made by `python tools/pages/tables_page.py`; do not edit. -->

| file | content |
|---|---|
| `00-plan.toml`, `00-inputs/` | the scenario with every default written out, and its files: enough to repeat the run |
| `10-routes.parquet` | the path between each pair of stations, at each route update |
| `20-timeline.parquet` | the events of the emulated network |
| `30-trace/*.parquet` | observations; every run of the plan gives the same bytes ([`leowarp verify`](verify.md)) |
| `40-metrics.parquet`, `summary.json` | results computed from the trace |
| `50-report/` | figures and `index.html` |
| `manifest.json` | versions, seed, machine, costs, all warnings, and the sha256 of each file |
| `guest-console.txt` | messages of the guest kernel |
| `INCOMPLETE` | exists only while a run is written, or if the run failed; states the reason |

A missing value is null, never 0. Times are in ns of the run's virtual clock. `_bps` means bits per second. The field
metadata of the Parquet files (`unit`, `doc`) have the unit and meaning of each column. The metadata of each trace table
have the names of hosts, flows and link directions as JSON (`hosts`, `flows`, `directions`).

The Parquet files of the trace have numbers for directions of flows, causes, states, kinds, hosts and nodes. Python
(`run.table("bins")`, `run.bins()` and so on) and the CSV of `leowarp export` have words instead, listed here as "in
words", or the name of the host or node. Filters also use the words: `filters=[("direction", "==", "data")]`."""


if __name__ == "__main__":
    sys.exit(main())
