# SPDX-License-Identifier: Apache-2.0
"""The verb `exam`: one congestion control through every case, with verdicts."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leowarp.base.errors import ScenarioError
from leowarp.cli import options
from leowarp.cli.output import say

if TYPE_CHECKING:
    from leowarp.exam import Exam


def exam(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="A congestion control; with --cc-module that of the file's name."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Directory; exams/NAME if not given.")] = None,
    cc_module: options.CcModules = None,
    kernel: options.Kernel = None,
    case: Annotated[
        list[str] | None,
        typer.Option("--case", metavar="CASE", help="Only this case or suite (rfc9743, bbr, leo); may be repeated."),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Compare with an earlier exam: its directory or exam.json.")
    ] = None,
    trust: options.Trust = False,
    jobs: options.AtOnce = None,
    json_: options.Json = False,
    progress: options.Shown = options.ProgressKind.auto,
) -> None:
    """Take a congestion control through every case, with a verdict on each; status 1 if one failed.

    Cases are the criteria of RFC 9743, examples of the BBR draft, and paths of low Earth orbit. The directory gets a
    page, exam.json and junit.xml. Runs that are there are kept, so an exam that was stopped goes on.
    """
    from leowarp.cli.studies.study_verbs import progress_of_study
    from leowarp.exam import Subject, take
    from leowarp.exam.files import write
    from leowarp.exam.taken import read

    modules = tuple(cc_module or ())
    algorithm = name if name is not None else next((path.stem for path in modules), None)
    if algorithm is None:
        raise ScenarioError("which congestion control takes the exam?", hint="leowarp exam cubic, or --cc-module FILE.c")
    earlier = None if baseline is None else read(baseline)
    taken = take(
        Subject(algorithm, modules, kernel), out, only=case or (), at_once=jobs, progress=progress_of_study(progress),
        trust=trust,
    )  # fmt: skip
    write(taken, _command(algorithm, name, modules, kernel), earlier)
    if json_:
        from leowarp.cli.output import print_json

        print_json({"path": str(taken.path), "page": str(taken.page)} | taken.document())
    else:
        _print(taken)
        if earlier is not None:
            _print_baseline(taken, earlier)
    raise typer.Exit(1 if taken.failed else 0)


def _command(algorithm: str, name: str | None, modules: tuple[Path, ...], kernel: str | None) -> str:
    parts = ["leowarp", "exam", *([algorithm] if name else [])]
    parts += [word for path in modules for word in ("--cc-module", str(path))]
    parts += ["--kernel", kernel] if kernel else []
    return shlex.join(parts)


def _print(taken: Exam) -> None:
    """Every case in a line, then the counts; what decided a failure below."""
    from leowarp.cli.output import print_table

    rows = []
    for each in taken.judged:
        row = each.row(taken.path)
        rows.append((each.case.key, each.verdict, row["value_in_words"], row["limit_in_words"], each.case.title))
    print_table(f"Exam of {taken.subject.algorithm}", ("case", "verdict", "number", "limit", "what"), rows,
                text=("verdict", "what"))  # fmt: skip
    for each in taken.failed:
        say(f"failed: {each.case.key}: {each.decided}")
    say(", ".join(f"{number} {verdict}" for verdict, number in taken.counts.items()))
    say(f"Page: {taken.page}")


def _print_baseline(taken: Exam, earlier: dict[str, object]) -> None:
    from leowarp.cli.output import print_table
    from leowarp.exam.taken import changed

    rows = changed([each.row(taken.path) for each in taken.judged], earlier)
    if not rows:
        say("The same verdicts and numbers as the baseline.")
        return
    print_table("Differs from the baseline", ("case", "baseline", "now"), rows, text=("baseline", "now"))
