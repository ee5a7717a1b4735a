# SPDX-License-Identifier: Apache-2.0
"""Request to a study and its result: the two values exchanged between `reproduce` and a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leowarp.base.errors import LeowarpError
from leowarp.study.page import DrawnFigure, Section


@dataclass(frozen=True)
class Making:
    """Settings for the runs of any study: directory, parallel runs, kernel.

    Attributes
    ----------
    folder : Path
        Directory of the study, which exists.
    at_once : int, optional
        Number of parallel runs; default: the number of usable cores.
    kernel : path, optional
        Guest kernel that replaces the one of the scenarios.
    force : bool
        True to re-run complete runs.
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
    """Results of a study's runs.

    Attributes
    ----------
    samples : list of (name, mapping)
        Data on which claims are checked, by the names in `Claim.runs`; the first sample decides.
    figures : list of DrawnFigure
    sections : list of Section
        Further sections of the study's page.
    runs : dict
        Directories of the runs, for `claims.json`.
    failures : dict of slug to LeowarpError
    warnings : list of str
        Warnings for the top of the page, in addition to the failures.
    cost : str
        Measured cost of the runs.
    left_out : list of str
        As of `Reproduction`.
    skipped : dict of str to str
        Data sets that were not requested, with the reason: claims about them read "cannot be told". Skipped data sets
        do not count as failures.
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
