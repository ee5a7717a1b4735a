# SPDX-License-Identifier: Apache-2.0
"""The street: a scenario implies an ephemeris, that implies routes, those imply a timeline, the guest turns that into
a trace, a trace has metrics, metrics make a report. The only file that names every room."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.progress import OnProgress, Progress, shown
from leowarp.rundir import INPUTS, PLAN, ROUTES, TIMELINE, TRACE, Writing

if TYPE_CHECKING:
    from leowarp.result import Run
    from leowarp.scenario import Plan


def run(
    scenario: Path | str | Plan, set: Mapping[str, Any] | None = None, out: Path | str | None = None, *,
    kernel: Path | str | None = None, force: bool = False, report: bool = True, progress: bool | OnProgress = True,
) -> Run:  # fmt: skip
    """The run of a scenario (a file or a plan): every stage, into a new run directory.

    Parameters
    ----------
    set : mapping of str to value
        Dotted keys and what replaces them: `{"run.duration": "60 s", "flows.0.congestion_control": "bbr"}`.
    out : path, optional
        The run directory; `runs/<name>-<hash of the plan>` if not given. `force`: replace a complete run there.
    kernel : path, optional
        A kernel tree or binary in place of the plan's.
    report : bool
        Whether to make figures and page (`leowarp report RUN` can do it later).
    progress : bool or callable
        True: a display on stderr; a callable gets each `leowarp.Progress`.

    Raises
    ------
    ScenarioError, HostError, GuestError, TraceError
        The directory is then marked incomplete, with the reason in its file `INCOMPLETE`.
    """
    from leowarp import ephemeris, guest, metrics, routes, scenario as scenarios, timeline, trace  # noqa: I001
    from leowarp import report as reports
    from leowarp.result import Run

    with shown(progress) as show:
        plan = scenario if isinstance(scenario, scenarios.Plan) else scenarios.resolve(scenarios.load(scenario, set or {}))
        raise NotImplementedError
