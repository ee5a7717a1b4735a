# SPDX-License-Identifier: Apache-2.0
"""The reproduced figures 2 to 9 of the study, and figures that explain the causes of results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leowarp import Run, TraceError
from leowarp.report import FIGURES, figure, save
from leowarp.study import DrawnFigure
from leowarp_studies.frederiksen2024.runs import ALGORITHMS, CLASSIC_TCP, EMULATOR_LINKS, SCENARIOS

TITLE = "End-to-End Delivery in LEO Mega-constellations and the Reordering Problem, re-made"
"""The heading of the page."""
LEAD = (
    "R. S. Frederiksen, T. G. Mulvad, I. Leyva-Mayorga, T. K. Madsen and F. Chiariotti (2024) run Reno, CUBIC and BBR "
    "over an emulated OneWeb-like constellation whose routes change every 30 s. Here the same scenarios run on Linux "
    "6.12's own TCP in virtual time. A claim that does not hold on this kernel is a finding about the kernel, the "
    "links or the test; the table says which, from counts in the trace."
)
"""The first paragraph of the page."""

EMULATOR = tuple(map(EMULATOR_LINKS.slug, ALGORITHMS))
"""The names of the runs on the emulator's links."""
CLASSIC = tuple(map(CLASSIC_TCP.slug, ALGORITHMS))
"""The names of the runs on classic TCP."""
EMULATOR_SCENARIOS = tuple(map(EMULATOR_LINKS.slug, SCENARIOS))
CLASSIC_SCENARIOS = tuple(map(CLASSIC_TCP.slug, SCENARIOS))
STAGGERED = tuple(f"staggered-emulator-{name}" for name in ALGORITHMS)
"""The names of the runs on the emulator's links in which the nodes switch one by one."""


@dataclass(frozen=True)
class StudyFigure:
    """A figure of leowarp that reproduces a figure of the study, with its runs.

    stem: The name of the figure's files.
    name: The name of the figure in `leowarp.report.FIGURES`, which can draw it for any runs.
    runs: The names of the runs that the figure shows.
    options: The further arguments for the figure.
    """

    stem: str
    name: str
    runs: tuple[str, ...]
    title: str
    options: Mapping[str, Any] = field(default_factory=dict)


STUDY_FIGURES = (
    StudyFigure("fig2-packets", "packets", ("cubic",), "Fig. 2: a route change, packet by packet"),
    StudyFigure("fig3-map", "map", ("cubic",), "Fig. 3: the route, before and after that change"),
    StudyFigure("fig4-goodput-cdf", "goodput_cdf", ALGORITHMS, "Fig. 4: goodput"),
    StudyFigure("fig5-rtt-ccdf", "rtt_ccdf", ALGORITHMS, "Fig. 5: round-trip time"),
    StudyFigure("fig6-goodput", "goodput", ALGORITHMS, "Fig. 6: goodput over ten minutes", {"end_s": 600.0}),
    StudyFigure("fig7-cwnd", "cwnd", ALGORITHMS, "Fig. 7: window and retransmissions after a change"),
    StudyFigure("fig8-srtt", "srtt", ALGORITHMS, "Fig. 8: round-trip time after a change"),
    StudyFigure("fig9a-rtt-ccdf", "rtt_ccdf", SCENARIOS, "Fig. 9a: round-trip time in the three scenarios"),
    StudyFigure("fig9b-goodput-cdf", "goodput_cdf_log", SCENARIOS, "Fig. 9b: goodput in the three scenarios"),
    StudyFigure("queues", "queues", ALGORITHMS, "Where the queue stands"),
    StudyFigure("queues-change", "queues_change", ALGORITHMS, "Queues around the changes of figures 7 and 8"),
    StudyFigure("classic-goodput", "goodput", CLASSIC, "Classic TCP: goodput", {"end_s": 600.0}),
    StudyFigure("classic-cwnd", "cwnd", CLASSIC, "Classic TCP: window and retransmissions after a change"),
    StudyFigure("classic-rtt-ccdf", "rtt_ccdf", CLASSIC_SCENARIOS,
                "Classic TCP: round-trip time in the three scenarios"),
    StudyFigure("classic-goodput-cdf", "goodput_cdf_log", CLASSIC_SCENARIOS,
                "Classic TCP: goodput in the three scenarios"),
    StudyFigure("emulator-goodput", "goodput", EMULATOR, "The study's own links: goodput", {"end_s": 600.0}),
    StudyFigure("emulator-cwnd", "cwnd", EMULATOR, "The study's own links: window and retransmissions after a change"),
    StudyFigure("emulator-srtt", "srtt", EMULATOR, "The study's own links: round-trip time after a change"),
    StudyFigure("emulator-rtt-ccdf", "rtt_ccdf", EMULATOR_SCENARIOS,
                "The study's own links: round-trip time in the three scenarios"),
    StudyFigure("emulator-goodput-cdf", "goodput_cdf_log", EMULATOR_SCENARIOS,
                "The study's own links: goodput in the three scenarios"),
    StudyFigure("staggered-cwnd", "cwnd", STAGGERED,
                "Routes that switch node by node: window and retransmissions after a change"),
)  # fmt: skip
"""The figures in the order of the page: the study's figures 2 to 9, then figures that explain causes."""


def draw(views: Mapping[str, Run], folder: Path) -> list[DrawnFigure]:
    """Draw into `folder` all figures whose runs exist.

    views: The views of the runs, by name of the run.
    folder: The folder for the figures, which is created if missing.
    Returns: One result per entry of `STUDY_FIGURES`. If a figure could not be drawn, its result gives the reason.
    """
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for item in STUDY_FIGURES:
        # The caption comes from the report, so that a figure has the same caption for a study and for a run.
        caption, missing = FIGURES[item.name].caption, None
        # A figure compares several runs. If a run is missing, the figure is left out, because it would not show what
        # its title says.
        absent = [slug for slug in item.runs if slug not in views]
        if absent:
            missing = f"the run {absent[0]} is missing"
        else:
            try:
                options = dict(item.options)
                end_s = min(views[slug].end_ns for slug in item.runs) / 1e9
                if "end_s" in options:
                    # A trial (`--duration 60 s`) is shorter than the ten minutes that figure 6 shows.
                    options["end_s"] = min(options["end_s"], end_s)
                save(figure([views[slug] for slug in item.runs], item.name, **options), folder / item.stem)
            except TraceError as error:
                # If a trial run is too short to contain a route change, the page shows a message instead of the figure.
                missing = error.message
        drawn.append(DrawnFigure(item.stem, item.title, caption, missing))
    return drawn
