# SPDX-License-Identifier: Apache-2.0
"""The verb `verify`: compares all files with the manifest, repeats the run, and compares it stage by stage."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leowarp.base.errors import ScenarioError
from leowarp.cli import options
from leowarp.cli.output import note, notes, print_json, print_table, say

if TYPE_CHECKING:
    from leowarp.verification.files import Files
    from leowarp.verification.second_run import SecondRun

MOST_FILES = 20
"""The maximum number of files whose names are printed. For further files, only their number is printed. With --json,
the output has all files."""

SAMPLE, SEED = 3, 1


def verify(
    path: Annotated[
        Path, typer.Argument(metavar="DIR", help="A run directory, or the directory of a study or reproduction.")
    ],
    files: Annotated[
        bool,
        typer.Option("--files", help="Only compare every file with its sha256 in the manifest; no guest is booted."),
    ] = False,
    sample: Annotated[
        int | None, typer.Option(min=0, help=f"Number of a study's runs that are run again; default: {SAMPLE}.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help=f"Seed that selects these runs; default: {SEED}.")] = None,
    kernel: options.Kernel = None,
    keep: Annotated[Path | None, typer.Option(help="Keep the second run in this directory.")] = None,
    trust: options.Trust = False,
    json_: options.Json = False,
    progress: options.Shown = options.ProgressKind.auto,
) -> None:
    """Check all files of a directory, run its plan once more, and compare the results. The status is 1 if anything
    differs.

    Each file is compared with its sha256 in the manifest. A second run is made. The second run's routes, timeline,
    trace, metrics, summary, figures and pages are compared with those of the first run.
    """
    from leowarp.verification import files as of_files
    from leowarp.verification.kinds import RUN, kind_of

    kind = kind_of(path)
    if kind == RUN and (sample is not None or seed is not None):
        raise ScenarioError(f"--sample and --seed choose runs of a study, and {path} is a run", hint="leave them out")
    if kind != RUN and (kernel is not None or keep is not None):
        raise ScenarioError(
            f"--kernel and --keep are for one run, and {path} is a {kind}",
            hint="leave them out, or name one of its run directories",
        )
    found = of_files.files_of(path)
    if not json_:
        _print_files(path, found)
    runs: dict[str, SecondRun] = {}
    # If the plan was changed, a run of the changed plan would be a different run. The run is therefore not repeated.
    if not files and found.why_not_rerun is None:
        shown = options.progress_of(progress)
        if kind == RUN:
            from leowarp.verification.second_run import second_run_of

            with tempfile.TemporaryDirectory(prefix="leowarp-verify-") as scratch:
                runs[str(path)] = second_run_of(
                    path, Path(scratch), out=keep, kernel=kernel, trust=trust, progress=shown
                )
        else:
            from leowarp.verification import samples

            for candidate in samples.chosen(path, SAMPLE if sample is None else sample, SEED if seed is None else seed):
                # Runs are repeated one after another, because a run directory may have hundreds of MB.
                with tempfile.TemporaryDirectory(prefix="leowarp-verify-") as scratch:
                    rerun = samples.rerun(candidate, Path(scratch), progress=shown, trust=trust)
                runs[candidate.name(path)] = rerun
    is_right = not found.wrong and all(again.is_right for again in runs.values())
    if json_:
        _print_json(kind, path, found, runs, is_right=is_right)
    else:
        for name, again in runs.items():
            _print_second_run(name, again)
        if runs:
            # The import is here, because `verify --files` must not wait for numpy and pandas.
            from leowarp.verification.stages import left_out

            print_table("left out, or only reported", ("what", "why"), left_out(kind), text=("why",))
        say(_verdict(found, runs))
    # If a check failed, the exit status is 1. It is not 5, because the directory itself could be read.
    raise typer.Exit(0 if is_right else 1)


def _print_files(path: Path, found: Files) -> None:
    wrong = list(found.wrong.items())
    say(f"{path}: {len(found.verdicts) - len(wrong):,} files are as manifest.json lists them, {len(wrong):,} are not")
    if wrong:
        print_table(None, ("file", "verdict"), wrong[:MOST_FILES], text=("verdict",))
    if len(wrong) > MOST_FILES:
        say(f"... and {len(wrong) - MOST_FILES:,} more; --json has all of them")


def _print_second_run(name: str, again: SecondRun) -> None:
    rows = [(stage.stage, len(stage.files), stage.verdict) for stage in again.stages]
    print_table(f"{name} and its second run", ("stage", "files", "verdict"), rows, text=("verdict",))
    for stage in again.stages:
        for why in stage.why[:MOST_FILES]:
            say(f"{stage.stage}: {why}")
    if again.cures:
        counts = [(name, found.checked, len(found.wrong), len(found.unknown)) for name, found in again.cures.items()]
        print_table("cures, recomputed", ("table", "compared", "wrong", "not known"), counts)
    notes("wrong", (sentence for found in again.cures.values() for sentence in found.wrong))
    for what, (then, now) in again.origin.items():
        note(f"made with another {what}: {then} then, {now} now")


def _verdict(found: Files, runs: Mapping[str, SecondRun]) -> str:
    """Return the last lines of the output: the files and stages that differ, or a sentence that there are none."""
    from leowarp.verification.verdicts import first_difference, unconfirmed

    lines = []
    if found.wrong:
        names = [f"{name} ({verdict})" for name, verdict in found.wrong.items()]
        more = f", and {len(names) - MOST_FILES:,} more" if len(names) > MOST_FILES else ""
        lines.append(f"NOT as it was written: {', '.join(names[:MOST_FILES])}{more}")
    if found.why_not_rerun is not None:
        lines.append("no second run: it would be another run")
    for name, again in runs.items():
        if (stage := first_difference(again.stages)) is not None:
            lines.append(f"NOT identical: the first stage that differs in {name} is {stage.stage}: {stage.why[0]}")
        if any(table.wrong for table in again.cures.values()):
            lines.append(f"NOT right: tables of cures of {name} say what cannot be")
        if stages := ", ".join(stage.stage for stage in unconfirmed(again.stages)):
            lines.append(f"not confirmed of {name}, for the reasons above: {stages}")
    if found.wrong or not all(again.is_right for again in runs.values()):
        return "\n".join(lines)
    good = "identical: the same plan gave the same bytes"
    return "\n".join([*lines, good if runs else "every file is as it was written; nothing was run"])


def _print_json(kind: str, path: Path, found: Files, runs: Mapping[str, SecondRun], *, is_right: bool) -> None:
    from leowarp.verification.stages import left_out

    print_json({
        kind: str(path),
        "identical": is_right,
        "verdict": _verdict(found, runs).split("\n"),
        "files": found.verdicts,
        "not_rerun": found.why_not_rerun,
        "second_runs": {name: _told(again) for name, again in runs.items()},
        "left_out": [{"what": what, "why": why} for what, why in left_out(kind)],
    })  # fmt: skip


def _told(again: SecondRun) -> dict[str, Any]:
    from leowarp.verification.verdicts import first_difference

    differs = first_difference(again.stages)
    return {
        "first_difference": None if differs is None else differs.stage,
        "stages": {
            stage.stage: {
                "verdict": stage.verdict,
                "files": {found.file: found.verdict for found in stage.files},
                "why": stage.why,
            }
            for stage in again.stages
        },
        "origin": {name: {"then": then, "now": now} for name, (then, now) in again.origin.items()},
        "cures": {name: asdict(found) for name, found in again.cures.items()},
    }
