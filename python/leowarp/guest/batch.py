# SPDX-License-Identifier: Apache-2.0
"""Several runs in one boot (design/interfaces.md, section 11)."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from leowarp.errors import GuestError, LeowarpError
from leowarp.guest.drive import GuestProgress, GuestResult, Spent, Watched, end_of, prepared
from leowarp.guest.image import GuestImage
from leowarp.guest.input import write_input
from leowarp.guest.modules import modules_of, put_modules
from leowarp.guest.standstill import Patience
from leowarp.layout import CONSOLE

if TYPE_CHECKING:
    import pyarrow as pa

    from leowarp.scenario import Plan


def run_batch(
    image: GuestImage,
    runs: Sequence[tuple[Plan, pa.Table]],
    directory: Path,
    on_progress: Callable[[GuestProgress, int], None] = lambda progress, number: None,
) -> list[GuestResult | LeowarpError | None]:
    """The records of each (plan, timeline), made one after the other by one guest.

    A boot costs more than a short run, so a study of many short runs shares boots. Each run starts where the kernel's
    timer wheel stands as at every other start (10 s + k 4.096 s after boot, design/clock.md), so that it gives the
    bytes that it gives alone.

    Parameters
    ----------
    image : GuestImage
    runs : sequence of (plan, timeline)
        Their plans have the guest's memory and parameters (`plan.guest`, `plan.sysctl`) in common.
    directory : Path
        Where the guest works; made, and emptied of what an earlier batch left. `out/0000`, `out/0001`, ... hold the
        records, `guest-console.txt` all that the guest printed.
    on_progress : callable
        Called a few times a second with the progress and the number of the run under way.

    Returns
    -------
    list
        Per run its result, why it failed, or None if the guest ended before the run's turn came. Processor and wall
        time of the boot are shared out equally among the runs that were made.

    Raises
    ------
    ValueError
        If the runs have not the guest's memory and parameters in common.
    ScenarioError, HostError
        As `write_input`, `modules_of` and `prepared`: before anything is booted.
    """
    first = runs[0][0]
    # One boot has one amount of memory and one set of parameters that the kernel takes for all namespaces.
    if any((plan.guest, plan.sysctl) != (first.guest, first.sysctl) for plan, _ in runs):
        raise ValueError("the runs of a batch must have the guest's memory and parameters in common")
    # As the agent looks for them: in/0000, in/0001, ... (design/interfaces.md, section 11).
    names = [f"{number:04d}" for number in range(len(runs))]
    shutil.rmtree(directory / "in", ignore_errors=True)
    for name, (plan, timeline) in zip(names, runs, strict=True):
        write_input(plan, timeline, directory / "in" / name)
    put_modules(modules_of(first, image), directory / "in")
    work = prepared(image, directory, first.guest.memory_bytes)
    for name in names:
        # hostfs shows the guest what is there; a directory for each run keeps one run's records from the next one's.
        (work / "out" / name).mkdir()
    watched = Watched(
        image,
        work,
        work / CONSOLE,
        # What the console may print grows with the virtual time of all runs together.
        sum(plan.run.duration_ns for plan, _ in runs),
        lambda progress: on_progress(progress, watched.run_number or 0),
        Patience(),
    )
    broken: LeowarpError | None = None
    culprit = -1
    spent = Spent(0, 0.0, 0.0, 0)
    try:
        # What the kernel draws before a run begins; each run begins its random numbers anew, by its own seed
        # (design/draws.md).
        spent = watched.run(first.run.seed, first.guest.memory_bytes)
    except GuestError as error:
        broken = error
    made = [number for number, name in enumerate(names) if (work / "out" / name / "end.json").exists()]
    tried = {*made, *(number for number in watched.errors if number is not None)}
    if len(tried) < len(runs):
        # The guest as a whole ended early, in the first run that has neither an end nor an error of its own.
        culprit = next(number for number in range(len(runs)) if number not in tried)
        broken = broken or watched.failure(spent) or GuestError(f"the guest ended in run {culprit} of its batch")
    results: list[GuestResult | LeowarpError | None] = []
    for number, name in enumerate(names):
        out = work / "out" / name
        if number in watched.errors:
            # An error that the agent itself reports is of this run alone; the guest goes on with the next one.
            results.append(watched.failure(spent, number))
        elif number not in tried:
            results.append(broken if number == culprit else None)
        else:
            try:
                end = end_of(out)
            except GuestError as error:
                results.append(error)
                continue
            # The host counts processor time of a process, not of a run.
            results.append(watched.result(out, end, spent, number, runs=len(tried)))
    return results
