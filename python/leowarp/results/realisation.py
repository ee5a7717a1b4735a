# SPDX-License-Identifier: Apache-2.0
"""The mobile channel of a run, recomputed. A run does not store its power series, because the plan determines it."""

from __future__ import annotations

import math
from pathlib import Path

from leowarp.base import layout
from leowarp.base.errors import TraceError
from leowarp.base.tables import runtables
from leowarp.media.mobile import described, realisation_of
from leowarp.scenario.schema import Mobile, Plan
from leowarp.timeline.channel import Realisation
from leowarp.timeline.metadata import CodewordSummary, TimelineMetadata


def realisation_of_run(path: Path, plan: Plan, end_ns: int) -> Realisation:
    """Return the mobile channel of a stored run, up to `end_ns`.

    Raises TraceError if the plan has no mobile channel, or if the computed codewords differ from those of the run's
    timeline.
    """
    if not isinstance(plan.medium, Mobile):
        raise TraceError(f"{path.name} has no mobile channel", "a run of a scenario with [mobile]")
    found = realisation_of(plan, plan.medium)
    known = _known(path)
    if known is not None and not _alike(known, described(plan.medium, found.outcomes)):
        raise TraceError(
            f"cannot make the mobile channel of {path.name} again: its timeline has another",
            "another version of leowarp made the run; make it again",
        )
    return found.until(end_ns)


def _known(path: Path) -> CodewordSummary | None:
    timeline = path / layout.TIMELINE
    return TimelineMetadata.of(runtables.read_schema(path, layout.TIMELINE)).harq if timeline.exists() else None


def _alike(known: CodewordSummary, made: CodewordSummary) -> bool:
    # Counts are exact, but a ratio of counts may differ in its last digit.
    ratios = ((known.loss_ratio, made.loss_ratio), (known.symbols_ratio, made.symbols_ratio))
    return (known.codewords, known.first_bits) == (made.codewords, made.first_bits) and all(
        math.isclose(a, b, rel_tol=1e-9) for a, b in ratios
    )
