# SPDX-License-Identifier: Apache-2.0
"""Texts that contain numbers of runs. They are used in the measured results and in the causes of verdicts."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from leowarp.study.claim import Outcome, Sample
from leowarp_studies.frederiksen2024 import evidence as ev
from leowarp_studies.frederiksen2024.evidence import NAMES
from leowarp_studies.frederiksen2024.runs import SCENARIOS

NONE_TO_TEST = Outcome("cannot be told", "no route change of these runs made a packet late or lost one")
"""The outcome of a claim about reordering if no reordering occurred, so that the claim was not tested."""
LATE = "changes with late packets, or with packets lost otherwise than at a queue"
"""A wording that several descriptions of tests contain."""


def each(values: Mapping[str, float], unit: str, digits: int) -> str:
    """Return the numbers of several runs as one text."""
    return ", ".join(f"{NAMES[slug]} {value:.{digits}f} {unit}".rstrip() for slug, value in values.items())


def percent(values: Mapping[str, float]) -> str:
    """Return the ratios of several runs as one text, in percent."""
    return ", ".join(f"{NAMES[slug]} {value:.2%}" for slug, value in values.items())


def plain(values: Mapping[str, float], unit: str, digits: int = 0) -> str:
    """Return the numbers of several algorithms as one text. If there was nothing to measure, the number is nan, and the
    text says "unknown"."""
    return ", ".join(
        f"{NAMES[slug]} unknown" if np.isnan(value) else f"{NAMES[slug]} {value:.{digits}f} {unit}"
        for slug, value in values.items()
    )


def yes(value: bool) -> str:
    """Return "yes" or "no"."""
    return "yes" if value else "no"


def sender_texts(sample: Sample, slugs: tuple[str, ...]) -> str:
    """Return the TCP counters of the senders in several runs as a text."""
    return "; ".join(f"{NAMES[slug]}: {ev.counters_text(sample[slug])}" for slug in slugs)


def dips_text(sample: Sample, slugs: tuple[str, ...], share: float) -> str:
    """Return a text that explains a verdict. The text gives the number of bins with low goodput, separately for each
    kind of event before them."""
    return "; ".join(f"{NAMES[slug]}: {ev.dips_text(sample[slug], share)}" for slug in slugs)


def changes_text(sample: Sample) -> str:
    """Return a text that explains a verdict. For each scenario, it gives the number of route changes, and the numbers
    of late, retransmitted and lost packets."""
    parts = []
    for slug in SCENARIOS:
        changes = sample[slug].changes
        late = changes[changes["late_pkts"].fillna(0) > 0]
        parts.append(
            f"{NAMES[slug]}: {len(changes)} route changes, {len(late)} with late packets "
            f"({int(late['late_pkts'].sum())} late, {int(changes['spurious_retransmissions_pkts'].sum())} of "
            f"{int(changes['retransmissions_pkts'].sum())} spurious retransmissions, "
            f"{int(changes['lost_pkts'].sum())} lost)"
        )
    return "; ".join(parts)


def reordered_text(sample: Sample, slugs: tuple[str, ...]) -> str:
    """Return a text that explains a verdict. For each algorithm, it gives the number of route changes with late
    packets, and the number of retransmissions after them."""
    parts = []
    for slug in slugs:
        changes = ev.disturbed(sample[slug])
        again, spurious = changes["retransmissions_pkts"].sum(), changes["spurious_retransmissions_pkts"].sum()
        parts.append(
            f"{NAMES[slug]}: {len(changes)} of {len(sample[slug].changes)} changes made packets late or lost some, "
            f"followed by {int(again)} "
            f"retransmissions of which {int(spurious)} were spurious"
        )
    return "; ".join(parts)
