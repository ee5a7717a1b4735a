# SPDX-License-Identifier: Apache-2.0
"""Numbers of a run that are already known, so that its pages need not read and compute them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leowarp.base.layout import MANIFEST, SUMMARY

if TYPE_CHECKING:
    from leowarp.metrics import Metrics
    from leowarp.results.run import Run
    from leowarp.results.run_tables import RunTables
    from leowarp.scenario import Plan

MANY_FLOWS = 100
"""From this number of flows on, pages use the scalars that were stored when the run was made. Computing them takes 6 ms
per flow."""


def known(run: Run, plan: Plan, numbers: Metrics) -> Run:
    """The run with this plan and these numbers, which the caller already has."""
    # The known values are stored where the cached properties would store them.
    vars(run).update(plan=plan, numbers=numbers, tables=numbers.tables)
    return run


def stored_scalars(run: RunTables) -> dict[str, Any] | None:
    """The scalars of a run of many flows, from `summary.json`; None if they have to be computed.

    The stored scalars are used only if the same sources and libraries wrote them, so they are the same.
    """
    is_large = len(run.document.get("flows", ())) > MANY_FLOWS
    return run.summary if is_large and is_of_these_sources(run) else None


def is_of_these_sources(run: RunTables) -> bool:
    """Whether the current sources and libraries made the run; False if it is not complete."""
    from leowarp.trace.manifest import library_versions
    from leowarp.version import sources

    if not ((run.path / MANIFEST).exists() and (run.path / SUMMARY).exists()):
        return False
    ours = {"package_sha256": sources()["package_sha256"], "python": library_versions()}
    return {name: run.manifest.get(name) for name in ours} == ours
