# SPDX-License-Identifier: Apache-2.0
"""Makes a group of runs of one scenario with several seeds. The runs use as many processes as there are cores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError
from leowarp.base.layout import PLAN, default_directory
from leowarp.base.progress import OnProgress
from leowarp.base.recorded import read_manifest, why_incomplete
from leowarp.guest import GuestImage, check_fits
from leowarp.results.replicates import Group, directories, open_group, seeds_of
from leowarp.running.many import Job, run_many
from leowarp.running.street import built_image
from leowarp.scenario import plan_of
from leowarp.version import VERSION


def run_seeds(
    scenario: Path | str, seeds: str | Sequence[int], set: Mapping[str, Any] | Sequence[str] = (),
    out: Path | str | None = None, *, at_once: int | None = None, kernel: Path | str | None = None,
    force: bool = False, report: bool = False, progress: bool | OnProgress = True, trust: bool = False,
    on_standing: Callable[[Path], None] = lambda path: None,
) -> Group:  # fmt: skip
    """Make the runs of a scenario with several seeds, in `OUT/seed-1` and so on. Runs that already exist are kept.

    Parameters
    ----------
    scenario : path
        A scenario or plan file, or a run directory.
    seeds : str or sequence of int
        "1..10", "1,2,5", or a sequence of seeds; at least two different seeds.
    set : mapping or sequence of "KEY=VALUE"
        The same as for `leowarp.run`. The key `run.seed` is not allowed.
    out : path, optional
        The directory of the group. The default is `runs/<name>-seeds-<hash of the plan>`.
    at_once, kernel, force, report, progress, trust
        The same as for `leowarp.run_many`.
    on_standing : callable
        A function that is called with the directory of a run that need not be made again. The run in this directory is
        complete and has the same plan, kernel and agent.

    Raises
    ------
    ScenarioError
        If the seeds are not at least two different numbers.
    LeowarpError
        If a run failed, its error is raised after all runs have ended (see `leowarp.run_many`). If the call is repeated
        with the same arguments, only the missing runs are made.
    """
    chosen = seeds_of(seeds if isinstance(seeds, str) else ",".join(map(str, seeds)))
    keys = [each.partition("=")[0].strip() for each in set]
    if "run.seed" in keys:
        raise ScenarioError(
            f"cannot run seeds {seeds} and set run.seed too: each run has a seed of its own",
            hint="leave one of the two out",
        )
    # The name and the kernel are the same for all seeds, so they are taken from the first seed's plan.
    plan = plan_of(scenario, _with_seed(set, chosen[0]), kernel)
    target = Path(out) if out is not None else default_directory(f"{plan.name}-seeds", plan.to_toml())
    if (why := plainfiles.why_not_plain(target)) is not None:
        raise ScenarioError(f"cannot write the runs to {target}: {why}", hint="choose another directory with --out")
    # Runs inside the directory of another run would be foreign files there. `force` could then no longer replace that
    # other run.
    if (target / PLAN).exists():
        raise ScenarioError(
            f"cannot write the runs to {target}: it is a run itself", hint="choose another directory with --out"
        )
    jobs = [
        Job(scenario, path, _with_seed(set, seed), label=path.name)
        for seed, path in zip(chosen, directories(target, chosen), strict=True)
    ]
    check_fits(plan)
    # The guest is built here once, with a progress display. Otherwise, all workers would wait without a message.
    image = built_image(kernel or plan.guest, progress)
    todo = []
    for job in jobs:
        if not force and stands(job, kernel, image):
            on_standing(Path(job.out))
        else:
            todo.append(job)
    # Without `force`, `run_many` replaces incomplete run directories, and raises ScenarioError for a complete run of
    # another plan, kernel or version.
    run_many(todo, at_once=at_once, kernel=kernel, force=force, report=report, progress=progress, trust=trust)
    return open_group(target)


def stands(job: Job, kernel: Path | str | None, image: GuestImage) -> bool:
    """Return whether the job's run already exists. Its directory must contain a complete run with the same plan, kernel
    and agent.

    Plans are compared as text. Equal texts mean equal runs, because a plan contains all default values. If a newer
    version of leowarp adds a key, the text is different, and the existing run does not count.
    """
    if why_incomplete(Path(job.out)) is not None:
        return False
    manifest = read_manifest(Path(job.out))
    return (
        (Path(job.out) / PLAN).read_text(encoding="utf-8") == plan_of(job.scenario, job.set, kernel).to_toml()
        # For the same plan, another version or kernel may give other numbers, so a run of another version or kernel is
        # repeated.
        and manifest.get("leowarp_version") == VERSION
        and manifest.get("kernel") == image.kernel_facts
        and manifest.get("agent") == image.agent_facts
    )


def _with_seed(set: Mapping[str, Any] | Sequence[str], seed: int) -> Mapping[str, Any] | Sequence[str]:
    return {**set, "run.seed": seed} if isinstance(set, Mapping) else [*set, f"run.seed={seed}"]
