# SPDX-License-Identifier: Apache-2.0
"""The reproduced figures 3 to 7 of the study, and leowarp's figures for the study's text and for causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leowarp.study import DrawnFigure, drawing
from leowarp.study.drawing import Kind
from leowarp.study.statistics import HOW
from leowarp_studies.tauran2018 import figures_curves as curves
from leowarp_studies.tauran2018 import figures_more as more
from leowarp_studies.tauran2018.rules import Rules


def draw(frames: Mapping[str, Any], folder: Path, rules: Rules) -> list[DrawnFigure]:
    """Draw all figures into `folder`. If a figure has no data, its result has the reason."""
    return drawing.draw(KINDS, frames, folder, rules)


KINDS: Sequence[Kind[Rules]] = (
    Kind("fig3-goodput", "Fig. 3: goodput without resequencing",
         f"Packets overtake each other as HARQ decodes them; {HOW}.", ("sessions",), curves.goodput),
    Kind("fig4-signs", "Fig. 4: timeouts, duplicate ACKs, spurious retransmissions without resequencing",
         f"Each per packet sent; {HOW}.", ("sessions",), curves.signs),
    Kind("fig5-resequencing", "Fig. 5: the same with resequencing",
         f"The link hands packets on in order; counts per packet sent; {HOW}.", ("sessions",), curves.resequencing),
    Kind("fig6-window", "Fig. 6: growth of the window",
         "One flow, nothing is lost, no HARQ, a deep queue; dotted: the path's bandwidth-delay product. Linux's "
         "NewReno and CUBIC grow their windows by segments acknowledged, modules that are alike in all else by ACKs.",
         ("growth",), more.window),
    Kind("fig7-timeouts", "Fig. 7: retransmissions by timeout, with resequencing",
         "Packets sent again by the retransmission timer or in the slow start after it, per packet sent; "
         f"{HOW}.", ("sessions",), curves.timeouts),
    Kind("timers", "RTT variation and RTO, with resequencing",
         "Of the sender's socket, median by time. Linux's RTO is SRTT and four times the variation, at least SRTT and "
         f"200 ms; {HOW}.", ("sessions",), curves.timers),
    Kind("link", "What HARQ leaves",
         "Left: packets lost for good; the study's text has 4 % at 7 dB and less than 0.5 % at 13 dB; "
         f"{HOW}. Right: codewords of all seeds by how many retransmissions decode them (means over the seeds, which "
         "add up to 100 %).", ("sessions", "codewords"), more.link),
    Kind("waits", "How long the first packet of a pair waits for its ACK",
         "ACKs of two segments, delayed ACKs on, with resequencing, one seed; the study: over 10 ms in a tenth of the "
         "cases.", ("traces",), more.waits),
    Kind("profiles", "The same on other TCPs", f"Goodput by profile and delayed ACKs at one SNR; {HOW}.",
         ("profiles",), more.profiles),
    Kind("assumptions", "What hangs on what the study does not say",
         f"One assumption at a time against those of all other figures (first row), 10 dB; {HOW}.", ("assumptions",),
         more.assumptions),
)  # fmt: skip
