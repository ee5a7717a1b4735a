# SPDX-License-Identifier: Apache-2.0
"""Runs of the study: the published runs with three combinations of TCP and links, and further runs that separate
causes.

The study runs each algorithm once, over one period of time. The study does not name its kernel, and does not use Eifel.
leowarp checks claims on default Linux, on classic TCP, and over the links of the study's emulator. Each further
condition changes one property: the start time, the sky, the end points, the queues, or the switching of routes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leowarp.study.directory import ExampleRun

BASE, NINE, CAPE = "madrid-tokyo.toml", "madrid-tokyo-nine-planes.toml", "aalborg-cape-town.toml"
"""The example scenarios of the study's three paths."""
CLASSIC, EMULATOR = "madrid-tokyo-classic.toml", "madrid-tokyo-emulator.toml"
"""The example scenarios that use the path of the baseline. One has classic TCP, and one has the emulator's links."""
CC = "flows.0.congestion_control"
"""The scenario key that differs between the study's runs."""

ALGORITHMS = ("reno", "cubic", "bbr")
"""The congestion controls, in the order of texts and figures."""
SCENARIOS = ("cubic", "nine-planes", "aalborg-cape-town")
"""The names of the runs with CUBIC, one for each of the three scenarios."""
BBR_SCENARIOS = ("bbr", "nine-planes-bbr", "aalborg-cape-town-bbr")
"""The names of the runs of the three scenarios with BBR. The conclusion of the study also applies to BBR."""

TO_NINE_PLANES: Mapping[str, Any] = {"constellation.planes": 9}
"""The scenario keys that turn the baseline into the second scenario."""
TO_CAPE_TOWN: Mapping[str, Any] = {
    "stations.0.name": "Aalborg", "stations.1.name": "Cape Town",
    "flows.0.source": "Aalborg", "flows.0.destination": "Cape Town",
}  # fmt: skip
"""The scenario keys that turn the baseline into the third scenario."""

CORE = (
    ExampleRun("reno", BASE, {CC: "reno"}, "baseline, Reno"),
    ExampleRun("cubic", BASE, {CC: "cubic"}, "baseline, CUBIC"),
    ExampleRun("bbr", BASE, {CC: "bbr"}, "baseline, BBR"),
    ExampleRun("nine-planes", NINE, {CC: "cubic"}, "9 orbital planes, CUBIC"),
    ExampleRun("aalborg-cape-town", CAPE, {CC: "cubic"}, "Aalborg to Cape Town, CUBIC"),
    ExampleRun("nine-planes-bbr", NINE, {CC: "bbr"}, "9 orbital planes, BBR"),
    ExampleRun("aalborg-cape-town-bbr", CAPE, {CC: "bbr"}, "Aalborg to Cape Town, BBR"),
)
"""The five runs of the study, and two further runs with BBR over the second and third scenario."""
STUDYS_FIVE = tuple(run.slug for run in CORE[:5])

UNCHANGING = {"routing.interval": "1 d", "routing.link_interval": "1 d"}
"""The scenario keys of the control. The path and its delays stay as at the first instant, so no route changes."""
# A control is a fifth as long as a run, which is enough for the queues of CUBIC and Reno to overflow several times.
CONTROL_DURATION = "200 s"
ORDERED = {"cures.move_queue": "kept", "cures.hold": True}
"""The scenario keys of a network that keeps packets in order at route changes, with as little delay as possible. The
study `cures` calls this network "oracle"."""
QUICK_DURATION = "200 s"
"""The length of every run of a quick reproduction. A run contains six route updates, and several overflows of each
algorithm's queue."""


def control_slug(slug: str) -> str:
    """Return the name of a run's control, which is the same run without route changes.

    >>> control_slug("cubic")
    'cubic-unchanging'
    """
    return f"{slug}-unchanging"


def ordered_slug(slug: str) -> str:
    """Return the name of the same run over a network that keeps packets in order at route changes.

    >>> ordered_slug("cubic")
    'cubic-ordered'
    """
    return f"{slug}-ordered"


