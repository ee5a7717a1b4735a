# SPDX-License-Identifier: Apache-2.0
"""Figures of a reproduced study. Each figure names its data sets. If one of them is missing, the figure is left out,
with a reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from matplotlib.figure import Figure

from leowarp.base.errors import TraceError
from leowarp.report import save
from leowarp.report.style import styled
from leowarp.study.page import DrawnFigure

Rules = TypeVar("Rules")
"""Type of the facts that figures need besides data, such as the kernel and the number of seeds."""


@dataclass(frozen=True)
class Kind(Generic[Rules]):
    """A kind of figure of a study.

    stem: Name of the file in `figures/`, without extension.
    title, caption: Texts for the page. The caption says what is drawn, including units and intervals.
    needs: Names of the data sets that the figure requires.
    draw: Function `draw(frames, rules) -> Figure`.
    """

    stem: str
    title: str
    caption: str
    needs: tuple[str, ...]
    draw: Callable[[Mapping[str, Any], Rules], Figure]


def draw(kinds: Sequence[Kind[Rules]], frames: Mapping[str, Any], folder: Path, rules: Rules) -> list[DrawnFigure]:
    """Draw all figures into `folder`. If a figure's data are missing, its result has the reason.

    frames: Data sets by name. If all runs of a data set failed, it is missing.
    folder: Folder for the figures; created if missing.
    rules: Facts that are passed to each figure.
    Returns: One result per figure, in order. `missing` says why a figure was not drawn.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for kind in kinds:
        missing = next((f"the runs `{name}` are missing" for name in kind.needs if name not in frames), None)
        if missing is None:
            try:
                with styled():
                    # Figures have the style of reports, which sets fonts and sizes while they are drawn.
                    figure = kind.draw(frames, rules)
                save(figure, folder / kind.stem)
            # A trial run may be too short for a figure. The page then says so, and the other figures are drawn.
            except TraceError as error:
                missing = error.message
        drawn.append(DrawnFigure(kind.stem, kind.title, kind.caption, missing))
    return drawn
