# SPDX-License-Identifier: Apache-2.0
"""The page `index.html` of a study. It shows the parameters, the cost, failed runs, and how one scalar depends on the
parameters."""

from __future__ import annotations

import io
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from matplotlib.backends.backend_svg import FigureCanvasSVG

from leowarp import scalars
from leowarp.report.style import OKABE_ITO, PAGE_IN, legend_below, line_style, new_figure, styled
from leowarp.study.statistics import HOW, Middle, middle
from leowarp.study.sweep import disk
from leowarp.study.sweep.parameters.keys import plan_key
from leowarp.study.sweep.parameters.ranges import is_in_order, seeds_in_words
from leowarp.study.sweep.plans import StudyRun
from leowarp.study.sweep.rows import FAILED

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

PAGE = "index.html"
METRICS = (
    "flow0_goodput_mean_bps", "flow0_mean_displacement_pkts", "flow0_probes_lost_pkts",
)  # fmt: skip
"""The scalars of which the page shows the first that at least one run has."""

MOST_LINES, MOST_COLUMNS, MOST_FAILURES = 200, 24, 50
"""The maximum numbers of rows, columns and failures on the page."""


def write_page(folder: Path, name: str, runs: Sequence[StudyRun], table: pa.Table, removed: int) -> None:
    """Write the page of a study.

    The page is made only from the rows of the data set, so it can be rebuilt from the study's directory.

    table: The rows of the runs that have a result.
    removed: The number of runs that have results, but are no longer in the study.
    Raises OSError if the page cannot be written. In this case, an existing page remains unchanged.
    """
    from leowarp.report import html

    frame = table.to_pandas()
    by_id = {run.run_id: run for run in runs}
    warnings = _warnings(frame, len(runs), removed)
    body = f"<h1>{html.text(name)}</h1>\n" + html.warning_box(warnings)
    body += html.table("What was varied", ["key", "values", "which"], _parameters(runs), left=frozenset((0, 2)))
    body += html.table("Runs and their cost", ["quantity", "value"], _costs(frame, len(runs)))
    metric = next((name for name in METRICS if name in frame and frame[name].notna().any()), None)
    if metric is not None:
        body += _results(frame[frame[metric].notna()], by_id, metric)
    failed = frame[frame["status"] == FAILED].head(MOST_FAILURES)
    if len(failed):
        rows = [(row.run_id, str(by_id[row.run_id]), row.error) for row in failed.itertuples()]
        body += html.table("Failed runs", ["run id", "run", "error"], rows, left=frozenset((0, 1, 2)))
    columns = [
        (field.name, str(field.type), (field.metadata or {}).get(b"unit", b"").decode()) for field in table.schema
    ]
    body += "<details><summary>Columns of results/</summary>"
    body += html.table("One row a run", ["column", "type", "unit"], columns, left=frozenset((0, 1, 2))) + "</details>"
    again = f"leowarp study {shlex.quote(str(folder))}"
    body += html.section("again", "How to go on", f"<pre>{html.text(again)}</pre><p>Runs with a result are kept.</p>")
    disk.write_file(folder / PAGE, html.page(name, body).encode())


def _parameters(runs: Sequence[StudyRun]) -> list[tuple[str, int, str]]:
    rows = []
    for key in runs[0].values:
        values = list(dict.fromkeys(str(run.values[key]) for run in runs))
        rows.append((key, len(values), _shortened(values)))
    seeds = list(dict.fromkeys(run.seed for run in runs))
    return [*rows, ("run.seed", len(seeds), seeds_in_words(seeds))]


def _shortened(values: list[str]) -> str:
    """Return the values as one line of text.

    >>> _shortened([str(seed) for seed in range(1, 31)])
    '1, 2, 3, 4, 5, 6, ..., 29, 30'
    """
    return ", ".join(values if len(values) <= 12 else [*values[:6], "...", *values[-2:]])


def _costs(frame: pd.DataFrame, runs: int) -> list[tuple[str, Any]]:
    cpu_s = frame["cpu_s"].dropna()
    lines: list[tuple[str, Any]] = [
        ("runs of the study", runs),
        ("with a result", len(frame)),
        ("failed, of these", int((frame["status"] == FAILED).sum())),
    ]
    if len(cpu_s):
        lines += [("CPU seconds in all", float(cpu_s.sum())), ("CPU seconds a run, mean", float(cpu_s.mean())),
                  ("CPU seconds a run, largest", float(cpu_s.max()))]  # fmt: skip
    return lines


def _warnings(frame: pd.DataFrame, runs: int, removed: int) -> list[str]:
    """Return the warnings that a reader must know before trusting the numbers. First come the warnings about missing,
    failed and removed runs. The runs' own warnings follow, the most frequent first.
    """
    sentences = []
    if len(frame) < runs:
        sentences.append(f"{runs - len(frame):,} of {runs:,} runs have no result yet")
    if failed := int((frame["status"] == FAILED).sum()):
        sentences.append(f"{failed:,} runs failed")
    if removed:
        sentences.append(
            f"{removed:,} runs are in results/ (in_study is false) and no longer in the study; not counted here"
        )
    counts = frame["warnings"].explode().dropna().value_counts()
    return [*sentences, *(f"{count:,} runs: {text}" for text, count in counts.head(10).items())]


