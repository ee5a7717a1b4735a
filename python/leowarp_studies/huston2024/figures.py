# SPDX-License-Identifier: Apache-2.0
"""The reproduced figures 2 to 9 of the study, and leowarp's figures for the table and for causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from leowarp.study import DrawnFigure, drawing
from leowarp.study.drawing import Kind
from leowarp.study.statistics import HOW
from leowarp_studies.huston2024 import figures_path as path
from leowarp_studies.huston2024 import figures_table as table
from leowarp_studies.huston2024 import figures_tcp as tcp
from leowarp_studies.huston2024.groups import OFF_PEAK, PEAK
from leowarp_studies.huston2024.rules import Rules


def draw(frames: Mapping[str, Any], folder: Path, rules: Rules) -> list[DrawnFigure]:
    """Draw all figures into `folder`. If a figure's data are missing, its result gives the reason.

    frames: A dict from name to data set.
    folder: The folder for the figures, which is created if missing.
    """
    return drawing.draw(KINDS, frames, folder, rules)


_SESSION = (
    "Above: bytes delivered, SACK-aware, in 0.2 s bins, against the link's capacity (grey); the title has goodput. "
    "Below: congestion window; marks on top: lost packets by where they fell. Pink: reconfigurations. One seed."
)


def _session(stem: str, figure: str, variant: str, preset: str, name: str) -> Kind:
    """Return a figure of one session over time. `figure` is the study's figure of this session, or empty if the study
    has none."""
    title = f"{figure}: {name}" if figure else name

    def drawn(frames: Mapping[str, Any], rules: Rules) -> Figure:
        return tcp.session(frames, rules, variant, preset)

    return Kind(stem, title, _SESSION, ("shown",), drawn)


KINDS: Sequence[Kind[Rules]] = (
    Kind("fig2-capacity", "Fig. 2: capacity tests, August 2023 to March 2024",
         "Each dot a test every four hours: parallel CUBIC connections, down, then up, a run of its own each. Right: "
         "distribution; dotted: the study's median and extremes.", ("capacity",), path.capacity),
    Kind("fig3-ping", "Fig. 3: flood ping", "Round-trip time of every probe by when it was sent; the marks on the axis "
         "are lost ones, pink lines reconfigurations.", ("flood_view",), path.pings),
    Kind("fig4-handover", "Fig. 4: a handover", "The reconfiguration with the largest round-trip time.",
         ("flood_view",), path.handover),
    Kind("fig5-jitter", "Fig. 5: within the slots", "As figure 3 without the second around each reconfiguration; "
         "steps: the smallest round-trip time of each slot.", ("flood_view",), path.between),
    _session("fig6-cubic-peak", "Fig. 6", "cubic", PEAK, "CUBIC, peak"),
    _session("fig7-cubic-off-peak", "Fig. 7", "cubic", OFF_PEAK, "CUBIC, off-peak"),
    _session("fig8-bbr-peak", "Fig. 8", "bbr", PEAK, "BBR, peak"),
    _session("fig9-bbr-off-peak", "Fig. 9", "bbr", OFF_PEAK, "BBR, off-peak"),
    _session("reno-peak", "", "reno", PEAK, "Reno, peak"),
    Kind("cuts", "Which losses cut the window", "Cuts of the congestion window a session, by the first loss before "
         "each; mean over seeds; of the study's own, its cures, and CUBIC without SACK. BBR has no such cuts. A cut "
         "without a loss is an ECN mark or the end of slow start.", ("traces",), tcp.cuts),
    Kind("table", "All variants", f"Filled: at peak; hollow: off-peak; {HOW}. Recovery: from a "
         "reconfiguration until goodput is back at 90 % of the second before, median over those of a session. Share: "
         "of what it and one CUBIC flow have together, at peak.", ("sessions", "beside"), table.everything),
    Kind("sensitivity", "Isolated loss", "Goodput at peak against the loss that the link inflicts at any time, in each "
         f"direction; {HOW}.", ("losses",), table.sensitivity),
    Kind("phase", "A schedule that is wrong", "Goodput of the handover-aware congestion controls over that of the one "
         f"they are made from, same seeds, by how much too late they take the reconfigurations to be; {HOW}.",
         ("phases", "sessions"), table.wrong_phase),
)  # fmt: skip
"""The figures in the order of the page."""
