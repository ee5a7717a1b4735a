# SPDX-License-Identifier: Apache-2.0
"""Verbs that boot the guest: run, demo, reproduce.

Each verb imports slow modules itself, so that `leowarp --help` does not wait for numpy, pandas and matplotlib.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

import leowarp
from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError, TraceError
from leowarp.cli import options
from leowarp.cli.output import draw_quickly, note, notes, print_error, print_json, print_table, say
from leowarp.results.run import Run
from leowarp.running.street import built_image


def run(
    file: options.ScenarioFile,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Run directory; default: runs/NAME-HASH.")] = None,
    set_: options.Settings = None,
    leave_out: options.LeaveOut = None,
    cc_module: options.CcModules = None,
    kernel: options.Kernel = None,
    force: options.Force = False,
    trust: options.Trust = False,
    report: Annotated[
        bool | None,
        typer.Option("--report/--no-report", help="Make figures and the page; with --seeds only if --report is given."),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="1..10", help="Make a group of runs, one per seed, for instance 1..10 or 1,2,5."),
    ] = None,
    jobs: options.AtOnce = None,
    json_: options.Json = False,
    progress: options.Shown = options.ProgressKind.auto,
) -> None:
    """Run a scenario and write a run directory. With --seeds, make one run per seed."""
    settings = options.settings(set_, cc_module, leave_out)
    if seeds is not None:
        from leowarp.cli.printed.group_tables import print_group, stays
        from leowarp.running.seeds import run_seeds

        group = run_seeds(
            file, seeds, settings, out, at_once=jobs, kernel=kernel, force=force, report=bool(report),
            progress=options.progress_of(progress), trust=trust, on_standing=stays,
        )  # fmt: skip
        print_group(group, json_)
        return
    if jobs is not None:
        raise ScenarioError(
            "--jobs is the number of runs at a time, and this is a single run", hint="add --seeds 1..10"
        )
    if report is not False:
        draw_quickly()
    result = leowarp.run(
        file, settings, out, kernel=kernel, force=force, report=report is not False,
        progress=options.progress_of(progress), trust=trust,
    )  # fmt: skip
    print_run(result, json_)


def demo(
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory of the three runs.")] = Path("runs/demo"),
    duration: Annotated[str, typer.Option(help="Virtual time of each run.")] = "1000 s",
    kernel: options.Kernel = None,
    jobs: options.AtOnce = None,
    force: options.Force = False,
    json_: options.Json = False,
) -> None:
    """Run Madrid to Tokyo with Reno, CUBIC and BBR, in parallel on all cores. Print a table and make a report."""
    from leowarp import report
    from leowarp.base.progress import of_figures, shown
    from leowarp.cli.printed import comparison, group_tables
    from leowarp.running.seeds import stands
    from leowarp.scenario.names.examples import example_file

    if (why := plainfiles.why_not_plain(out)) is not None:
        raise ScenarioError(f"cannot write the demo to {out}: {why}", hint="choose another directory with --out")
    scenario = example_file("madrid-tokyo.toml")
    made = [
        leowarp.Job(
            scenario,
            out / name,
            {"name": f"madrid-tokyo-{name}", "run.duration": duration, "flows.0.congestion_control": name},
            label=name,
        )
        # The order is from the oldest to the newest algorithm, as in README's table.
        for name in ("reno", "cubic", "bbr")
    ]
    # Each run is a separate process. The image is built before the runs, so that the build's progress is shown only
    # once.
    image = built_image(kernel or "default")
    todo = [job for job in made if force or not stands(job, kernel, image)]
    for job in made:
        if job not in todo:
            group_tables.stays(Path(job.out))
    # Complete runs of the same plan were excluded above; any other existing directory is unfinished or of another plan,
    # and is replaced.
    leowarp.run_many(todo, at_once=jobs, kernel=kernel, force=True, report=True, progress=True)
    runs = [leowarp.open(job.out) for job in made]
    with shown(True) as show:
        page = report.write_comparison(
            [job.out for job in made], out, title="Madrid to Tokyo: Reno, CUBIC, BBR", command="leowarp demo",
            on_figure=of_figures(show, out.name),
        )  # fmt: skip
    if json_:
        comparison.print_comparison_json(runs, page)
    else:
        comparison.print_comparison(runs)
        say(f"Report:      {page}")


def reproduce(
    study: Annotated[
        str,
        typer.Argument(
            metavar="STUDY",
            help="The study: frederiksen2024, torres2020, huston2024, tauran2018, or one of ours: cures, programs, "
            "gaps.",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Output directory; default: reproductions/STUDY.")
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(min=1, help="frederiksen2024: number of conditions under which its claims are checked, 1 to 9."),
    ] = None,
    duration: Annotated[
        str | None,
        typer.Option(
            help="frederiksen2024: length of every run, which replaces the study's; this makes a trial, not a "
            "reproduction."
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Make a part of the runs, in minutes. A later full reproduction reuses them, except for "
            "frederiksen2024, whose quick runs are shorter.",
        ),
    ] = False,
    fetch: Annotated[
        bool,
        typer.Option("--fetch", help="programs: build missing QUIC stacks from their registries."),
    ] = False,
    path: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="huston2024: a recording of a dish (irtt, ping, LeoReplayer, a table); sessions run over its replay.",
        ),
    ] = None,
    capacity: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="huston2024: capacity of that recording, if the recording does not contain it."
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="All studies but frederiksen2024 and programs: a Dask scheduler whose workers make the runs.",
        ),
    ] = None,
    kernel: options.Kernel = None,
    jobs: options.AtOnce = None,
    force: options.Force = False,
    json_: options.Json = False,
    progress: options.Shown = options.ProgressKind.auto,
) -> None:
    """Make all runs of a study, its figures and a verdict on each claim. The status is 5 if a run failed."""
    from leowarp import study as studies

    made = studies.reproduce(
        study, out, samples=samples, duration=duration, quick=quick, fetch=fetch, path=path, capacity=capacity,
        scheduler=scheduler, at_once=jobs, kernel=kernel, force=force, progress=options.progress_of(progress),
    )  # fmt: skip
    if json_:
        failures = {slug: error.message for slug, error in made.failures.items()}
        print_json(
            {
                "study": study,
                "path": str(made.path),
                "page": str(made.page),
                "claims": made.claims,
                "failures": failures,
                "cost": made.cost or None,
                "left_out": made.left_out,
            }
        )
    else:
        rows = [
            (
                claim["number"],
                claim["verdict"] + (", by construction" if claim["by_construction"] else ""),
                claim["says"],
                claim["measured"],
            )
            for claim in made.claims
        ]
        texts = ("verdict", "the study says", "measured here")
        print_table(study, ("claim", *texts), rows, text=texts)
        if made.cost:
            say(f"Cost:   {made.cost}")
        say(f"Report: {made.page}")
    for sentence in made.left_out:
        note(sentence)
    # Failures are printed last, below the table, because the user has to act on them.
    for slug, error in made.failures.items():
        note(f"the run {slug} failed:")
        print_error(error)
    if made.failures:
        raise typer.Exit(TraceError.exit_code)


def print_run(run: Run, as_json: bool) -> None:
    """Print the warnings of a new run, its most important numbers, and the commands that print further numbers."""
    from leowarp.cli.printed.tables import print_sections
    from leowarp.scalars.overview import overview

    notes("warning", run.warnings)
    if as_json:
        print_json(
            {
                "run": str(run.path),
                "summary": run.summary,
                "warnings": run.warnings,
                "costs": run.manifest["costs"],
                "report": None if run.report is None else str(run.report),
            }
        )
        return
    print_sections(overview(run.summary), rest=f"leowarp show {shlex.quote(str(run.path))} --metrics")
    say(f"Run:         {run.path}")
    if run.report is not None:
        say(f"Report:      {run.report}")
    say(f"All scalars: leowarp show {shlex.quote(str(run.path))} --metrics")
    sys.stdout.flush()
