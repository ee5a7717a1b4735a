# SPDX-License-Identifier: Apache-2.0
"""The differences between runs: plan keys, modules and their parameters, kernels, versions, metrics.

>>> diff("runs/a", "runs/b")                       # doctest: +SKIP
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp import scalars
from leowarp.base import layout
from leowarp.results.run import Run

if TYPE_CHECKING:
    import pandas as pd


class Part(StrEnum):
    """The kind of a difference. Causes (plan, modules, kernel, versions) come before effects (metrics)."""

    PLAN = "plan"
    MODULE = "module"
    KERNEL = "kernel"
    VERSION = "version"
    METRIC = "metric"


@dataclass(frozen=True)
class Difference:
    """A value that differs between runs.

    key: The dotted key of the plan, the name in the manifest, or the name of a scalar. The scalar of a flow has the
        prefix `flows.N.`, where N is the number of the flow.
    values: The value of each run, in the order of the runs. Numbers and text are as in the file, and None means missing
        or unknown.
    """

    part: Part
    key: str
    values: tuple[Any, ...]

    @property
    def change_ratio(self) -> float | None:
        """Return the relative change from the first run's number to the second run's number. None means that there are
        not exactly two numbers, or that the first is 0."""
        if len(self.values) != 2 or not all(_is_number(value) for value in self.values) or not self.values[0]:
            return None
        # If a scalar is near 0 in the first run, the quotient may be too large for a float. If the quotient is too
        # large, the result is None.
        change = self.values[1] / self.values[0] - 1
        return change if math.isfinite(change) else None


def differences(runs: Sequence[Run], parts: Sequence[Part] = tuple(Part)) -> list[Difference]:
    """Return all values that differ between the runs, sorted by part, and within a part in the order of the files.

    Differences in the cost of a run (CPU time, the machine) are ignored. Differences in the names of the scenario and
    its flows are ignored too.
    """
    found = []
    each = [dict(_facts(run, parts)) for run in runs]
    # The names are in the order of the files, so that equal runs give equal output; a set would have no order.
    names = list(dict.fromkeys(name for facts in each for name in facts))
    for part, key in sorted(names, key=lambda name: list(Part).index(name[0])):
        values = tuple(facts.get((part, key)) for facts in each)
        # The comparison is exact. Runs are repeatable to the bit, so even a difference in the last digit has a cause.
        if any(value != values[0] for value in values[1:]):
            found.append(Difference(part, key, values))
    return found


def causes(runs: Sequence[Run]) -> list[Difference]:
    """Return the differences between runs in their plans, modules, kernels and versions, but not in their results."""
    return differences(runs, (Part.PLAN, Part.MODULE, Part.KERNEL, Part.VERSION))


def condensed(found: Sequence[Difference]) -> list[Difference]:
    """Merge rows of `found` that say the same. If a list item (a flow, a station, a hop) is missing in some runs, it
    has only one row. A row for each of a flow's dozen keys would only repeat that the flow is missing."""
    rows: dict[tuple[Part, str], Difference] = {}
    for each in found:
        parts = each.key.split(".")
        place = next((number for number, part in enumerate(parts) if part.isdigit()), None)
        if place is None or place == len(parts) - 1 or None not in each.values:
            rows[each.part, each.key] = each
            continue
        item = ".".join(parts[: place + 1])
        before = rows.get((each.part, item))
        values = tuple(
            None
            if value is None
            else (f"{old}, {value}" if before is not None and (old := before.values[number]) else str(value))
            for number, value in enumerate(each.values)
        )
        rows[each.part, item] = Difference(each.part, item, values)
    return list(rows.values())


LONGEST_TEXT = 1000


