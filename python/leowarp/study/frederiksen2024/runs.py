# SPDX-License-Identifier: Apache-2.0
"""The runs: the study's five, further samples of them, and those that tell causes apart.

The study runs each algorithm once over one stretch of time. Further samples at other times of the constellation show
how much of a result is that stretch; classic TCP and the emulator's links show how much is the kernel and how much the
links.
"""

from __future__ import annotations

from leowarp.study.directory import ExampleRun

BASE, NINE, CAPE = "madrid-tokyo.toml", "madrid-tokyo-nine-planes.toml", "aalborg-cape-town.toml"
"""Example scenarios of the study's three paths."""
CLASSIC, EMULATOR = "madrid-tokyo-classic.toml", "madrid-tokyo-emulator.toml"
"""The baseline on classic TCP, and on links as the study's emulator made them."""
CC = "flows.0.congestion_control"
"""The key that the runs differ in."""

ALGORITHMS = ("reno", "cubic", "bbr")
"""In the order in which texts and figures have them."""
SCENARIOS = ("cubic", "nine-planes", "aalborg-cape-town")
"""Slugs of the three scenarios with CUBIC."""

CORE = (
    ExampleRun("reno", BASE, {CC: "reno"}, "baseline, Reno"),
    ExampleRun("cubic", BASE, {CC: "cubic"}, "baseline, CUBIC"),
    ExampleRun("bbr", BASE, {CC: "bbr"}, "baseline, BBR"),
    ExampleRun("nine-planes", NINE, {CC: "cubic"}, "9 orbital planes, CUBIC"),
    ExampleRun("aalborg-cape-town", CAPE, {CC: "cubic"}, "Aalborg to Cape Town, CUBIC"),
)
"""The study's five runs."""

# A run lasts 1000 s, so that the samples have no stretch in common.
SAMPLE_STARTS_S = (0, 1000, 2000)
"""Constellation clock at which each sample begins: the first is the study's, the others tell how much is chance."""

CLASSIC_RUNS = tuple(
    ExampleRun(f"classic-{name}", CLASSIC, {CC: name}, f"TCP without RACK, timestamps and DSACK: {name}")
    for name in ALGORITHMS
)
"""TCP without RACK (RFC 8985), timestamps and DSACK: three duplicate ACKs mean a loss."""
EMULATOR_RUNS = tuple(
    ExampleRun(f"emulator-{name}", EMULATOR, {CC: name}, f"links as the study's emulator made them: {name}")
    for name in ALGORITHMS
)
"""Links of `netem delay <whole ms> rate 100mbit limit 500`, as the study's emulator made them."""

RAISED = {"net.ipv4.tcp_reordering": "300", "net.ipv4.tcp_max_reordering": "300"}
"""The raised threshold: 300 duplicate ACKs, which is also the most that Linux adapts to by itself."""

THIN = {"flows.0.rate": "5 Mbit/s", "isl.loss": "0.01 %"}
"""A flow with some 40 packets in flight: fewer than the raised threshold ever sees as duplicate ACKs."""

THRESHOLD_RUNS = (
    # Linux as it is beside classic TCP: RACK heeds no threshold once it has seen reordering (tcp_rack_reo_wnd).
    ExampleRun("threshold-300-linux", BASE, {CC: "cubic", "tcp.sysctl": RAISED}, "Linux 6.12, threshold 300"),
    ExampleRun("threshold-300-classic", CLASSIC, {CC: "cubic", "tcp.sysctl": RAISED}, "classic TCP, threshold 300"),
    ExampleRun(
        "threshold-3-lossy", CLASSIC, {CC: "cubic", "isl.loss": "0.001 %"}, "classic TCP, threshold 3, links that lose"
    ),
    ExampleRun(
        "threshold-300-lossy", CLASSIC, {CC: "cubic", "tcp.sysctl": RAISED, "isl.loss": "0.001 %"},
        "classic TCP, threshold 300, links that lose",
    ),
    ExampleRun(
        "threshold-3-thin", CLASSIC, {CC: "cubic", **THIN}, "classic TCP, threshold 3, a thin flow, links that lose"
    ),
    ExampleRun(
        "threshold-300-thin", CLASSIC, {CC: "cubic", "tcp.sysctl": RAISED, **THIN},
        "classic TCP, threshold 300, a thin flow, links that lose",
    ),
)  # fmt: skip
"""For claim 1.19: does the threshold absorb the reordering, and is a real loss still found without a timeout?"""


def all_runs(samples: int = len(SAMPLE_STARTS_S)) -> tuple[ExampleRun, ...]:
    """Every run, the study's five first; `samples` of each of those five.

    Parameters
    ----------
    samples : int
        1 to 3.

    Returns
    -------
    tuple of ExampleRun
        Slugs are unique.
    """
    return (*CORE, *further_samples(samples), *CLASSIC_RUNS, *EMULATOR_RUNS, *THRESHOLD_RUNS)


def further_samples(samples: int) -> tuple[ExampleRun, ...]:
    """The five runs at other times of the constellation.

    Parameters
    ----------
    samples : int
        How many in all, the study's own counted: of 1 there are none.
    """
    return tuple(
        ExampleRun(
            sample_slug(run.slug, start_s), run.example, {**run.set, "run.start": f"{start_s} s"},
            f"{run.why}, from {start_s} s of the constellation's clock on",
        )
        for start_s in SAMPLE_STARTS_S[1:samples]
        for run in CORE
    )  # fmt: skip


def sample_slug(slug: str, start_s: int) -> str:
    """Slug of a run's sample.

    >>> sample_slug("cubic", 0), sample_slug("cubic", 1000)
    ('cubic', 'cubic-at-1000-s')
    """
    return slug if start_s == 0 else f"{slug}-at-{start_s}-s"
