# SPDX-License-Identifier: Apache-2.0
"""The two values that `reproduce` exchanges with a study. `Making` requests the study's runs. `Material` returns their
results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leowarp.base.errors import LeowarpError
from leowarp.study.page import DrawnFigure, Section


@dataclass(frozen=True)
class Making:
    """The settings for the runs of any study. Examples are the directory, the number of parallel runs, and the kernel.

    Attributes
    ----------
    folder : Path
        The directory of the study, which already exists.
    at_once : int, optional
        The number of runs that are made at the same time. By default, this is the number of usable cores.
    kernel : path, optional
        The guest kernel to use instead of the kernels that the scenarios name.
    force : bool
        True to repeat complete runs and replace them.
    progress : bool or callable
        See `leowarp.study.reproduction.reproduce`.
    """

    folder: Path
    at_once: int | None = None
    kernel: Path | str | None = None
    force: bool = False
    progress: bool | Callable[[Any], None] = True


@dataclass(frozen=True)
class Material:
    """The results of a study's runs.

    Attributes
    ----------
    samples : list of (name, mapping)
        The samples on which claims are checked. Each sample has a name, and a mapping with the keys of `Claim.runs`.
        The first
            sample decides the verdict.
    figures : list of DrawnFigure
    sections : list of Section
        The further sections of the study's page.
    runs : dict
        The run directories, which are listed in `claims.json`.
    failures : dict of name to LeowarpError
    warnings : list of str
        The warnings at the top of the page. Failures are shown there too, but are not included here.
    cost : str
        The measured cost of the runs, as text.
    left_out : list of str
        The tools that are missing on this machine (see `Reproduction.left_out`).
    skipped : dict of str to str
        The data sets that the user did not request, each with the reason. A claim that needs one of these data sets
        gets the verdict "cannot be told". This verdict does not count as a failure.
    """

    samples: list[tuple[str, Mapping[str, Any]]]
    figures: list[DrawnFigure]
    sections: list[Section]
    runs: dict[str, str]
    failures: dict[str, LeowarpError] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    cost: str = ""
    left_out: list[str] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)
