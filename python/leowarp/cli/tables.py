# SPDX-License-Identifier: Apache-2.0
"""Runs as tables on stdout: the few numbers that a paper would have, or all scalars by what they are about."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from leowarp.cli.output import print_table

if TYPE_CHECKING:
    from leowarp.overview import Section

MOST_COLUMNS = 6
"""With more flows, or runs, than this beside each other a table is turned: each is a row."""


def print_sections(sections: Sequence[Section]) -> None:
    """The sections of an overview below each other."""
    for section in sections:
        if len(section.columns) <= MOST_COLUMNS:
            print_table(section.title, ("", *section.columns), [(name, *values) for name, values in section.rows])
        else:
            turned = zip(section.columns, *(values for _, values in section.rows), strict=True)
            heads = [name.strip() for name, _ in section.rows]
            print_table(section.title, ("", *heads), turned)


def print_scalars(summary: dict[str, Any], *, nulls: bool) -> None:
    """All scalars of a summary under their own names, in groups; one column a flow.

    Parameters
    ----------
    nulls : bool
        Also those that are null of every flow.
    """
    of_run = {name: value for name, value in _flat(summary).items() if name != "flows"}
    _print_groups("Run", ("value",), [of_run], nulls=nulls)
    flows = summary["flows"]
    for kind in dict.fromkeys(flow.get("kind") for flow in flows):
        mine = [flow for flow in flows if flow.get("kind") == kind]
        for first in range(0, len(mine), MOST_COLUMNS):
            few = mine[first : first + MOST_COLUMNS]
            names = tuple(f"flow {flow.get('flow', 0)}" for flow in few)
            title = "Flows" if kind is None else f"Flows ({kind})"
            _print_groups(title, names, [_flat(flow) for flow in few], nulls=nulls)


def group_of(name: str) -> str:
    """What a scalar is about, by its name."""
    return next((group for group, parts in _GROUPS if any(_has(name, part) for part in parts)), "other")


def _print_groups(title: str, columns: Sequence[str], values: Sequence[dict[str, Any]], *, nulls: bool) -> None:
    names = [name for name in dict.fromkeys(name for of in values for name in of) if name != "flow"]
    kept = [name for name in names if nulls or any(of.get(name) is not None for of in values)]
    rows: list[tuple[str | None, ...]] = []
    for group in (*dict(_GROUPS), "other"):
        mine = [name for name in kept if group_of(name) == group]
        if mine:
            rows.append((group, *("" for _ in columns)))
            rows += [(f"  {name}", *(_text(of.get(name)) for of in values)) for name in mine]
    print_table(title, ("", *columns), rows)


def _flat(values: dict[str, Any]) -> dict[str, Any]:
    """Scalars; those of an object within with its name and a dot before theirs."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            found |= {f"{name}.{key}": item for key, item in value.items()}
        elif not isinstance(value, list):
            found[name] = value
    return found


def _has(name: str, part: str) -> bool:
    """Whether the name begins with the part, or, of a part that begins with an underscore, has it within."""
    return part in name if part.startswith("_") else name.startswith(part)


def _text(value: Any) -> str | None:
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return None if value is None else str(value)


_GROUPS = (
    ("what it was", ("name", "kind", "source", "destination", "congestion_control", "error")),
    ("cost", ("virtual_s", "cpu_s", "wall_s")),
    ("changes of the path", ("route_changes", "path_delay", "no_path", "changes_", "recover", "spike", "goodput_dip",
                             "_by_changes", "_near_changes", "_outside_changes")),
    ("goodput", ("goodput", "path_capacity", "capacity_used", "completion", "bytes", "share", "fairness", "connect")),
    ("round-trip times and delays", ("rtt", "srtt", "rto", "owd")),
    ("reordering", ("late", "acks_late", "reorder", "mean_displacement", "entropy", "buffer_mean", "byte_offset",
                    "density", "_reordering", "dsacks")),
    ("packets sent, lost, sent again", ("sent", "delivered", "lost", "drops", "data_drops", "ack_drops", "acks_lost",
                                         "probes", "replies", "loss_run", "_retransmissions", "retransmissions",
                                         "received_ce", "delivered_ce")),
    ("the sender", ("sender", "cwnd", "timeouts")),
    ("acknowledgements", ("ack", "duplicate_acks")),
)  # fmt: skip
