# SPDX-License-Identifier: Apache-2.0
"""Runs side by side: as a table, as JSON, as a page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leowarp.result import Run


SHORT = (
    "goodput_mean_bps", "srtt_p50_us", "srtt_p99_us", "retransmissions_pkts", "spurious_retransmissions_pkts",
    "dsacks_pkts", "late_pkts", "late_by_changes_pkts", "reordered_ratio", "mean_displacement_pkts", "entropy_nats",
    "reordering_extent_max_pkts", "route_changes", "path_delay_min_ns", "path_delay_max_ns",
    "drops_pkts", "virtual_s", "cpu_s", "wall_s",
)  # fmt: skip
"""What a short table shows."""


def print_comparison(runs: Sequence[Run], chosen: Sequence[str] = ()) -> None:
    """The runs' scalars as a table, one column a run; all of them, or the chosen ones."""
    from leowarp.cli.output import print_table
    from leowarp.result import summary_lines

    columns = [dict(summary_lines(run.summary)) for run in runs]
    names = list(dict.fromkeys(name for column in columns for name in column))
    if chosen:
        names = [name for name in names if name.rpartition(" ")[2] in chosen]
    print_table(
        None,
        ("quantity", *labels(runs)),
        [(name, *(column.get(name) for column in columns)) for name in names],
    )


def print_comparison_json(runs: Sequence[Run], page: Path) -> None:
    """The runs' summaries as one JSON object."""
    from leowarp.cli.output import print_json

    print_json({"page": str(page), "runs": [{"run": str(run.path), "summary": run.summary} for run in runs]})


def labels(runs: Sequence[Run]) -> list[str]:
    """A short name for each run: its directory's, or as much of the path as tells them apart."""
    parts: list[Any] = [run.path.resolve().parts for run in runs]
    for depth in range(1, max(len(part) for part in parts) + 1):
        found = ["/".join(part[-depth:]) for part in parts]
        if len(set(found)) == len(found):
            return found
    return ["/".join(part) for part in parts]
