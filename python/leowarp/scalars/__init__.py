# SPDX-License-Identifier: Apache-2.0
"""The one table of scalars: what `summary.json` says of a run (`RUN`) and of each flow (`TCP`, `PROBE`), in its order.

It is data alone and below everything that computes or shows a scalar. From it are made the rows of `summary.json` and
their order, units and definitions in `40-metrics.parquet`, the groups of `leowarp show --metrics`, words and units of
the overview and of the pages, and `docs/reference/tables.md`.

>>> FLOW_SCALARS["rtt_p99_ns"].unit.symbol
'ns'
>>> [scalar.name for scalar in RUN if scalar.overview][:2]
['route_changes', 'path_delay_min_ns']
"""

from leowarp.scalars.of_flows import COMMON, PROBE, PROGRAM, TCP
from leowarp.scalars.of_run import COSTS, RUN
from leowarp.scalars.scalar import Group, Scalar, Section, Unit, by_name, flat, names, ordered

# By name for those who have a column or an axis and look for its unit; the tuples above say what a run must have.
RUN_SCALARS = by_name(RUN)
FLOW_SCALARS = by_name(TCP, PROBE, PROGRAM)


def of_kind(kind: str | None) -> Section:
    """The scalars of a flow of a kind: tcp, ping and udp, program; None, which no run of today has, is taken for tcp.

    kind: `kind` of the flow in `summary.json`.
    Returns: `TCP`, `PROBE` or `PROGRAM`, in the order of `summary.json`.
    """
    return PROGRAM if kind == "program" else TCP if kind in ("tcp", None) else PROBE


__all__ = [
    "COMMON",
    "COSTS",
    "FLOW_SCALARS",
    "PROBE",
    "PROGRAM",
    "RUN",
    "RUN_SCALARS",
    "TCP",
    "Group",
    "Scalar",
    "Section",
    "Unit",
    "by_name",
    "flat",
    "names",
    "of_kind",
    "ordered",
]
