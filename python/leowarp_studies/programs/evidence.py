# SPDX-License-Identifier: Apache-2.0
"""The numbers that several claims, figures and tables use."""

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
"""A dict from the name of a data set to the data set. The claims need `runs`, and the figures also need `views`."""


def rows(frames: Frames, group: str, *, condition: str | None = MOVING, sender: str | None = None) -> pd.DataFrame:
    """Return the runs of a group. `condition` and `sender` restrict the result, and None means no restriction."""
    frame: pd.DataFrame = frames["runs"]
    mine = frame["group"] == group
    for column, value in (("condition", condition), ("sender", sender)):
        if value is not None:
            mine &= frame[column] == value
    return frame[mine]


def present(frames: Frames, group: str, among: Sequence[str] | None = None) -> list[str]:
    """Return the senders in `among` that have runs in a group, in the order of `among`. None means all of `SENDERS`."""
    have = set(rows(frames, group, condition=None)["sender"])
    wanted = [sender.name for sender in SENDERS] if among is None else among
    return [name for name in wanted if name in have]


def ratio(frames: Frames, group: str, sender: str, of: str, to: str, condition: str = MOVING) -> float:
    """Return the sum of the column `of` over a sender's runs, divided by the sum of the column `to`. The ratio is nan
    if the divisor is 0."""
    mine = rows(frames, group, condition=condition, sender=sender)
    below = float(mine[to].sum())
    return float(mine[of].sum()) / below if below else float("nan")


def median(frames: Frames, group: str, sender: str, column: str, condition: str = MOVING) -> Middle:
    """Return the median of a column over a sender's runs."""
    return middle(rows(frames, group, condition=condition, sender=sender)[column])


def listed(values: Mapping[str, float], scale: float = 1.0, digits: int = 0, unit: str = "") -> str:
    """Return a text such as `quinn 3 %, quic-go 4 %`, by sender. If a sender's value is missing, the text says
    "unknown"."""
    return ", ".join(
        f"{BY_NAME[name].label} " + (f"{value * scale:.{digits}f}{unit}" if value == value else "unknown")
        for name, value in values.items()
    )


def not_so(parts: Mapping[str, bool]) -> str:
    """Return a text with the parts of a claim that do not hold, by sender. The text is empty if all parts hold."""
    return claim.not_so({BY_NAME[name].label if name in BY_NAME else name: good for name, good in parts.items()})


def outcome(
    parts: Mapping[str, bool], measured: str, numbers: dict[str, Any], *, is_known: bool = True, because: str = ""
) -> Outcome:
    """Return the outcome of a claim. `parts` has one truth value per sender: whether the sender's part of the claim is
    true.

    is_known: True if the data that the claim needs exist. The verdict is "cannot be told" if `is_known` is false or
        `parts` is empty.
    because: The explanation that is appended to the list of parts that do not hold.
    """
    if not (parts and is_known):
        return Outcome("cannot be told", measured, numbers)
    verdict = holds_if(parts)
    return Outcome(verdict, measured, numbers, "" if verdict == "holds" else not_so(parts) + because)
