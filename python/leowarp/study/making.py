# SPDX-License-Identifier: Apache-2.0
"""Request to a study and its result: the two values that pass between `reproduce` and a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leowarp.base.errors import LeowarpError
from leowarp.study.page import DrawnFigure, Section


@dataclass(frozen=True)
class Making:
    """How runs are made, whichever the study: where, how many at once, with which kernel.

    Attributes
    ----------
    folder : Path
        The study's directory; it exists.
    at_once : int, optional
        Runs at a time; as many as there are usable cores if not given.
    kernel : path, optional
        Another guest kernel than the scenarios'.
    force : bool
        Whether complete runs are re-run.
    progress : bool or callable
        As for `reproduce`.
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
        What claims are judged on, by the names that `Claim.runs` uses; the first sample decides.
    figures : list of DrawnFigure
    sections : list of Section
        The rest of its page.
    runs : dict
        Where the runs are, for `claims.json`.
    failures : dict of slug to LeowarpError
    warnings : list of str
        For the top of the page, besides the failures.
    cost : str
        What the runs took, as measured.
    left_out : list of str
        As of `Reproduction`.
    skipped : dict of str to str
        Data sets that were not asked for, and why: claims on them read "cannot be told". No failure.
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
