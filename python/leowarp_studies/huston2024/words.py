# SPDX-License-Identifier: Apache-2.0
"""Sentences and counts that several claims use in their texts."""

from __future__ import annotations

from typing import Any

from leowarp.study.claim import Outcome, holds_if
from leowarp_studies.huston2024 import evidence as ev
from leowarp_studies.huston2024.evidence import Frames
from leowarp_studies.huston2024.groups import CLEAN_PEAK, OFF_PEAK, PEAK

M = 1e-6

SESSION = "One flow of 60 s from the server to the dish, 20 seeds."
FEWER = "One flow of 60 s from the server to the dish, 10 seeds."
GOODPUT = "Goodput: bytes in order at the receiver over the whole session; medians over seeds."
PAIRED = "Seed by seed, on the same path: the median ratio, with its interval of 95 % confidence from order statistics."
CALIBRATED = (
    "The isolated loss of the presets was set so that CUBIC gets about what the study saw it get at peak and off-peak "
    "(design/starlink-profile.md)"
)
"""The note for a claim that is sure to hold, because the claimed value was used to calibrate the profile."""


def with_why(parts: dict[str, bool], text: str, numbers: dict[str, Any], why: str, cause: str) -> Outcome:
    """Return the outcome of a claim, with the measured value. If the claim holds, the outcome's text also contains
    `why`, the counts that explain the value. Otherwise, the outcome's cause is `cause`, which contains these counts."""
    if all(parts.values()):
        return Outcome(holds_if(parts), f"{text}. {why}", numbers, "")
    return Outcome(holds_if(parts), text, numbers, cause)


def counts(frames: Frames, variant: str, preset: str) -> dict[str, Any]:
    """Return the numbers of losses, cuts and recoveries for `claims.json`, in sessions whose traces are stored. If no
    traces are stored, the result is empty."""
    traces = frames["traces"].get((variant, preset), [])
    if not traces:
        return {}
    return {"lost_pkts": ev.loss_counts(traces), "cuts": ev.cut_counts(traces), "regrowth": ev.regrowth(traces)}


def elsewhere(frames: Frames, one: str, other: str) -> str:
    """Return the goodput ratio of two variants as a text, for two presets. Handovers matter more at these presets:
    off-peak, and at peak without isolated loss."""
    return ", ".join(
        f"{where} {ev.gain(frames, one, other, preset=preset).text(1, 3)} of {ev.label(other)}'s goodput"
        for where, preset in (("off-peak", OFF_PEAK), ("at peak without isolated loss", CLEAN_PEAK))
    )


def recovery_text(frames: Frames, *variants: str, preset: str = PEAK) -> str:
    """Return a text that explains a verdict. For each variant, the text gives the time in s from a handover until
    goodput has recovered."""
    rows = frames["sessions"]
    rows = rows[rows["preset"] == preset]
    return ", ".join(
        f"{ev.label(name)} is back {ev.over_seeds(rows, name, 'recovery_p50_ns').text(1e-9, 2)} s after a handover"
        for name in variants
    )
