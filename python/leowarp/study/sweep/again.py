# SPDX-License-Identifier: Apache-2.0
"""Repeat one run of a study as a complete run directory, and compare its scalars with the stored row."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import leowarp
from leowarp.base import layout
from leowarp.base.errors import ScenarioError, TraceError
from leowarp.base.progress import OnProgress
from leowarp.running.writing import write_plan
from leowarp.study.sweep.plans import PLANS, input_of, read_plans, refuse_strange
from leowarp.study.sweep.rows import COSTS, FAILED, flat
from leowarp.study.sweep.status import row_of_run


@dataclass(frozen=True)
class MadeAgain:
    """A repeated run. Its scalars are compared with the stored row of the study.

    scalars: All scalars except the costs, as (stored, now).
    origin: The checksums and versions of kernel, agent and leowarp that changed since the stored run, as (stored, now).
        If `origin` is empty, the two values of each scalar must agree to the last bit.
    """

    path: Path
    scalars: dict[str, tuple[Any, Any]]
    origin: dict[str, tuple[str, str]]

    @property
    def differences(self) -> dict[str, tuple[Any, Any]]:
        """Return the scalars whose stored and new values differ."""
        return {name: pair for name, pair in self.scalars.items() if not _same(*pair)}


def run_again(
    folder: Path | str, run_id: str, out: Path | str, *, force: bool = False, report: bool = True,
    progress: bool | OnProgress = True, trust: bool = False,
) -> MadeAgain:  # fmt: skip
    """Repeat one run of a study. The parameters `out` to `trust` are those of `leowarp.run`, and so are further errors.

    Raises ScenarioError if the study has no run with this id, or if the stored run failed.
    Raises TraceError if the directory is not a study's directory, or if it is damaged.
    """
    folder = Path(folder)
    refuse_strange(folder)
    row = row_of_run(folder, run_id)
    if row["status"] == FAILED:
        raise ScenarioError(
            f"the run {run_id} failed, so there is nothing to compare with: {row['error']}",
            hint=f"leowarp study {folder} --retry-failed makes failed runs again",
        )
    # The run may belong to an earlier version of the study file.
    run = next(iter(read_plans(folder, run_id)), None)
    if run is None:
        raise TraceError(
            f"the study {folder} has a result of the run {run_id}, but its {PLANS} has no plan of it",
            hint="take the file back from where the directory was copied, or start the study again with its study file",
        )
    with tempfile.TemporaryDirectory(prefix="leowarp-") as scratch:
        inputs = {name: input_of(folder, name) for name in run.inputs}
        # The stored plan is used, because the study file may have changed since the run was made.
        write_plan(Path(scratch), run.plan, inputs)
        plan = Path(scratch) / layout.PLAN
        made = leowarp.run(plan, (), out, force=force, report=report, progress=progress, trust=trust)
    # Costs are left out, because they differ at each execution.
    now = {name: value for name, value in flat(made.summary).items() if name not in COSTS}
    # A scalar with the name of another column (such as `seed`) is in `summary_...`.
    stored = {name: row.get(f"summary_{name}", row.get(name)) for name in now}
    manifest = made.manifest
    origin = {
        "kernel_sha256": manifest["kernel"]["linux_sha256"],
        "agent_sha256": manifest["agent"]["agent_sha256"],
        "leowarp_version": manifest["leowarp_version"],
    }
    return MadeAgain(
        path=made.path,
        scalars={name: (stored[name], now[name]) for name in now},
        origin={name: (row[name], value) for name, value in origin.items() if row[name] != value},
    )


def _same(stored: Any, now: Any) -> bool:
    """Return whether two values of a scalar are equal to the last bit. Unlike in Python, nan equals nan here."""
    return bool(stored == now or (stored != stored and now != now))
