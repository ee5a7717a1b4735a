# SPDX-License-Identifier: Apache-2.0
"""Check the tables of `[cures]` by computing their values again without the guest, from plan, timeline and stored
packets.

`leowarp verify` checks whether a second run of the plan gives the same bytes. If a fault of the guest is the same in
every run, only this package finds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from leowarp.crosscheck.changes import changes
from leowarp.crosscheck.findings import Findings as Findings
from leowarp.crosscheck.nodes import nodes
from leowarp.crosscheck.records import Judge
from leowarp.crosscheck.stations import Stations
from leowarp.crosscheck.streams import orders
from leowarp.trace import TABLES

if TYPE_CHECKING:
    from leowarp.results.run import Run


def crosscheck(run: Run) -> dict[str, Findings]:
    """Return the findings for each table of a run's cures. The dict is empty for a run without `[cures]`.

    Raises TraceError if a table cannot be read.
    """
    tables = run.tables
    names = [name for name in ("switches", "merges", "notices", "orders", "nodetotals") if tables.has(name)]
    if not names:
        return {}
    older = [name for name in names if set(TABLES[name].names) - set(run.table(name).schema.names)]
    if older:
        return {name: Findings(unknown=["it is of another version of leowarp"]) for name in older}
    expected = changes(run)
    # The packets on each link can be computed only if the run stored all packets.
    stations = Stations(run) if run.plan.observe.packets == "all" and tables.has("packets") else None
    judge = Judge(run, expected, stations)
    made = {
        "switches": judge.switches,
        "merges": judge.merges,
        "notices": judge.notices,
        "orders": lambda: orders(run, expected, stations),
        "nodetotals": lambda: nodes(run),
    }
    return {name: made[name]() for name in names}