@dataclass(frozen=True)
class Condition:
    """A group of runs under one condition. All groups have runs with the same names. The claims are tested on each
    group.

    key: The prefix of the condition's run names; "" for the study's own condition.
    name: The name of the condition in tables.
    slugs: The names of the runs in `CORE` that the condition includes.
    set: The scenario keys that are added to the keys of each run.
    example: The scenario that replaces the three example scenarios. The keys `TO_NINE_PLANES` and `TO_CAPE_TOWN` then
        set the second and third path.
    controls_of: The key of the condition whose runs without route changes are the controls. Controls from a different
        condition have the same queues and TCP, but a path whose delay differs by some ms. None means that the condition
        has no controls, and claims that need controls are not checked.
    is_stack: True for the three combinations of TCP and links. Every claim is checked under these conditions.
    has_ordered: True if the condition's three algorithms are also run over a network that keeps packets in order
        (`ORDERED`).
    """

    key: str
    name: str
    why: str
    slugs: tuple[str, ...] = STUDYS_FIVE
    set: Mapping[str, Any] = field(default_factory=dict)
    example: str | None = None
    controls_of: str | None = ""
    is_stack: bool = False
    has_ordered: bool = False

    def runs(self) -> tuple[ExampleRun, ...]:
        """Return the runs of the condition, then their controls, then the runs over the network that keeps packets in
        order."""
        mine = tuple(self._run(run) for run in CORE if run.slug in self.slugs)
        controls = tuple(self._control(run) for run in mine) if self.controls_of == self.key else ()
        three = tuple(map(self.slug, ALGORITHMS)) if self.has_ordered else ()
        return (*mine, *controls, *(self._ordered(run) for run in mine if run.slug in three))

    def slug(self, slug: str) -> str:
        """Return the name of this condition's run among the runs of all conditions.

        >>> CLASSIC_TCP.slug("reno"), CONDITIONS[0].slug("reno")
        ('classic-reno', 'reno')
        """
        return f"{self.key}-{slug}" if self.key else slug

    def _run(self, run: ExampleRun) -> ExampleRun:
        example = self.example or run.example
        path: Mapping[str, Any] = {}
        if self.example is not None:
            path = {NINE: TO_NINE_PLANES, CAPE: TO_CAPE_TOWN}.get(run.example, path)
        why = f"{run.why}: {self.why}" if self.key else run.why
        return ExampleRun(self.slug(run.slug), example, {**path, **run.set, **self.set}, why)

    @staticmethod
    def _control(run: ExampleRun) -> ExampleRun:
        keys = {**run.set, **UNCHANGING, "run.duration": CONTROL_DURATION}
        return ExampleRun(control_slug(run.slug), run.example, keys, f"{run.why}, without route changes")

    @staticmethod
    def _ordered(run: ExampleRun) -> ExampleRun:
        return ExampleRun(ordered_slug(run.slug), run.example, {**run.set, **ORDERED}, f"{run.why}, order kept")


EVERY = tuple(run.slug for run in CORE)
STAGGERED = {"routing.update": "staggered", "routing.update_order": "random", "routing.update_delay": "100 ms",
             "routing.update_spread": "exponential"}  # fmt: skip
"""The scenario keys of nodes that switch one by one. The study's emulator changes the forward routes in random order,
because it iterates over a Go map (main.go). Then the emulator changes the return routes. A `podman exec` is assumed to
take 100 ms, since neither the paper nor the code gives its duration."""

STUDY = Condition("", "Linux", "as it comes", EVERY, is_stack=True, has_ordered=True)
CLASSIC_TCP = Condition(
    "classic", "classic TCP", "no RACK, DSACK, timestamps, F-RTO", EVERY, example=CLASSIC,
    controls_of="classic", is_stack=True, has_ordered=True,
)  # fmt: skip
EMULATOR_LINKS = Condition(
    "emulator", "emulator's links", "links as the study's emulator made them", EVERY, example=EMULATOR,
    controls_of="emulator", is_stack=True,
)  # fmt: skip
CONDITIONS = (
    STUDY,
    CLASSIC_TCP,
    EMULATOR_LINKS,
    # A run lasts 1000 s, so a run that starts at 1015 s does not overlap with the study's own run.
    Condition("later", "1000 s later", "from 1015 s of the constellation's clock on", set={"run.start": "1015 s"}),
    Condition(
        "other-sky", "another sky", "plane 0 ascends at 0 deg, Greenwich at 0 deg at the start",
        set={"constellation.node_offset": "0 deg", "constellation.greenwich": "0 deg", "run.start": "0 s"},
    ),
    Condition(
        "satellites", "between satellites", "TCP between the first and the last satellite",
        set={"network.endpoints": "satellites"}, controls_of="satellites",
    ),
    Condition(
        "long-queues", "queues of 6 MB", "as netem's 500 packets may be with offloads on, up to 64 kB each", ALGORITHMS,
        {"isl.queue": "6 MB", "ground.queue": "6 MB"}, controls_of=None,
    ),
    Condition("staggered", "switched node by node", "routes switch node by node", ALGORITHMS, STAGGERED),
    Condition(
        "staggered-emulator", "the same over the emulator's links", "emulator's links, routes switch node by node",
        ALGORITHMS, STAGGERED, EMULATOR, controls_of="emulator",
    ),
)  # fmt: skip
"""The conditions in the order of tables. The first condition decides the verdict on a claim."""
STACKS = sum(condition.is_stack for condition in CONDITIONS)

