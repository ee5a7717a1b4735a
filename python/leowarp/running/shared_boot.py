# SPDX-License-Identifier: Apache-2.0
"""Many small runs, several in one boot, of which only the summary stays: what a study of thousands is made of.

A run gives the same in each place of a batch and by itself (design/interfaces.md, section 11): any of them can be made
again as a whole run directory, `leowarp.run(plan)`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.errors import GuestError, LeowarpError
from leowarp.running.garbage import rarely_collected
from leowarp.running.one import run
from leowarp.running.street import Prepared, judged, prepared

if TYPE_CHECKING:
    from leowarp.guest import GuestImage, GuestResult
    from leowarp.scenario import Plan

QUEUES_OF_EACH_RUN = frozenset(("fifo", "codel"))
"""Queue disciplines of which nothing is older than the run's start: timers of pie, fq_pie and red begin when they are
made, before it by another time in each place of a boot. fq_codel and cake are not known to be free of such things: the
key of their hashes is drawn once a run (guest/draws/draws.h), what else they keep was not looked at."""


@dataclass(frozen=True)
class Made:
    """What became of one run.

    Attributes
    ----------
    index : int
        Its place among the plans.
    summary : dict or None
        As in `summary.json`; None if it failed.
    costs : dict
        `virtual_s, wall_s, cpu_s, guest_cpu_s, host_cpu_s, guest_peak_memory_bytes`; what a batch spent in its guest is
        shared out equally, and `batch_runs` says among how many.
    warnings : list of str
    error : LeowarpError or None
    """

    index: int
    summary: dict[str, Any] | None
    costs: dict[str, Any] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    error: LeowarpError | None = None


def shareable(plan: Plan) -> bool:
    """Whether a plan's run may share a boot: nothing that it meets is older than the run, and the kernel is ours, whose
    clock does not tell how long ago it was booted, and whose random numbers begin anew with each run
    (guest/draws/draws.c). What a module of one's own keeps nobody knows.

    With a clock of coarser steps than one ns the second run of a boot differed from the same run alone, by 14 ns in the
    first packet that was dropped and by whole windows in the end (design/clock.md).
    """
    from leowarp import media

    is_ours = plan.guest.kernel == "default" and not plan.guest.cc_modules
    # As little is known of sch_fq.
    paced = any(host.pacing == "fq" for host in plan.hosts)
    # Programs leave what they like behind.
    runs_programs = any(flow.kind == "program" for flow in plan.flows)
    return (
        is_ours
        and not runs_programs
        # How long neighbours that are resolved stay reachable is drawn again from time to time (neigh_periodic_work,
        # net/core/neighbour.c), counted from the boot.
        and plan.network.neighbours == "static"
        and media.planned(plan).queue_disciplines() <= QUEUES_OF_EACH_RUN
        and not paced
    )


def make(
    plans: Sequence[Plan],
    scratch: Path,
    *,
    kernel: Path | str | None = None,
    out: Sequence[Path | None] | None = None,
    on_progress: Callable[[int, int | None], None] = lambda index, virtual_ns: None,
) -> Iterator[Made]:
    """The run of each plan; those that may share a boot do.

    Parameters
    ----------
    plans : sequence of Plan
    scratch : path
        Where the guests work; nothing that is needed afterwards stays there.
    kernel : path, optional
        In place of the plans' own.
    out : sequence of path or None, optional
        For each plan a directory to keep its whole run in, or None.
    on_progress : callable
        Called now and then with the place of the run under way and its clock.

    Yields
    ------
    made : Made
        In the order in which runs end, each once. A run that fails is one with an `error`.

    Raises
    ------
    GuestError
        If a guest ends before its first run, and does not say why.
    """
    from leowarp.guest import guest_image

    # Plans of one `boot()` differ in nothing that the kernel is told at its start; each group is a series of boots.
    kept = list(out) if out is not None else [None] * len(plans)
    groups: dict[str, list[int]] = {}
    for index, plan in enumerate(plans):
        # A run that is kept needs a directory of its own, and of a kernel of one's own nobody knows what its clock
        # tells.
        if kept[index] is not None or kernel is not None or not shareable(plan):
            yield _whole(index, plan, kernel, kept[index] or Path(scratch) / "run")
        else:
            groups.setdefault(plan.boot(), []).append(index)
    for indices in groups.values():
        # One for the group: plans of one `boot()` have the guest's key values in common.
        image = guest_image(plans[indices[0]].guest)
        while indices:
            left = yield from _boot(image, plans, indices, Path(scratch), on_progress)
            # Each boot must take at least one run off the list, or this would go on for ever.
            if len(left) == len(indices):
                raise GuestError(f"the guest ended before the first of {len(left)} runs, without a reason")
            indices = left


def _whole(index: int, plan: Plan, kernel: Path | str | None, out: Path) -> Made:
    """A run with a boot and a directory of its own; its `costs` are the manifest's, with `batch_runs` = 1."""
    try:
        made = run(plan, out=out, kernel=kernel, force=True, report=False, progress=False)
    except LeowarpError as error:
        return Made(index, None, error=error)
    return Made(index, made.summary, {**made.manifest["costs"], "batch_runs": 1}, list(made.warnings))


