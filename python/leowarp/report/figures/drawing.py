# SPDX-License-Identifier: Apache-2.0
"""Draw the figures of a page into files, in the chosen formats. The progress is reported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError, TraceError
from leowarp.base.spelling import one_of
from leowarp.report.figures import FIGURES, figure, flows_of
from leowarp.report.figures.figure_data import figure_text
from leowarp.report.html import LARGEST_SVG_BYTES
from leowarp.report.style import FORMATS, PAGE_FORMATS, save, styled, without_rules
from leowarp.results.run import Run

OnFigure = Callable[[int, int], None]
"""A function that is called after each figure. Its arguments are the number of figures drawn so far and the number of
all figures."""


@dataclass(frozen=True)
class Drawing:
    """The figures to draw.

    names: The names of the figures. The default is all figures for which the runs have data.
    formats: The formats in addition to those of the page.
    flows: Which flows of the first run the figures show. The default is all flows.
    change_s: The time in s of the route change that the figures around a change show.
    """

    names: Sequence[str] | None = None
    formats: Sequence[str] = ()
    flows: Sequence[int] | None = None
    change_s: float | None = None
    on_figure: OnFigure = lambda drawn, count: None

    def chosen(self, runs: Sequence[Run]) -> list[str]:
        """Return the names of the figures, in the order of a page.

        Raises ScenarioError if there is no such figure, or if the runs have no data for it.
        """
        # Names are checked first, because the search for the figures of a run reads its whole trace.
        for name in self.names or ():
            if name not in FIGURES:
                raise ScenarioError(f"there is no figure {name!r:.60}", hint=one_of(name, FIGURES))
        there = [
            name
            for name, kind in FIGURES.items()
            if kind.concerns(runs)
            and (kind.several or len(runs) == 1)
            and (self.flows is None or kind.own_flows or set(self.flows) & set(flows_of(runs[0], name)))
        ]
        for name in self.names or ():
            if name not in there:
                whose = runs[0].path.name if len(runs) == 1 else "these runs"
                raise ScenarioError(
                    f"{whose} has nothing to show in the figure {name!r} ({FIGURES[name].title})",
                    hint=f"it has {', '.join(there)}",
                )
        return [name for name in there if self.names is None or name in self.names]


@styled()
def draw_all(runs: Sequence[Run], folder: Path, drawing: Drawing) -> tuple[list[str], dict[str, str]]:
    """Draw figures, and save them in `folder`, which is created if it is missing.

    Returns drawn: The names of the figures that are now in the folder.
    Returns not_drawn: A dict from the name of each figure that could not be drawn to the reason.
    Raises ScenarioError if a figure or format does not exist, or if the folder is a symbolic link.
    """
    if wrong := [kind for kind in drawing.formats if kind not in FORMATS]:
        raise ScenarioError(f"there is no format {wrong[0]!r:.60} of figures", hint=one_of(wrong[0], FORMATS))
    if (why := plainfiles.why_not_plain(folder, itself=True)) is not None:
        raise ScenarioError(
            f"cannot draw into {folder}: {why}, and nothing is written through one", hint="name another directory"
        )
    names = drawing.chosen(runs)
    folder.mkdir(parents=True, exist_ok=True)
    drawn, not_drawn = [], {}
    for place, name in enumerate(names):
        drawing.on_figure(place, len(names))
        mine = drawing.flows
        if mine is not None:
            mine = None if FIGURES[name].own_flows else [each for each in mine if each in flows_of(runs[0], name)]
        # `change_s` is passed only to figures that have this option; figures without the option would raise an error.
        at = {"change_s": drawing.change_s} if drawing.change_s is not None and FIGURES[name].around_changes else {}
        try:
            picture = figure(runs, name, flow=mine, **at)
            plainfiles.write(folder / f"{name}.csv", figure_text(picture, mine).encode())
            _save(picture, folder / name, drawing.formats)
        except TraceError as error:
            # The run lacks data for this figure (no constellation, no change, no packets). The report's page says why
            # the figure is missing.
            attempted, _, reason = error.message.partition(": ")
            not_drawn[name] = f"{reason or attempted}{f'; {error.hint}' if error.hint else ''}"
        else:
            drawn.append(name)
    drawing.on_figure(len(names), len(names))
    return drawn, not_drawn


def _save(picture: Figure, stem: Path, formats: Sequence[str]) -> None:
    # If the folder already has a file of the figure in a format for papers, this file is drawn again as well.
    # Otherwise, this file would show older data than the new figure.
    for_papers = [
        kind
        for kind in FORMATS
        if kind not in PAGE_FORMATS and (kind in formats or _is_for_papers(stem.with_name(f"{stem.name}.{kind}")))
    ]
    # In files for papers, the rules by which metrics were computed are printed below the figure. On the page, the rules
    # are printed only once. An SVG has the rules in its metadata. Each layout depends a little on the layout that was
    # computed before it. The files of the page are drawn first, so that further formats do not change them.
    with without_rules(picture) as rules:
        save(picture, stem, PAGE_FORMATS, rules)
        png = stem.with_name(f"{stem.name}.png")
        # If an SVG has many thousand points, the page embeds a PNG instead.
        is_large = stem.with_name(f"{stem.name}.svg").stat().st_size > LARGEST_SVG_BYTES
        if "png" not in for_papers and (is_large or png.exists()):
            save(picture, stem, ("png",), rules)
    if for_papers:
        save(picture, stem, for_papers)


def _is_for_papers(file: Path) -> bool:
    """Return whether a file of a figure exists and is not the PNG of a page. Only the PNG of a page has the text of the
    rules in its metadata."""
    if not file.exists():
        return False
    if file.suffix != ".png":
        return True
    with plainfiles.opened(file) as stream:
        beginning = stream.read(1 << 16)
    return b"tEXtDescription" not in beginning and b"iTXtDescription" not in beginning