def _results(frame: pd.DataFrame, by_id: Mapping[str, StudyRun], metric: str) -> str:
    """Return a table of the metric. Each cell has the median over seeds with its interval. Each row stands for one
    value of the parameter that has the most values. A column is one combination of the other parameters' values.

    frame: The rows of runs that have the metric.
    by_id: The study's runs by run id.
    """
    from leowarp.report import html

    scalar = scalars.by_name(scalars.TCP, scalars.PROBE, scalars.RUN).get(re.sub(r"^flow[0-9]+_", "", metric))
    unit, size = (scalar.unit.shown, scalar.unit.size) if scalar is not None else ("", 1.0)
    # Values are shown as written: for a queue, "25 pkts" is clearer than its three columns in the results.
    values_of_runs = [by_id[run_id].values for run_id in frame["run_id"]]
    keys = list(values_of_runs[0])
    down = max(keys, key=lambda key: len({str(one[key]) for one in values_of_runs}), default=None)
    lines = [str(one[down]) if down is not None else "all" for one in values_of_runs]
    columns = [", ".join(str(one[key]) for key in keys if key != down) or "all" for one in values_of_runs]
    cells: dict[tuple[str, str], list[float]] = {}
    for line, column, value in zip(lines, columns, frame[metric], strict=True):
        cells.setdefault((line, column), []).append(float(value) / size)
    # `fromkeys` preserves the order of the study file.
    rows, heads = list(dict.fromkeys(lines)), list(dict.fromkeys(columns))
    if len(rows) > MOST_LINES or len(heads) > MOST_COLUMNS:
        return f"<p>{metric} over the parameters has {len(rows)} x {len(heads)} cells: too many to show.</p>"
    middles = {cell: middle(of_seeds) for cell, of_seeds in cells.items()}
    nothing = middle([])
    others = ", ".join(key for key in keys if key != down)
    what = f"{metric} in {unit}" if unit else metric
    caption = f"{what}{f', by {others}' if others else ''}: {HOW}. n: runs with a value."
    body = [[row, *(_cell(middles.get((row, head), nothing)) for head in heads)] for row in rows]
    meaning = f"<p>{html.text(scalar.definition)}.</p>" if scalar is not None else ""
    # Each value once, like `rows`. For a key with a quoted part, such as a sysctl, `plan_key` returns None.
    given = [] if down is None else list({str(one[down]): one[down] for one in values_of_runs}.values())
    joined = down is not None and is_in_order(given, plan_key(down.split(".")))
    of_heads = {head: [middles.get((row, head), nothing) for row in rows] for head in heads}
    svg = chart(rows, of_heads, down or "", what, joined=joined)
    shown = f"<figure>{svg}<figcaption>{html.text(what)}; bars: intervals.</figcaption></figure>" if svg else ""
    return meaning + shown + html.table(caption, [down or "", *heads], body, left=frozenset((0,)))


def _cell(of_seeds: Middle) -> str | None:
    if not of_seeds.known:
        return None
    # A single value is shown without an interval, because "12 (12 to 12)" would look exact.
    if of_seeds.count == 1:
        return f"{of_seeds.median:.4g}; n = 1"
    return f"{of_seeds.median:.4g} ({of_seeds.low:.4g} to {of_seeds.high:.4g}); n = {of_seeds.count}"


def chart(places: Sequence[str], lines: Mapping[str, Sequence[Middle]], along: str, up: str, *, joined: bool) -> str:
    """Return a chart as an `<svg>` element. The result is "" if there are no values, or if there are more lines than
    colours.

    places: The values of the parameter, in their order on the horizontal axis.
    lines: The values of each line, one per position in `places`.
    along, up: The labels of the horizontal and of the vertical axis.
    joined: True to connect the points by lines, as for numbers. Pass False for words, which have no order.
    """
    known = {name: [(place, value) for place, value in enumerate(line) if value.known and math.isfinite(value.high)]
             for name, line in lines.items()}  # fmt: skip
    values = [value for line in known.values() for _, value in line]
    # If there is no chart, no value is missing on the page, because the table below shows all lines.
    if not values or len(lines) > len(OKABE_ITO):
        return ""
    with styled():
        figure = new_figure(PAGE_IN, 2.6 + 0.16 * len(lines), "")
        axes = figure.subplots()
        for number, (name, line) in enumerate(known.items()):
            # The points of each line are shifted sideways, so that the intervals of two lines do not hide each other.
            at = [place + (number - (len(lines) - 1) / 2) * 0.06 for place, _ in line]
            ends = [[value.median - value.low for _, value in line], [value.high - value.median for _, value in line]]
            look = line_style(number) | ({} if joined else {"linestyle": "none"})
            axes.errorbar(at, [value.median for _, value in line], ends, label=name, marker="o", markersize=3, **look)
        every = math.ceil(len(places) / 12)
        axes.set_xticks(range(0, len(places), every), [name[:24] for name in places[::every]])
        axes.set_xlim(-0.5, len(places) - 0.5)
        # If the axis began just below the smallest value, the ratio of the values would seem larger than it is.
        lowest, highest = min(value.low for value in values), max(value.high for value in values)
        if 0 <= lowest < 0.7 * highest:
            axes.set_ylim(bottom=0)
        axes.set_xlabel(along)
        axes.set_ylabel(up)
        legend_below(axes, ncols=1)
        text = io.StringIO()
        FigureCanvasSVG(figure).print_svg(text, metadata={"Date": None, "Creator": None})
    words = f"{up} over {along}: medians, and bars for their intervals; the table has the numbers"
    _, begin, rest = text.getvalue().partition("<svg ")
    return f'{begin}role="img" aria-label="{escape(words)}" style="max-width: 100%; height: auto" {rest}'
