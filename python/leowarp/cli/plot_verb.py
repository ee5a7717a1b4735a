# SPDX-License-Identifier: Apache-2.0
"""The verb `plot`: chosen series of a run over a chosen time, into one file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leowarp.cli import options
from leowarp.cli.look_verbs import parsed
from leowarp.cli.output import say
from leowarp.errors import ScenarioError


def plot(
    run: options.RunPath,
    series: Annotated[
        str,
        typer.Argument(metavar="SERIES", help="Names with commas between them: cwnd,srtt; `leowarp plot RUN list`."),
    ] = "list",
    from_: Annotated[str, typer.Option("--from", help="Begin, on the run's clock: 29s.")] = "0 s",
    to: Annotated[str | None, typer.Option("--to", help="End; the run's if not given.")] = None,
    flow: options.Flows = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="The file: .svg, .pdf or .png.")] = None,
    json_: options.Json = False,
) -> None:
    """Draw series of a run over time (window, RTT, goodput, queue, ...), a panel each, into one file."""
    import leowarp
    from leowarp import plainfiles, units
    from leowarp.cli.output import print_json, print_table
    from leowarp.metrics import SERIES

    opened = leowarp.open(run)
    if series == "list":
        if json_:
            listed = [{"name": s.name, "unit": s.unit, "definition": s.definition} for s in SERIES.values()]
            print_json({"series": listed})
            return
        rows = [(each.name, each.unit, each.definition) for each in SERIES.values()]
        print_table(None, ("series", "unit", "what it is"), rows, text=("unit", "what it is"))
        say(f"For instance: leowarp plot {run} goodput,cwnd --from 29s --to 32s -o window.pdf")
        return
    from leowarp import report

    names = [name.strip() for name in series.split(",") if name.strip()]
    target = out or Path(f"{opened.path.resolve().name}-{'-'.join(names)}.pdf")
    # The ending is judged before the run is read and drawn: metrics of a long run take seconds.
    kind = target.suffix.removeprefix(".").lower()
    if kind not in report.FORMATS:
        raise ScenarioError(f"cannot write a figure to {target}", hint=f"end its name in .{', .'.join(report.FORMATS)}")
    begin_s = parsed(units.TIME, "--from", from_) / 1e9
    end_s = None if to is None else parsed(units.TIME, "--to", to) / 1e9
    figure = report.plot(opened, names, flow=flow or None, from_s=begin_s, to_s=end_s)
    plainfiles.refuse_link(target)
    report.save(figure, target.with_suffix(""), (kind,))
    written = target.with_suffix(f".{kind}")
    if json_:
        print_json({"run": str(opened.path), "figure": str(written), "series": names})
    else:
        say(written)
