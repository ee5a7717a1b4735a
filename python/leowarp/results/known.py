# SPDX-License-Identifier: Apache-2.0
"""Numbers of a run that are available already, so that pages about the run need not read and compute them again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leowarp.base.layout import MANIFEST, SUMMARY
from leowarp.results.run import Run

if TYPE_CHECKING:
    from leowarp.metrics import Metrics
    from leowarp.scenario import Plan

MANY_FLOWS = 100
"""From this number of flows on, pages use the scalars in `summary.json`, because computing them takes 6 ms per flow."""


def known(run: Run, plan: Plan, numbers: Metrics) -> Run:
    """The run with this plan and these numbers, which the caller has computed already."""
    # The values are stored under the names of the cached properties, which then return them.
    vars(run).update(plan=plan, numbers=numbers, tables=numbers.tables)
    return run


def numbers_to_draw(run: Run) -> Metrics:
    """The numbers of a run, as in `run.numbers`. If there are many flows, their scalars are read from `summary.json`.

    The stored scalars are used only if the current sources and libraries wrote them, so the numbers are the same.
    """
    from leowarp import metrics

    is_large = len(run.document.get("flows", ())) > MANY_FLOWS
    if "numbers" not in vars(run) and is_large and is_of_these_sources(run):
        known(run, run.plan, metrics.metrics(run.tables, run.plan, summary=run.summary))
    return run.numbers


def is_of_these_sources(run: Run) -> bool:
    """Whether the current sources and libraries computed the run; False if the run is not complete."""
    from leowarp.trace.manifest import library_versions
    from leowarp.version import sources

    if not ((run.path / MANIFEST).exists() and (run.path / SUMMARY).exists()):
        return False
    ours = {"package_sha256": sources()["package_sha256"], "python": library_versions()}
    return {name: run.manifest.get(name) for name in ours} == ours
