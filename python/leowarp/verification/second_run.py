# SPDX-License-Identifier: Apache-2.0
"""Make a second run of a run's plan, and compare both runs stage by stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from leowarp.base.checksums import names_below
from leowarp.base.layout import PLAN
from leowarp.base.progress import OnProgress
from leowarp.crosscheck import Findings, crosscheck
from leowarp.results.run import Run
from leowarp.running.one import run
from leowarp.trace import is_of_this_version, maker_of
from leowarp.verification.comparing import in_words
from leowarp.verification.pair import Pair
from leowarp.verification.stages import DRAWN_FROM, STAGES, Stage, stage_of
from leowarp.verification.verdicts import Found, StageFound, Verdict, first_difference


@dataclass(frozen=True)
class SecondRun:
    """The findings from the comparison of a run with a second run of its plan.

    stages: The findings in the order of the stages, without stages of which neither run has files.
    origin: The entries about software and machine that differ between the two manifests, as (then, now).
    cures: The findings about the tables of cures, unless the traces differ.
    """

    stages: list[StageFound]
    origin: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    cures: dict[str, Findings] = field(default_factory=dict)

    @property
    def is_right(self) -> bool:
        """False if there is an unexpected difference, or an error in the tables of cures. Otherwise True."""
        return first_difference(self.stages) is None and not any(found.wrong for found in self.cures.values())


def second_run_of(
    path: Path, scratch: Path, *, out: Path | None = None, kernel: Path | str | None = None, trust: bool = False,
    progress: bool | OnProgress = True,
) -> SecondRun:  # fmt: skip
    """Run a plan again and compare the results.

    scratch: An empty directory.
    out: The directory in which the second run is stored. The default is a temporary directory below `scratch`.
    """
    # An incomplete run, such as one without a summary, is compared as far as its files permit.
    first = Run(path, complete=False)
    # The second run uses only the plan and inputs in the directory.
    again = run(
        first.path / PLAN, (), out or scratch / "run", kernel=kernel, report=False, progress=progress, trust=trust
    )
    origin = origin_of(first.manifest, again.manifest)
    stages = stages_of(first, again, scratch)
    differs = first_difference(stages)
    # Two identical runs may both be wrong, so the tables of cures are also computed without the guest. If the traces
    # differ, the tables may not even be readable, so the tables of cures are not checked.
    is_same = differs is None or differs.stage not in DRAWN_FROM
    return SecondRun(stages, origin, crosscheck(first) if is_same else {})


def stages_of(first: Run, again: Run, scratch: Path) -> list[StageFound]:
    """Return the findings for each compared stage of which one of the runs has files. The second run has no report.
    Pages are drawn again in the empty directory `scratch`."""
    pair = Pair(first, again, scratch)
    names = sorted({*names_below(first.path), *names_below(again.path)})
    found: list[StageFound] = []
    for stage in STAGES:
        mine = [name for name in names if stage_of(name) is stage]
        if stage.compare is None or not mine:
            continue
        differs = first_difference(found)
        if stage.is_drawn and differs is not None and differs.stage in DRAWN_FROM:
            why = (f"it is drawn from the {differs.stage}, which differs",)
            found.append(StageFound(stage.name, tuple(Found(name, Verdict.NOT_COMPARED, why) for name in mine)))
        else:
            found.append(StageFound(stage.name, tuple(_judged(pair, stage, name) for name in mine)))
    return found


def origin_of(first: Mapping[str, Any], again: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Return the entries about software and machine that differ between two manifests, as (then, now), by dotted
    name."""
    pairs = {
        ".".join(filter(None, (part, name))): tuple(
            (manifest.get(part) or {}).get(name) if part else manifest.get(name) for manifest in (first, again)
        )
        for part, name in (
            *_ORIGIN,
            *(("python", name) for name in {**(first.get("python") or {}), **(again.get("python") or {})}),
        )
    }
    return {name: (then, now) for name, (then, now) in pairs.items() if then != now}


_ORIGIN = (
    ("", "leowarp_version"), ("", "package_sha256"), ("kernel", "linux_version"), ("kernel", "linux_sha256"),
    ("agent", "agent_sha256"), ("host", "cpu_model"),
)  # fmt: skip


def _judged(pair: Pair, stage: Stage, name: str) -> Found:
    assert stage.compare is not None
    found = stage.compare(pair, name)
    if found.verdict is not Verdict.DIFFERS:
        return found
    if not stage.is_repeatable:
        return replace(found, verdict=Verdict.NOT_REPEATABLE)
    if stage.is_of_version and not is_of_this_version(pair.manifest, name):
        made = f"made by {in_words(maker_of(pair.manifest, name))}"
        return replace(found, verdict=Verdict.OF_ANOTHER_VERSION, why=(made, *found.why))
    return found
