# SPDX-License-Identifier: Apache-2.0
"""Studies of two kinds. In a user's own study, one file describes many runs. The reproduction of a published study
checks each of its claims.

>>> run_study("queue-sweep.toml").table().to_pandas()     # doctest: +SKIP
>>> reproduce("frederiksen2024").claims[0]["verdict"]      # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leowarp.study.claim import Claim, Outcome
    from leowarp.study.discovery import Room, studies
    from leowarp.study.making import Making, Material
    from leowarp.study.page import DrawnFigure, Section
    from leowarp.study.reproduction import Reproduction, reproduce
    from leowarp.study.sweep import StudyFile, StudyProgress, StudyResult, StudyRun, run_study

# Modules are imported on first use, because a worker of a study does not need the figures.
_PUBLIC = {
    "Claim": "claim",
    "DrawnFigure": "page",
    "Making": "making",
    "Material": "making",
    "Outcome": "claim",
    "Reproduction": "reproduction",
    "Room": "discovery",
    "Section": "page",
    "StudyFile": "sweep",
    "StudyProgress": "sweep",
    "StudyResult": "sweep",
    "StudyRun": "sweep",
    "reproduce": "reproduction",
    "run_study": "sweep",
    "studies": "discovery",
}

__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name in _PUBLIC:
        return getattr(importlib.import_module(f"leowarp.study.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'leowarp.study' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return also the names that are not loaded yet, so that completion offers them."""
    return [*globals(), *_PUBLIC]
