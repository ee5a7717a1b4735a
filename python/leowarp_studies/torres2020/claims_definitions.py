# SPDX-License-Identifier: Apache-2.0
"""Claims 2.9 to 2.11: the study's equations (3) and (4), its first example, and E_r at two jitters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leowarp import reordering
from leowarp.study.claim import Claim, Outcome, holds_if, not_so
from leowarp_studies.torres2020 import evidence as ev
from leowarp_studies.torres2020.evidence import Frames
from leowarp_studies.torres2020.runs import BEYOND_US, SHAPE_US
from leowarp_studies.torres2020.simulation import THRESHOLD_PKTS

TWO_SEQUENCES = ((1, 2, 4, 5, 3, 6), (1, 2, 5, 4, 3, 6))
"""The two arrival sequences of section 2."""
LATE_RATIO = (1 / 6, 2 / 6)
"""The share of late packets in each sequence. The study states them as 16.6 % and 33.3 %."""
INVOLVED_RATIO = (3 / 6, 3 / 6)
"""The share of packets in each sequence that take part in reordering, namely packets 3, 4 and 5. The study gives 50
%."""

STUDY_ENTROPY_NATS = {0.8585: 3.3, 0.075: 0.75}
"""The approximate E_r in nats for normal jitter, from the study's text about figure 8. The keys are jitters in ms."""


# Implements claim 2.9 of torres2020 (section II).
def sums_of_density(frames: Frames) -> Outcome:
    """Test equations (3) and (4) with numbers of packets. By (3), each packet has exactly one displacement. By (4), the
    displacements sum to 0.

    The sum of normalised values is always 1, so equation (3) is tested with counts. The number of packets in RD plus
    the number beyond the threshold must equal the number of packets that arrived. If no packet is beyond the threshold,
    the mean in equation (4) must be exactly 0.

    Returns: Numbers by `<distribution>_<jitter>_ms`: `counted_ratio` (packets in RD or beyond the threshold, divided by
        the received packets), `beyond_ratio`, `mean_pkts` (sum i RD[i]).
    """
    counted_ratio, beyond_ratio, mean_pkts = {}, {}, {}
    for (name, jitter_ms), rd in frames["counted"].items():
        key = f"{name}_{jitter_ms:g}_ms"
        counted_ratio[key] = (int(rd.pkts.sum()) + rd.beyond_pkts) / rd.received_pkts
        beyond_ratio[key] = rd.beyond_pkts / rd.received_pkts
        mean_pkts[key] = rd.mean_pkts
    inside = [key for key, ratio in beyond_ratio.items() if ratio == 0]
    beyond = [key for key, ratio in beyond_ratio.items() if ratio > 0]
    parts = {
        "(3)": all(value == 1 for value in counted_ratio.values()),
        "(4), no packet beyond the threshold": bool(inside) and all(abs(mean_pkts[key]) < 1e-9 for key in inside),
        # The tolerance of the mean displacement is 0.01 packets. If each of 65,535 packets were displaced by 80 packets
        # in a random direction, the mean would deviate from 0 by more than 0.01.
        "(4), packets beyond it": all(abs(mean_pkts[key]) < 0.01 for key in beyond),
    }
    cause = ""
    if not parts["(4), packets beyond it"]:
        cause = (
            f"a packet displaced by more than the threshold of {THRESHOLD_PKTS} packets counts as lost, and its "
            "displacement is missing from the sum; those of the packets that it overtook or that overtook it are not: "
            + "; ".join(f"{key}: {beyond_ratio[key]:.1%} beyond, sum i RD[i] = {mean_pkts[key]:+.3f}" for key in beyond)
        )
    elif not all(parts.values()):
        cause = f"{not_so(parts)}; the library counts otherwise"
    return Outcome(
        holds_if(parts),
        "packets in RD and beyond the threshold over those received: "
        + ", ".join(f"{key} {value:g}" for key, value in counted_ratio.items())
        + "; sum i RD[i], packets: "
        + ", ".join(f"{key} {abs(value) and value:.3g}" for key, value in mean_pkts.items()),
        {"counted_ratio": counted_ratio, "beyond_ratio": beyond_ratio, "mean_pkts": mean_pkts},
        cause,
    )


