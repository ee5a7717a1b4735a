# SPDX-License-Identifier: Apache-2.0
"""The figures of a reproduced study: each names its data sets, and is left out with a reason without them."""

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
"""Facts for a study's figures besides data: the kernel, the number of seeds."""


@dataclass(frozen=True)
class Kind(Generic[Rules]):
    """One figure of a study.

    stem: Name of its files in `figures/`, without the ending.
    title, caption: On the page; the caption says what is drawn, units and intervals included.
    needs: Names of the data sets without which it cannot be drawn.
    draw: `draw(frames, rules) -> Figure`.
    """

    stem: str
    title: str
    caption: str
    needs: tuple[str, ...]
    draw: Callable[[Mapping[str, Any], Rules], Figure]


def draw(kinds: Sequence[Kind[Rules]], frames: Mapping[str, Any], folder: Path, rules: Rules) -> list[DrawnFigure]:
    """Draws all figures into `folder`; one whose data are missing says so.

    frames: Data sets by name; one of which every run failed is not there.
    folder: Made if it is not there.
    rules: Handed on to each figure.
    Returns: One a kind, in order; `missing` says why one was not drawn.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for kind in kinds:
        missing = next((f"the runs `{name}` are missing" for name in kind.needs if name not in frames), None)
        if missing is None:
            try:
                with styled():
                    # Within the style of reports, which sets fonts and sizes for as long as it is drawn.
                    figure = kind.draw(frames, rules)
                save(figure, folder / kind.stem)
            # A trial run may be too short for what a figure shows; the page says so, and the others are drawn.
            except TraceError as error:
                missing = error.message
        drawn.append(DrawnFigure(kind.stem, kind.title, kind.caption, missing))
    return drawn
