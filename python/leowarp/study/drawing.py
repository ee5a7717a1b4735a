# SPDX-License-Identifier: Apache-2.0
"""The figures of a reproduced study. Each kind of figure lists the data sets that it needs. If a data set is missing,
the page gives a reason instead of the figure."""

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
"""The type of further facts that every figure gets. Examples are the kernel and the number of seeds."""


@dataclass(frozen=True)
class Kind(Generic[Rules]):
    """A kind of figure of a study.

    stem: The name of the file in `figures/`, without extension.
    caption: The explanation of what the figure shows, with units and intervals.
    needs: The names of the data sets that the figure requires.
    """

    stem: str
    title: str
    caption: str
    needs: tuple[str, ...]
    draw: Callable[[Mapping[str, Any], Rules], Figure]


def draw(kinds: Sequence[Kind[Rules]], frames: Mapping[str, Any], folder: Path, rules: Rules) -> list[DrawnFigure]:
    """Draw all figures into `folder`. If a figure has no data, its result contains the reason.

    frames: The data sets by name. A data set is missing if all its runs failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for kind in kinds:
        missing = next((f"the runs `{name}` are missing" for name in kind.needs if name not in frames), None)
        if missing is None:
            try:
                with styled():
                    figure = kind.draw(frames, rules)
                save(figure, folder / kind.stem)
            # A trial run may be too short for a figure.
            except TraceError as error:
                missing = error.message
        drawn.append(DrawnFigure(kind.stem, kind.title, kind.caption, missing))
    return drawn
