# SPDX-License-Identifier: Apache-2.0
"""The verb `report`. It makes the figures and the page of a run, or a single figure. For a single figure, the user
chooses the series and the time."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leowarp.base.errors import ScenarioError
from leowarp.cli import options
from leowarp.cli.output import draw_quickly, print_json, print_table, say
from leowarp.cli.results.look_verbs import time_ns
from leowarp.results.run import Run


def report(
    run: options.RunPath,
    flow: options.Flows = None,
    figures: Annotated[
        str | None,
        typer.Option(metavar="NAMES", help="Only these figures, separated by commas: goodput,srtt. Default: all."),
    ] = None,
    formats: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Formats of each figure in addition to SVG: pdf,png.")
    ] = None,
    plot: Annotated[
        str | None,
        typer.Option(
            metavar="SERIES",
            help="Plot series over time into one file, one panel each, without a page. Separated by commas: cwnd,srtt; "
            "`--plot list` lists all.",
        ),
    ] = None,
    from_: Annotated[str | None, typer.Option("--from", help="Start of --plot, on the run's clock: 29s.")] = None,
    to: Annotated[str | None, typer.Option(help="End of --plot; default: the run's end.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File of --plot: .svg, .pdf or .png.")] = None,
    json_: options.Json = False,
    progress: options.Shown = options.ProgressKind.auto,
) -> None:
    """Make the figures and the page of a run again, also as PDF and PNG, or plot series over time."""
    draw_quickly()
    import leowarp
    from leowarp import report as rooms
    from leowarp.base.progress import of_figures, shown

    if plot is None and (from_, to, out) != (None, None, None):
        raise ScenarioError(
            "--from, --to and --out belong to --plot", hint=f"leowarp report {run} --plot cwnd,srtt --from 29s --to 32s"
        )
    opened = leowarp.open(run)
    if plot == "list":
        _print_series(run, json_)
        return
    if plot is not None:
        if (figures, formats) != (None, None):
            raise ScenarioError("--plot makes one file, without --figures and --formats", hint="leave these out")
        _plot(opened, _words(plot), flow=flow, from_=from_ or "0 s", to=to, out=out, json_=json_)
        return
    with shown(options.progress_of(progress)) as show:
        page = rooms.write_report(
            opened.path, formats=_words(formats or ""), figures=None if figures is None else _words(figures),
            flow=flow or None,
            on_figure=of_figures(show, opened.path.name),
        )  # fmt: skip
    if json_:
        print_json({"run": str(opened.path), "report": str(page)})
    else:
        say(page)


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _print_series(run: Path, json_: bool) -> None:
    from leowarp.metrics import SERIES

    if json_:
        print_json({"series": [{"name": s.name, "unit": s.unit, "definition": s.definition} for s in SERIES.values()]})
        return
    rows = [(each.name, each.unit, each.definition) for each in SERIES.values()]
    print_table(None, ("series", "unit", "what it is"), rows, text=("unit", "what it is"))
    say(f"For instance: leowarp report {run} --plot goodput,cwnd --from 29s --to 32s -o window.pdf")


def _plot(
    run: Run, names: list[str], *, flow: list[int | str] | None, from_: str, to: str | None, out: Path | None,
    json_: bool
) -> None:  # fmt: skip
    from leowarp import report
    from leowarp.base import plainfiles

    target = out or Path(f"{run.path.resolve().name}-{'-'.join(names)}.pdf")
    # The suffix is checked first, because computing the metrics of a long run takes seconds.
    kind = target.suffix.removeprefix(".").lower()
    if kind not in report.FORMATS:
        raise ScenarioError(f"cannot write a figure to {target}", hint=f"end its name in .{', .'.join(report.FORMATS)}")
    begin_s = time_ns("--from", from_) / 1e9
    end_s = None if to is None else time_ns("--to", to) / 1e9
    figure = report.plot(run, names, flow=flow or None, from_s=begin_s, to_s=end_s)
    plainfiles.refuse_link(target)
    report.save(figure, target.with_suffix(""), (kind,))
    written = target.with_suffix(f".{kind}")
    if json_:
        print_json({"run": str(run.path), "figure": str(written), "series": names})
    else:
        say(written)
