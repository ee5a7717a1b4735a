# SPDX-License-Identifier: Apache-2.0
"""The table of all scalars in `summary.json`, of a run (`RUN`) and of each flow (`TCP`, `PROBE`), in order.

The table has only data, so that any code can import the table. The table determines the rows of `summary.json` and
their order, and the units and definitions in `40-metrics.parquet`. The table also determines the groups of `leowarp
show --metrics`, the texts and units of the overview and the pages, and `docs/reference/tables.md`.

>>> FLOW_SCALARS["rtt_p99_ns"].unit.symbol
'ns'
>>> [scalar.name for scalar in RUN if scalar.overview][:2]
['route_changes', 'path_delay_min_ns']
"""

from leowarp.scalars.of_flows import COMMON, PROBE, PROGRAM, TCP
from leowarp.scalars.of_run import COSTS, RUN
from leowarp.scalars.scalar import Group, Scalar, Section, by_name, flat, names, ordered

# Two mappings from the name of a scalar to the scalar, which has the unit. The tuples above define which scalars a run
# must have.
RUN_SCALARS = by_name(RUN)
FLOW_SCALARS = by_name(TCP, PROBE, PROGRAM)


def of_kind(kind: str | None) -> Section:
    """Return the scalars of a flow, by its `kind` in `summary.json`: tcp, ping, udp or program. In runs of older
    versions, the kind may be None, which means tcp."""
    return PROGRAM if kind == "program" else TCP if kind in ("tcp", None) else PROBE
