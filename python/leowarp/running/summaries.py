# SPDX-License-Identifier: Apache-2.0
"""Makes many runs and keeps only their summaries, as for a study of thousands of runs.

The summary has the same numbers as a run directory. `leowarp.run(plan)` repeats a run and writes its directory.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base.errors import LeowarpError
from leowarp.running.garbage import rarely_collected
from leowarp.running.one import run
from leowarp.running.street import judged, prepared

if TYPE_CHECKING:
    from leowarp.guest import GuestImage
    from leowarp.scenario import Plan


@dataclass(frozen=True)
class Made:
    """The result of one run.

    summary: The content of `summary.json`. None means that the run failed.
    costs: A dict with `virtual_s, wall_s, cpu_s, guest_cpu_s, host_cpu_s, guest_peak_memory_bytes`.
    """

    index: int
    summary: dict[str, Any] | None
    costs: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    error: LeowarpError | None = None


def make(plans: Sequence[Plan], scratch: Path, *, out: Sequence[Path | None] | None = None) -> Iterator[Made]:
    """Make a run of each plan, one after another.

    scratch: The directory in which the guests work. The caller may delete it at the end.
    out: The run directory to write for each plan. None means that only the summary is kept.
    Yields: The result of each run, in the order of the plans. If a run failed, its result has an `error`.
    """
    # Images are cached by kernel, because checking the files of kernel and agent takes as long as a small run.
    images: dict[str, GuestImage] = {}
    for index, plan in enumerate(plans):
        kept = None if out is None else out[index]
        try:
            if kept is not None:
                whole = run(plan, out=kept, force=True, report=False, progress=False)
                yield Made(index, whole.summary, whole.manifest["costs"], list(whole.warnings))
                continue
            yield _summed(index, plan, images, scratch / "run")
        except LeowarpError as error:
            yield Made(index, None, error=error)


@rarely_collected()
def _summed(index: int, plan: Plan, images: dict[str, GuestImage], directory: Path) -> Made:
    """Make a run in the working directory `directory`, and compute its summary from the records in memory."""
    from leowarp import guest, metrics, trace

    guest.demand_trust(plan)
    guest.check_programs(plan)
    guest.check_fits(plan)
    image = images.get(plan.guest.kernel) or guest.guest_image(plan.guest)
    images[plan.guest.kernel] = image
    guest.check_fits(plan, image.kernel_facts)
    watch = trace.Stopwatch()
    # The directory is emptied, because the guest would otherwise see files of the previous run.
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    given = prepared(plan)
    done = guest.run(image, plan, given.timeline, directory)
    recorded = trace.read_output(done.out_dir, done.out_dir.with_name("in") / "setup.json")
    tables = metrics.tables_of(recorded, routes=given.routes, timeline=given.timeline, where=f"run {index}")
    numbers, warnings = judged(plan, tables, given, done, image.kernel_facts)
    costs = watch.costs(numbers.end_ns / 1e9, done.cpu_s, done.peak_memory_bytes)
    summary = numbers.with_cost(cpu_s=costs["cpu_s"], wall_s=costs["wall_s"]).summary
    return Made(index, summary, costs, warnings)
