# SPDX-License-Identifier: Apache-2.0
"""Makes one run, from a scenario to its report, with all stages in one function (`leowarp.run`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base.layout import GUEST, TRACE, default_directory
from leowarp.base.progress import OnProgress, Progress, building, of_figures, shown
from leowarp.results.run import Run, known
from leowarp.running.garbage import rarely_collected
from leowarp.running.street import judged, prepared
from leowarp.running.writing import Writing, write_plan

if TYPE_CHECKING:
    from leowarp.scenario import Plan


@rarely_collected()
def run(
    scenario: Path | str | Plan, set: Mapping[str, Any] | Sequence[str] = (), out: Path | str | None = None, *,
    kernel: Path | str | None = None, force: bool = False, report: bool = True, progress: bool | OnProgress = True,
    trust: bool = False,
) -> Run:  # fmt: skip
    """Run all stages of a scenario (a file or a plan), and write a run directory.

    Parameters
    ----------
    set : mapping of str to value, or sequence of "KEY=VALUE"
        The dotted scenario keys, each with its new value: `{"run.duration": "60 s", "flows.0.congestion_control":
            "bbr"}`.
    out : path, optional
        The path of the run directory. The default is `runs/<name>-<hash of the plan>`. With `force`, a complete run at
        this path is replaced.
    kernel : path, optional
        A kernel tree or binary to use instead of the plan's `guest.kernel`.
    report : bool
        Whether figures and page are made. If `progress` is True, stderr shows a display. If `progress` is a function,
        it is called with each `leowarp.Progress`.
    trust : bool
        If true, kernels and modules that a file names may run. The user need not have typed or accepted them.

    The function may raise any `LeowarpError`. After an error, the directory is marked as incomplete, with the reason in
    its file `INCOMPLETE`. If only the report fails, the run counts as complete. `leowarp report` can make the figures
    and the page later.
    """
    # These modules are imported here, so that commands that only read a plan do not import the guest's packages.
    from leowarp import guest, media, metrics, trace
    from leowarp.scenario import plan_of

    plan = plan_of(scenario, set, kernel)
    plan = plan.named_by_caller() if trust else plan
    # Consent is checked before anything is built, booted or written, because code that a file names may run only with
    # the user's consent.
    guest.demand_trust(plan)
    media.check(plan)
    guest.check_programs(plan)
    guest.check_fits(plan)
    target = Path(out) if out is not None else default_directory(plan.name, plan.to_toml())
    # `force` removes the old directory. Input files inside this directory, in a plan's own 00-inputs/, are therefore
    # read before the removal. All other input files are copied later, because a measurement may have 1 GiB.
    inside = target.resolve()
    inputs = {path.name: path.read_bytes() if path.resolve().is_relative_to(inside) else path for path in plan.inputs()}
    # The guest is built before the run directory is created, so that a failed build leaves no incomplete run.
    with building(progress) as built:
        image = guest.guest_image(plan.guest, on_message=built.message, on_progress=built.steps)
        guest.check_fits(plan, image.kernel_facts)
        guest.compile_modules(plan, image, built.message)
    # The costs are measured from here on: the build of a kernel is not a cost of this run, because all later runs use
    # the same kernel.
    watch = trace.Stopwatch()
    with shown(progress) as show:

        def stage(name: str, t_ns: int | None = None, wall_s: float = 0.0) -> None:
            """Report the beginning of a stage, or the guest's time within the stage."""
            show(Progress(target.name, name, t_ns or 0, plan.run.duration_ns, wall_s))

        with Writing(target, force=force) as directory:
            stage("timeline")
            write_plan(directory, plan.to_toml(), inputs)
            given = prepared(plan, directory)
            stage("guest")
            done = guest.run(
                image, plan, given.timeline, directory, lambda at: stage("guest", at.virtual_ns, at.wall_s)
            )
            stage("trace")
            trace.convert(done.out_dir, directory / TRACE, directory / GUEST / "in" / "setup.json")
            guest.keep_outputs(done.out_dir, directory)
            # At this stage, the guest's records are in Parquet files. Metrics and report read the Parquet files, so the
            # guest's own files are deleted.
            done.discard()
            stage("metrics")
            costs = watch.costs(done.end["virtual_ns"] / 1e9, done.cpu_s, done.peak_memory_bytes)
            numbers, warnings = judged(plan, metrics.read_tables(directory), given, done, image.kernel_facts)
            numbers = numbers.with_cost(cpu_s=costs["cpu_s"], wall_s=costs["wall_s"])
            numbers.write(directory)
            # The manifest is written last, because a directory with a manifest counts as a complete run (`Writing`).
            trace.write_manifest(directory, plan.run.seed, image.kernel_facts, image.agent_facts, warnings, costs)
        # The report is made after the run is complete. If the report fails, a run of hours is not lost, and `leowarp
        # report` can make the page later.
        if report:
            # Imported only here, because matplotlib takes 0.4 s to load. This is a fifth of a run of 2 s.
            from leowarp import report as reports

            # The report gets the plan and the metrics from here: reading and computing them again took half of the
            # report's time.
            reports.write_report(known(Run(target), plan, numbers), on_figure=of_figures(show, target.name))
        stage("done")
    return Run(target)