def _boot(
    image: GuestImage, plans: Sequence[Plan], indices: list[int], scratch: Path,
    on_progress: Callable[[int, int | None], None],
) -> Generator[Made, None, list[int]]:  # fmt: skip
    """One boot; gives the places of the runs whose turn did not come."""
    from leowarp import guest

    ready, failed = [], []
    for index in indices:
        began_s = time.process_time()
        try:
            given = prepared(plans[index])
        except LeowarpError as error:
            failed.append(Made(index, None, error=error))
            continue
        ready.append((index, given, time.process_time() - began_s))
    # What cannot be prepared is told before the boot: it will not take part in it.
    yield from failed
    if not ready:
        return []
    results = guest.run_batch(
        image,
        [(plans[index], given.timeline) for index, given, _ in ready],
        scratch / "batch",
        lambda progress, number: on_progress(ready[number][0], progress.virtual_ns),
    )
    left = []
    for number, ((index, given, spent_s), result) in enumerate(zip(ready, results, strict=True)):
        # None: the guest ended before this run's turn, by the fault of one before it, which has an error.
        if result is None:
            left.append(index)
        elif isinstance(result, LeowarpError):
            yield Made(index, None, error=result)
        else:
            setup = scratch / "batch" / "in" / f"{number:04d}" / "setup.json"
            yield _summed(index, plans[index], given, result, setup, spent_s, image, len(ready))
    return left


@rarely_collected()
def _summed(
    index: int, plan: Plan, given: Prepared, result: GuestResult, setup: Path, spent_s: float, image: GuestImage,
    batch_runs: int,
) -> Made:  # fmt: skip
    """The summary and the costs of a run whose records lie in the batch's directory; they are read, and not kept."""
    from leowarp import metrics, trace

    began_s = time.process_time()
    try:
        recorded = trace.read_output(result.out_dir, setup)
        tables = metrics.tables_of(recorded, routes=given.routes, timeline=given.timeline, where=f"run {index}")
        judgement = judged(plan, tables, given, result, image.kernel_facts)
    except LeowarpError as error:
        return Made(index, None, error=error)
    # Of both halves of the street, before the boot and after it; the boot itself is the guest's.
    host_cpu_s = spent_s + time.process_time() - began_s
    costs = {
        "virtual_s": judgement.metrics.end_ns / 1e9,
        "wall_s": result.wall_s + host_cpu_s,
        "cpu_s": result.cpu_s + host_cpu_s,
        "guest_cpu_s": result.cpu_s,
        "host_cpu_s": host_cpu_s,
        "guest_peak_memory_bytes": result.peak_memory_bytes,
        "batch_runs": batch_runs,
    }
    summary = judgement.metrics.with_cost(cpu_s=costs["cpu_s"], wall_s=costs["wall_s"]).summary
    return Made(index, summary, costs, judgement.warnings)
