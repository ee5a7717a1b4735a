# SPDX-License-Identifier: Apache-2.0
"""Numbers that claims, figures and tables share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from leowarp.study import claim
from leowarp.study.claim import Outcome, holds_if
from leowarp.study.statistics import Middle, middle
from leowarp_studies.programs.runs import MOVING
from leowarp_studies.programs.senders import BY_NAME, SENDERS

Frames = Mapping[str, Any]
"""The study's data sets by name: `runs`, and for figures `views`."""


def rows(frames: Frames, group: str, *, condition: str | None = MOVING, sender: str | None = None) -> pd.DataFrame:
    """Runs of a group, under one condition or under both (None), of one sender or of all."""
    frame: pd.DataFrame = frames["runs"]
    mine = frame["group"] == group
    for column, value in (("condition", condition), ("sender", sender)):
        if value is not None:
            mine &= frame[column] == value
    return frame[mine]


def present(frames: Frames, group: str, among: Sequence[str] | None = None) -> list[str]:
    """Those of these senders (or of all) that have runs in a group, in order."""
    have = set(rows(frames, group, condition=None)["sender"])
    wanted = [sender.name for sender in SENDERS] if among is None else among
    return [name for name in wanted if name in have]


def ratio(frames: Frames, group: str, sender: str, of: str, to: str, condition: str = MOVING) -> float:
    """Sum of a column over a sender's runs by that of another; nan if the latter is 0."""
    mine = rows(frames, group, condition=condition, sender=sender)
    below = float(mine[to].sum())
    return float(mine[of].sum()) / below if below else float("nan")


def median(frames: Frames, group: str, sender: str, column: str, condition: str = MOVING) -> Middle:
    """Median of a column over a sender's runs."""
    return middle(rows(frames, group, condition=condition, sender=sender)[column])


def listed(values: Mapping[str, float], scale: float = 1.0, digits: int = 0, unit: str = "") -> str:
    """`quinn 3 %, quic-go 4 %`, by sender; a value that is not known reads "unknown"."""
    return ", ".join(
        f"{BY_NAME[name].label} " + (f"{value * scale:.{digits}f}{unit}" if value == value else "unknown")
        for name, value in values.items()
    )


def not_so(parts: Mapping[str, bool]) -> str:
    """Parts of a claim that do not hold, by sender; empty if all do."""
    return claim.not_so({BY_NAME[name].label if name in BY_NAME else name: good for name, good in parts.items()})


def outcome(
    parts: Mapping[str, bool], measured: str, numbers: dict[str, Any], *, is_known: bool = True, because: str = ""
) -> Outcome:
    """The result of a claim's parts, by sender.

    is_known: Whether there is what the claim asks for; without parts there is not, either.
    because: Stands behind the parts that do not hold.
    """
    if not (parts and is_known):
        return Outcome("cannot be told", measured, numbers)
    verdict = holds_if(parts)
    return Outcome(verdict, measured, numbers, "" if verdict == "holds" else not_so(parts) + because)