def said(value: object) -> str | None:
    """Return the text that messages show for a value of a plan or manifest. Only the first digits of a hash are shown.
    A text of more than `LONGEST_TEXT` characters is cut. Its length and the first digits of its sha256 are appended, so
    that two long values that differ look different."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    is_hash = len(text) == 64 and all(digit in "0123456789abcdef" for digit in text)
    if len(text) > LONGEST_TEXT:
        digits = hashlib.sha256(text.encode(errors="backslashreplace")).hexdigest()[:12]
        return f"{text[:LONGEST_TEXT]}... ({len(text):,} characters, sha256 {digits})"
    return text[:12] if is_hash else text or '""'


def diff(a: Run | Path | str, b: Run | Path | str, *, all_metrics: bool = True) -> pd.DataFrame:
    """Return the differences between two runs as a data frame, one row per difference.

    Parameters
    ----------
    a, b : Run or path
    all_metrics : bool
        If true, every scalar that differs is listed. If false, only scalars that `leowarp run` prints at its end are
        listed.

    Returns
    -------
    DataFrame with the columns
        `part` ("plan", "module", "kernel", "version", "metric"), `key`, `a`, `b`, `change_ratio`. `a` and `b` are the
        values in the two files. A missing value is None. `change_ratio` is b / a - 1 for numbers.

    Raises
    ------
    TraceError
        If one of the two directories is not a complete run.
    """
    import pandas as pd

    runs = [run if isinstance(run, Run) else Run(run) for run in (a, b)]
    found = differences(runs)
    rows = [each for each in found if all_metrics or each.part is not Part.METRIC or is_of_overview(each.key)]
    return pd.DataFrame({
        "part": [str(row.part) for row in rows], "key": [row.key for row in rows],
        "a": pd.Series([row.values[0] for row in rows], dtype=object),
        "b": pd.Series([row.values[1] for row in rows], dtype=object),
        "change_ratio": pd.Series([row.change_ratio for row in rows], dtype="Float64"),
    })  # fmt: skip


def is_of_overview(key: str) -> bool:
    """Return whether `leowarp run` and `leowarp compare` print a metric."""
    of_flow = re.fullmatch(r"flows\.\d+\.(.+)", key)
    scalar = scalars.RUN_SCALARS.get(key) if of_flow is None else scalars.FLOW_SCALARS.get(of_flow[1])
    return scalar is not None and scalar.overview is not None


def _facts(run: Run, parts: Sequence[Part]) -> Iterator[tuple[tuple[Part, str], Any]]:
    if Part.PLAN in parts or Part.MODULE in parts:
        for key, value in _leaves(run.document):
            part = Part.MODULE if key.startswith(_OF_MODULES) else Part.PLAN
            if key not in _NAMES and not _names_a_flow(key) and part in parts:
                yield (part, key), value
    # While a run is being written, it has no manifest.
    manifest = run.manifest if (run.path / layout.MANIFEST).exists() else {}
    if Part.KERNEL in parts:
        for name in _OF_KERNEL:
            yield (Part.KERNEL, f"kernel.{name}"), (manifest.get("kernel") or {}).get(name)
    if Part.VERSION in parts:
        yield (Part.VERSION, "leowarp_version"), manifest.get("leowarp_version")
        # The git commit is not compared, because two commits may differ only in documentation.
        yield (Part.VERSION, "package_sha256"), manifest.get("package_sha256")
        yield (Part.VERSION, "agent_sha256"), (manifest.get("agent") or {}).get("agent_sha256")
    if Part.METRIC in parts:
        summary = run.summary
        for key, value in scalars.flat({key: value for key, value in summary.items() if key != "flows"}).items():
            if key not in (*_NAMES, *_COSTS):
                yield (Part.METRIC, key), value
        for number, flow in enumerate(summary["flows"]):
            for key, value in scalars.flat(flow).items():
                # Keys of a flow that are in the plan are compared as a part of the plan.
                if key not in _OF_FLOWS_PLAN:
                    yield (Part.METRIC, f"flows.{number}.{key}"), value


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value of a nested document with its dotted key, in the notation of `--set`. A list of plain values
    counts as one value."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        for number, inner in enumerate(value):
            yield from _leaves(inner, f"{key}.{number}")
    else:
        yield key, value


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_NAMES = ("name", "schema")
_names_a_flow = re.compile(r"flows\.\d+\.name").fullmatch
_COSTS = ("cpu_s", "wall_s")
_OF_MODULES = ("modules.", "guest.cc_modules")
_OF_KERNEL = ("linux_version", "source", "source_sha256", "config_sha256", "linux_sha256", "compiler")
_OF_FLOWS_PLAN = ("flow", "name", "kind", "source", "destination", "congestion_control")
