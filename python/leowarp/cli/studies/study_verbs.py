# SPDX-License-Identifier: Apache-2.0
"""The verb `study`: makes the runs of a study, and examines an existing study directory.

`run`, `status` and `run-again` are subcommands. `leowarp study FILE` means `leowarp study run FILE`
(`cli/studies/groups.py`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leowarp.base.errors import INTERRUPTED_EXIT_CODE, TraceError
from leowarp.cli import options
from leowarp.cli.output import note, print_json, print_table, say
from leowarp.cli.studies.groups import with_default

if TYPE_CHECKING:
    from leowarp.study import StudyResult
    from leowarp.study.sweep.display import OnStudyProgress
    from leowarp.study.sweep.status import StudyStatus

MOST_FAILURES = 10
"""The maximum number of failures that are printed, because thousands of runs may fail for the same reason."""


study_app = typer.Typer(
    cls=with_default("run"),
    no_args_is_help=True,
    help="Make many runs from one file: leowarp study FILE. After any interruption, the same command continues.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

StudyDirectory = Annotated[Path, typer.Argument(metavar="DIR", help="A study's directory.")]


@study_app.command()
def run(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A study (.toml), or the directory of a study that was started before."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Directory of the study; default: studies/NAME.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the runs that would be made and their estimated cost.")
    ] = False,
    retry_failed: Annotated[bool, typer.Option("--retry-failed", help="Make failed runs again.")] = False,
    trust: options.Trust = False,
    jobs: options.AtOnce = None,
    scheduler: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Let the workers of a Dask scheduler make the runs: tcp://HOST:8786"),
    ] = None,
    json_: options.Json = False,
    progress: options.Shown = options.ProgressKind.auto,
) -> None:
    """Make the missing runs of a study (the word `run` may be left out). The status is 5 if a run failed."""
    from leowarp import study as studies

    # A dry run is handled first, because it needs no kernel, no consent to code, and no directory.
    if dry_run:
        _dry_run(file, out, json_)
        return
    try:
        made = studies.run_study(
            file,
            out,
            at_once=jobs,
            scheduler=scheduler,
            progress=progress_of_study(progress),
            retry_failed=retry_failed,
            trust=trust,
        )
    except KeyboardInterrupt:
        # `interruptible` is not used here: the message must say that all finished runs are kept, and how to continue.
        again = f"leowarp study {file}" + (f" --out {out}" if out is not None else "")
        note(f"leowarp: interrupted; finished runs stay. To go on: {again}")
        sys.exit(INTERRUPTED_EXIT_CODE)
    _print_result(made, json_)
    # A study is complete even if runs failed; the exit status tells scripts about failures.
    if made.failures:
        raise typer.Exit(TraceError.exit_code)


@study_app.command()
def status(directory: StudyDirectory, json_: options.Json = False) -> None:
    """Show the progress of a study, its failures, and the process that is running the study."""
    from dataclasses import asdict

    from leowarp.study.sweep.status import study_status

    state = study_status(directory)
    if json_:
        # JSON has no path type.
        print_json(asdict(state) | {"path": str(state.path)})
        return
    print_table(f"{state.name} ({state.path})", ("quantity", "value"), _status_lines(state))
    for failure in state.failures[:MOST_FAILURES]:
        note(f"failed: {failure['run_id']} ({failure['run']}): {failure['error']}")
    _note_more(len(state.failures), state.path)


@study_app.command()
def run_again(
    directory: StudyDirectory,
    run_id: Annotated[str, typer.Argument(metavar="RUN_ID", help="As in the column run_id of the results.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The run directory to write.")],
    force: options.Force = False,
    trust: options.Trust = False,
    json_: options.Json = False,
    progress: options.Shown = options.ProgressKind.auto,
) -> None:
    """Make one run of a study again as a whole run directory. The exit status is 1 if a scalar of the new run differs
    from the stored row."""
    from leowarp.study.sweep.again import run_again as made_again

    made = made_again(directory, run_id, out, force=force, progress=options.progress_of(progress), trust=trust)
    for name, (stored, now) in made.origin.items():
        note(f"{name} is not that of the study: {stored} then, {now} now")
    if json_:
        print_json({
            "run": str(made.path),
            "identical": not made.differences,
            "scalars": len(made.scalars),
            "differences": {name: {"stored": pair[0], "now": pair[1]} for name, pair in made.differences.items()},
        })  # fmt: skip
    else:
        if made.differences:
            rows = [(name, *pair) for name, pair in made.differences.items()]
            print_table(f"{run_id} made again", ("scalar", "stored", "now"), rows)
        say(f"{len(made.scalars)} scalars, {len(made.differences)} differ; run: {made.path}")
    # The status is 1, as for `verify`, because the comparison failed although the run succeeded.
    raise typer.Exit(1 if made.differences else 0)


def _dry_run(file: Path, out: Path | None, as_json: bool) -> None:
    """Print the number of runs of a study and what they vary, without a run or a kernel build."""
    from leowarp.study.sweep.estimate import dry_run

    forecast = dry_run(file, out)
    if as_json:
        print_json(forecast)
        return
    rows = [(p["key"], p["column"], p["count"], p["values"]) for p in forecast["parameters"]]
    print_table(f"{forecast['study']}: {forecast['runs']:,} runs", ("parameter", "column", "values", "which"), rows,
                text=("column", "which"))  # fmt: skip
    print_table(None, ("quantity", "value"), [(line["quantity"], line["value"]) for line in forecast["costs"]])
    for run in forecast["first_runs"]:
        say(f"  {run}")
    if forecast["runs"] > len(forecast["first_runs"]):
        say(f"  ... and {forecast['runs'] - len(forecast['first_runs']):,} more")


def _print_result(made: StudyResult, as_json: bool) -> None:
    """Print the number of runs, the path of the results, and the messages of the first failures. Failures are printed
    on stderr, because with ``--json`` stdout has only the JSON object, which lists all failures."""
    # Only one column is read, because a large study has hundreds of columns.
    runs = len(made.table(["run_id"]))
    failures = {run_id: error.message for run_id, error in made.failures.items()}
    if as_json:
        print_json({
            "study": made.name, "path": str(made.path), "results": str(made.path / "results"), "report": str(made.page),
            "runs": runs, "failures": failures, "removed": made.removed,
        })  # fmt: skip
    else:
        rows = [("runs", f"{runs:,}"), ("failed", f"{len(failures):,}")]
        if made.removed:
            rows.append(("in the results, but no longer in the study", f"{made.removed:,}"))
        print_table(made.name, ("quantity", "value"), rows)
        say(f"Results: {made.path / 'results'}")
        say(f"Report:  {made.page}")
    for run_id, message in list(failures.items())[:MOST_FAILURES]:
        note(f"failed: {run_id}: {message}")
    _note_more(len(failures), made.path)


def _note_more(failed: int, path: Path) -> None:
    """Print the number of failures that were not listed, and the command that repeats failed runs."""
    if failed > MOST_FAILURES:
        note(f"... and {failed - MOST_FAILURES} more; all are in the results with status = failed")
    if failed:
        note(f"hint: leowarp study {path} --retry-failed makes them again")


def _status_lines(state: StudyStatus) -> list[tuple[str, str]]:
    lines = [
        ("runs", f"{state.total:,}"),
        ("done", f"{state.done:,}"),
        ("failed, of those done", f"{state.failed:,}"),
        ("CPU seconds so far", f"{state.cpu_s:,.1f}"),
        ("at work", state.holder or "nobody"),
    ]
    if state.removed:
        lines.append(("in the results, but no longer in the study", f"{state.removed:,}"))
    return lines


def progress_of_study(kind: options.ProgressKind) -> bool | OnStudyProgress:
    """Return the value for the argument `progress` of `run_study`, as `options.progress_of` does for a run."""
    from leowarp.study.sweep.display import json_lines

    return json_lines if kind is options.ProgressKind.json else kind is options.ProgressKind.auto