RAISED = {"net.ipv4.tcp_reordering": "300", "net.ipv4.tcp_max_reordering": "300"}
"""The sysctls that raise the threshold to 300 duplicate ACKs. Without these sysctls, Linux itself adapts the threshold,
also up to 300 duplicate ACKs."""
RAISED_CLASSIC = {f"tcp.sysctl.{name}": value for name, value in RAISED.items()}
"""The sysctls `RAISED` as separate scenario keys, so that the scenario `CLASSIC` keeps its own sysctls."""

THIN = {"flows.0.rate": "5 Mbit/s", "isl.loss": "0.01 %"}
"""The scenario keys of a flow with about 40 packets in flight."""

THRESHOLD_RUNS = (
    # Default Linux and classic TCP are compared, because RACK in default Linux ignores the threshold once it has seen
    # reordering (tcp_rack_reo_wnd).
    ExampleRun("threshold-300-linux", BASE, {CC: "cubic", "tcp.sysctl": RAISED}, "Linux 6.12, threshold 300"),
    ExampleRun("threshold-300-classic", CLASSIC, {CC: "cubic", **RAISED_CLASSIC}, "classic TCP, threshold 300"),
    ExampleRun(
        "threshold-3-lossy", CLASSIC, {CC: "cubic", "isl.loss": "0.001 %"}, "classic TCP, threshold 3, links that lose"
    ),
    ExampleRun(
        "threshold-300-lossy", CLASSIC, {CC: "cubic", **RAISED_CLASSIC, "isl.loss": "0.001 %"},
        "classic TCP, threshold 300, links that lose",
    ),
    ExampleRun(
        "threshold-3-thin", CLASSIC, {CC: "cubic", **THIN}, "classic TCP, threshold 3, a thin flow, links that lose"
    ),
    ExampleRun(
        "threshold-300-thin", CLASSIC, {CC: "cubic", **RAISED_CLASSIC, **THIN},
        "classic TCP, threshold 300, a thin flow, links that lose",
    ),
)  # fmt: skip
"""The runs for claim 1.19. The runs show whether a threshold of 300 duplicate ACKs absorbs the reordering. They also
show whether a real loss is still detected without a timeout."""

CAPACITY_SENDERS = ("cubic", "bbr")
CAPACITIES_MBPS = (25, 400)
"""Two further link capacities: a quarter of the study's 100 Mbit/s, and four times as much."""
# In 300 s, a run has ten route updates.
CAPACITY_DURATION = "300 s"


def capacity_slug(sender: str, capacity_mbps: int) -> str:
    """Return the name of the run with this sender over links with the capacity `capacity_mbps`. The run at 100 Mbit/s
    is the study's own run.

    >>> capacity_slug("bbr", 400), capacity_slug("bbr", 100)
    ('capacity-400-bbr', 'bbr')
    """
    return sender if capacity_mbps == 100 else f"capacity-{capacity_mbps}-{sender}"


CAPACITY_RUNS = tuple(
    ExampleRun(
        capacity_slug(sender, capacity_mbps), BASE,
        {CC: sender, "isl.rate": f"{capacity_mbps} Mbit/s", "ground.rate": f"{capacity_mbps} Mbit/s",
         "run.duration": CAPACITY_DURATION},
        f"baseline, {label}, links of {capacity_mbps} Mbit/s",
    )
    for capacity_mbps in CAPACITIES_MBPS for sender, label in zip(CAPACITY_SENDERS, ("CUBIC", "BBR"), strict=True)
)  # fmt: skip
"""The runs for claim 1.28, which show whether more packets are late on faster links."""


def all_runs(samples: int = len(CONDITIONS)) -> tuple[ExampleRun, ...]:
    """Return all runs of the first `samples` conditions, and the additional runs for claims 1.19 and 1.28.

    samples: The number of conditions, from 1 to all of `CONDITIONS`.
    Returns: The runs, with unique names.
    """
    runs = [run for condition in CONDITIONS[:samples] for run in condition.runs()]
    # Claim 1.19 needs CUBIC on classic TCP for a comparison. Its runs are therefore included even if their condition
    # was not selected.
    classic = [run for run in CLASSIC_TCP.runs() if run.slug == CLASSIC_TCP.slug("cubic") and run not in runs]
    return (*runs, *classic, *THRESHOLD_RUNS, *CAPACITY_RUNS)
