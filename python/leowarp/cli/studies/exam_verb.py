# SPDX-License-Identifier: Apache-2.0
"""The verb `exam`: tests one congestion control in every case and prints verdicts."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from leowarp.base.errors import ScenarioError
from leowarp.cli import options
from leowarp.cli.output import print_json, print_table, say

if TYPE_CHECKING:
    from leowarp.exam import Exam, Subject


def exam(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="Congestion control; with --cc-module, default: the file's name."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Output directory; default: exams/NAME.")] = None,
    cc_module: options.CcModules = None,
    kernel: options.Kernel = None,
    all_: Annotated[
        bool,
        typer.Option(
            "--all", help="Examine every congestion control of the default kernel, and make a page that compares them."
        ),
    ] = False,
    case: Annotated[
        list[str] | None,
        typer.Option(metavar="CASE", help="Only this case or suite (rfc9743, bbr, leo); may be repeated."),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Compare with an earlier exam: its directory or exam.json.")
    ] = None,
    seeds: Annotated[
        int,
        typer.Option(min=1, max=100, help="Repeat each case with this many seeds; verdicts come from the first seed."),
    ] = 1,
    trust: options.Trust = False,
    jobs: options.AtOnce = None,
    json_: options.Json = False,
    progress: options.Shown = options.ProgressKind.auto,
) -> None:
    """Test a congestion control in every case, with a verdict on each. The status is 1 if a case failed.

    Cases are the criteria of RFC 9743, examples of the BBR draft, and paths of low Earth orbit. The directory gets a
    page, exam.json and junit.xml. If an exam was interrupted, its next start uses the finished runs again.
    """
    from leowarp.cli.studies.study_verbs import progress_of_study
    from leowarp.exam import Subject, take
    from leowarp.exam.files import write
    from leowarp.exam.taken import read

    def taken_by(subject: Subject, folder: Path | None) -> Exam:
        found = take(subject, folder, only=case or (), at_once=jobs, progress=progress_of_study(progress), trust=trust,
                     seeds=seeds)  # fmt: skip
        write(found, _command(subject, name is not None or all_, seeds), earlier)
        return found

    modules = tuple(cc_module or ())
    if all_ and (name is not None or modules or kernel is not None or baseline is not None):
        raise ScenarioError(
            "--all examines every congestion control of the default kernel",
            hint="leave NAME, --cc-module, --kernel, --baseline out",
        )
    earlier = None if baseline is None else read(baseline)
    if all_:
        _all(out or Path("exams"), taken_by, json_, seeds)
    algorithm = name if name is not None else next((path.stem for path in modules), None)
    if algorithm is None:
        raise ScenarioError("no congestion control is named", hint="leowarp exam cubic, or --cc-module FILE.c")
    taken = taken_by(Subject(algorithm, modules, kernel), out)
    if json_:
        print_json({"path": str(taken.path), "page": str(taken.page)} | taken.document())
    else:
        _print(taken)
        if earlier is not None:
            _print_baseline(taken, earlier)
    raise typer.Exit(1 if taken.failed else 0)


def _all(folder: Path, taken_by: Callable[[Subject, Path], Exam], json_: bool, seeds: int) -> NoReturn:
    """Run the exam of each algorithm, and write a page that compares the algorithms. The exit status is 0 even if an
    algorithm fails a case, because this is a result and no error."""
    from leowarp.base import plainfiles
    from leowarp.exam import Subject
    from leowarp.exam.comparison import comparison_text, mean_ranks, rank_in_words, ranks_of_seeds
    from leowarp.scenario.network.hosts import CONGESTION_CONTROLS

    documents = {name: taken_by(Subject(name), folder / name).document() for name in CONGESTION_CONTROLS}
    page = folder / "index.html"
    plainfiles.write(
        page, comparison_text(documents, shlex.join(["leowarp", "exam", "--all", *_of_seeds(seeds)])).encode()
    )
    ranked, spread = mean_ranks(documents), ranks_of_seeds(documents)
    if json_:
        counts = {name: document["counts"] for name, document in documents.items()}
        print_json(
            {"path": str(folder), "page": str(page), "counts": counts, "mean_ranks": ranked, "ranks_of_seeds": spread}
        )
    else:
        rows = [
            (name, *document["counts"].values(), *(rank_in_words(suite, name, ranked, spread) for suite in ranked))
            for name, document in documents.items()
        ]
        heads = ("algorithm", "pass", "fail", "measured", *(f"mean rank, {suite}" for suite in ranked))
        print_table("Every congestion control of the kernel", heads, rows)
        say(f"Page: {page}")
    raise typer.Exit(0)


def _of_seeds(seeds: int) -> list[str]:
    return ["--seeds", str(seeds)] if seeds > 1 else []


def _command(subject: Subject, is_named: bool, seeds: int) -> str:
    parts = ["leowarp", "exam", *([subject.algorithm] if is_named else [])]
    parts += [word for path in subject.modules for word in ("--cc-module", str(path))]
    parts += ["--kernel", str(subject.kernel)] if subject.kernel else []
    parts += _of_seeds(seeds)
    return shlex.join(parts)


def _print(taken: Exam) -> None:
    """Print one line per case, the number of cases per verdict, and the reasons of failures."""
    from leowarp.exam.verdict import spread_in_words

    rows = []
    for each, row in zip(taken.judged, taken.rows(), strict=True):
        spread = [spread_in_words(each.case, row)] if taken.repeats else []
        told = (row["value_in_words"], row["limit_in_words"], *spread)
        rows.append((each.case.key, each.verdict, *told, each.case.title))
    of_seeds = [f"over {1 + len(taken.repeats)} seeds"] if taken.repeats else []
    print_table(f"Exam of {taken.subject.algorithm}", ("case", "verdict", "number", "limit", *of_seeds, "what"), rows,
                text=("verdict", "what", *of_seeds))  # fmt: skip
    for each in taken.failed:
        say(f"failed: {each.case.key}: {each.decided}")
    say(", ".join(f"{number} {verdict}" for verdict, number in taken.counts.items()))
    say(f"Page: {taken.page}")


def _print_baseline(taken: Exam, earlier: dict[str, object]) -> None:
    from leowarp.exam.taken import changed

    rows = changed([each.row(taken.path) for each in taken.judged], earlier)
    if not rows:
        say("The same verdicts and numbers as the baseline.")
        return
    print_table("Differs from the baseline", ("case", "baseline", "now"), rows, text=("baseline", "now"))