# Implements claim 2.10 of torres2020 (section II).
def percentages_mislead(frames: Frames) -> Outcome:
    """Compute the percentage of packets out of order in the study's two sequences, by three definitions. MD and E_r are
    computed too.

    A packet is "late" if it arrives after a packet that was sent later (RFC 4737). A packet is "involved" if it
    overtook a packet, or was overtaken by a packet. By the study's own equation 1, a packet is "displaced" if its
    displacement is not 0. Packet 4 of the second sequence is not displaced.

    Returns: Numbers, each with one value per sequence: `late_ratio`, `involved_ratio`, `displaced_ratio`,
        `mean_displacement_pkts`, `entropy_nats`.
    """
    late = [float(reordering.ratio(np.array(sequence)) or 0.0) for sequence in TWO_SEQUENCES]
    involved = [_involved_ratio(sequence) for sequence in TWO_SEQUENCES]
    densities = [reordering.density(np.array(sequence), threshold_pkts=THRESHOLD_PKTS) for sequence in TWO_SEQUENCES]
    displaced = [1 - float(rd.share[rd.displacement_pkts == 0].sum()) for rd in densities]
    parts = {
        "late: 16.6 % and 33.3 %": bool(np.allclose(late, LATE_RATIO)),
        "3, 4 and 5: 50 % in both": bool(np.allclose(involved, INVOLVED_RATIO)),
        # If packets 3, 4 and 5 are counted, both sequences have equal reordering. If late packets are counted, one
        # sequence has twice as much reordering as the other. One percentage of reordering is therefore not enough to
        # describe a sequence.
        "readings disagree": bool(np.isclose(involved[0], involved[1])) and not np.isclose(late[0], late[1]),
    }
    return Outcome(
        holds_if({what: bool(held) for what, held in parts.items()}),
        f"late {_percentages(late)}; overtook or was overtaken {_percentages(involved)}; displaced (equation 1) "
        f"{_percentages(displaced)}; MD {' and '.join(f'{rd.mean_displacement_pkts:.3f}' for rd in densities)}; E_r "
        f"{' and '.join(f'{rd.entropy_nats:.3f}' for rd in densities)}",
        {"late_ratio": late, "involved_ratio": involved, "displaced_ratio": displaced,
         "mean_displacement_pkts": [rd.mean_displacement_pkts for rd in densities],
         "entropy_nats": [rd.entropy_nats for rd in densities]},
        not_so(parts),
    )  # fmt: skip


# Implements claim 2.11 of torres2020 (figure 8).
def entropy_at_two_jitters(frames: Frames) -> Outcome:
    """Measure the E_r of the path without TCP. The two jitters are those at which the study's algorithms collapse.

    Returns: Numbers by jitter: `entropy_nats`.
    """
    found = {}
    for jitter_ms in STUDY_ENTROPY_NATS:
        probes = frames["probes"]
        mine = probes[(probes["distribution"] == "normal") & (probes["jitter_ns"] == round(jitter_ms * 1e6))]
        found[f"{jitter_ms:g} ms"] = float(mine["entropy_nats"].iloc[0]) if len(mine) else float("nan")
    off = {key: value - STUDY_ENTROPY_NATS[float(key.split()[0])] for key, value in found.items()}
    # The study gives "approximate" values with two digits, so the tolerance is 0.1.
    parts = {key: abs(value) <= 0.1 for key, value in off.items()}
    tight = all(abs(value) <= 0.05 for value in off.values())
    cause = "" if all(parts.values()) else "; ".join(
        f"{key}: by arithmetic without a kernel E_r is {ev.simulated_entropy('normal', float(key.split()[0])):.3f}"
        for key, held in parts.items() if not held
    )  # fmt: skip
    return Outcome(
        holds_if(parts),
        ", ".join(f"E_r {value:.3f} at {key} ({off[key]:+.3f})" for key, value in found.items())
        + f"; both within 0.05: {'yes' if tight else 'no'}",
        {"entropy_nats": found},
        cause,
    )


def _involved_ratio(sequence: Sequence[int]) -> float:
    """Return the share of the packets that overtook a packet, or were overtaken by a packet.

    >>> _involved_ratio((1, 3, 2, 4))
    0.5
    """
    arrived = np.array(sequence)
    # For each pair of packets, this code finds whether the packet that arrived first was sent later.
    turned = np.triu(arrived[:, None] > arrived[None, :])
    return float((turned.any(axis=0) | turned.any(axis=1)).mean())


def _percentages(ratios: Sequence[float]) -> str:
    """Return two ratios as text."""
    return " and ".join(f"{ratio:.1%}" for ratio in ratios)


CLAIMS = (
    Claim("2.9", "The sum of RD is 1 (3), and the sum of i RD[i] is 0 (4).", "II",
          f"Probes with jitter of {SHAPE_US / 1e3:g} and {BEYOND_US / 1e3:g} ms, threshold 200. (a) Packets counted in "
          "RD and those beyond the threshold are all that were received, for each; (b) the sum of i RD[i] is exactly 0 "
          "where no packet is beyond the threshold; (c) it is less than 0.01 packets where there are such packets. "
          "All: holds; some: partly.", ("counted",), sums_of_density, by_construction=True),
    Claim("2.10", "A percentage does not capture all the characteristics of the disorder: (1,2,4,5,3,6) and "
          "(1,2,5,4,3,6) have 50 % out of order both, or 16.6 % and 33.3 %.", "II",
          "The library that measures every run. (a) Late packets (RFC 4737); (b) packets that overtook one or were "
          "overtaken; (c) by (b) the sequences are equal and by (a) not. All: holds; some: partly.", (),
          percentages_mislead, by_construction=True),
    Claim("2.11", "E_r of a path with normal jitter is 3.3 at 0.8585 ms and 0.75 at 0.075 ms.", "8",
          "Probes: E_r within 0.1 of each (0.05 is given too). Both: holds; one: partly.", ("probes",),
          entropy_at_two_jitters),
)  # fmt: skip
