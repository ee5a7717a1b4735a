# SPDX-License-Identifier: Apache-2.0
"""What is run: the study's pings, capacity tests and TCP sessions, and the cures that it proposes.

Each group is a study of its own (a scenario, parameters, seeds), made and resumed by the study engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from leowarp.study.parts import Part

TCP_SCENARIO, PING_SCENARIO, CAPACITY_SCENARIO = "starlink-tcp.toml", "starlink-ping.toml", "starlink-capacity.toml"

PEAK, OFF_PEAK = "peak", "off-peak"
CLEAN_PEAK = "peak, no isolated loss"
"""What sessions of the group `clean` are called, as if it were a preset."""

SEEDS, QUICK_SEEDS = 20, 3
"""Of everything in the study's table."""

DURATION_S = 60
"""Of every TCP session: four reconfigurations."""

FLOOD_S, PACED_S = 380, 1800
"""The study's flood ping lasted 380 s. 1,800 pings once a second: at 1 to 2 % some 18 to 36 are lost."""
FLOOD_SEEDS, PACED_SEEDS = 3, 5

REGULAR, ANSWERED = "10 ms", "none"
"""How a flood ping sends: iputils' `ping -f` at least 100 a second; the study's words have the reply alone send the
next."""

FIRST_DAY, LAST_DAY = datetime(2023, 8, 1, tzinfo=UTC), datetime(2024, 3, 31, tzinfo=UTC)
"""Of the capacity tests in the study's figure 2, one every `TEST_EVERY_H` hours: 1,464 tests."""
TEST_EVERY_H = 4
QUICK_STEP = 24
"""A quick reproduction makes every 24th capacity test: one in four days, at each hour of the day in turn."""

TEST_S = 10
DOWN_FLOWS, UP_FLOWS = (0, 1, 2, 3), (4, 5, 6, 7)
"""A capacity test: for how long each direction, and the flows of the scenario that are its connections."""

LOSSES = ("0 %", "0.001 %", "0.01 %", "0.02 %", "0.1 %", "0.4 %")
"""Isolated loss in each direction: the profile has 0.01 % at peak and 0.001 % off-peak, of all its assumptions the one
that decides what loss-based congestion controls get (design/starlink-profile.md)."""
LOSS_SEEDS = 5
LOSS_KEYS = ("access.residual_loss", "access.residual_loss_up")

# The period is 15 s, so 7.5 s is as far from every reconfiguration as can be, and 11 s late is 4 s early.
PHASE_ERRORS_S = (0.0, 1.0, 4.0, 7.5, 11.0)
"""How much too late the handover-aware congestion controls take the reconfigurations to be."""
PHASE_SEEDS = 10
FIRST_RECONFIGURATION_S = 12.0
"""Of the run's clock: the scenario's wall clock shows a full minute at the run's 0."""


@dataclass(frozen=True)
class Variant:
    """A row of the study's table.

    Attributes
    ----------
    name : str
        In the results.
    label : str
        On figures and in tables.
    congestion_control : str
    set : mapping
        Further keys of the scenario, all of them hold for both hosts and every flow.
    why : str
        What it is there for.
    """

    name: str
    label: str
    congestion_control: str
    set: Mapping[str, Any]
    why: str = ""

    @property
    def plain(self) -> str:
        """The one of the study's own three of which this changes something."""
        return self.congestion_control.removesuffix("_handover")


def _aqm(discipline: str, *, ecn: bool = True) -> dict[str, Any]:
    """Keys of an active queue management on both directions; ECN needs the link to mark and the hosts to ask for it."""
    return {"access.queue_discipline": discipline, "access.ecn": ecn, "tcp.ecn": "on" if ecn else "off"}


MAIN = (
    Variant("reno", "Reno", "reno", {}, "the study"),
    Variant("cubic", "CUBIC", "cubic", {}, "the study"),
    Variant("bbr", "BBR", "bbr", {}, "the study"),
)
"""The study's own three, at peak and off-peak, of which the traces are kept."""

CURES = (
    Variant("bbr_handover", "BBR, handover-aware", "bbr_handover", {}, "claim 3.12"),
    Variant("cubic_handover", "CUBIC, handover-aware", "cubic_handover", {}, "claim 3.13"),
    Variant("cubic-ecn-fq_codel", "CUBIC, ECN, fq_codel", "cubic", _aqm("fq_codel"), "claim 3.14"),
)
"""What the study proposes; their traces are kept too."""

OTHERS = (
    # The control for claim 3.14: a queue that is managed helps by itself, ECN or not (fq_codel: RFC 8290).
    Variant("cubic-fq_codel", "CUBIC, fq_codel", "cubic", _aqm("fq_codel", ecn=False), "what ECN adds to fq_codel"),
    Variant("cubic-ecn-cake", "CUBIC, ECN, cake", "cubic", _aqm("cake"), "another AQM"),
    # PIE: RFC 8033; CoDel: RFC 8289. Which AQM marks decides how early, so the claim is not left to one of them.
    Variant("cubic-ecn-pie", "CUBIC, ECN, pie", "cubic", _aqm("pie"), "another AQM"),
    Variant("cubic-ecn-red", "CUBIC, ECN, red", "cubic", _aqm("red"), "another AQM"),
    Variant("cubic-ecn-codel", "CUBIC, ECN, codel", "cubic", _aqm("codel"), "another AQM"),
    # fq spreads the packets of a window over the round trip, where the plain one sends them as ACKs come.
    Variant("reno-fq", "Reno, paced (fq)", "reno", {"tcp.pacing": "fq"}, "pacing"),
    Variant("cubic-fq", "CUBIC, paced (fq)", "cubic", {"tcp.pacing": "fq"}, "pacing"),
    # BBR paces itself by TCP's own timers where the host has no fq (sk_pacing_status in tcp_bbr.c's bbr_init).
    Variant("bbr-fq", "BBR, paced by fq", "bbr", {"tcp.pacing": "fq"}, "pacing: BBR's own timers otherwise"),
    Variant("bbr_handover-fq", "BBR, handover-aware, fq", "bbr_handover", {"tcp.pacing": "fq"}, "pacing"),
    Variant("cubic_handover-fq", "CUBIC, handover-aware, fq", "cubic_handover", {"tcp.pacing": "fq"}, "pacing"),
)
"""Other queues, and pacing by fq."""

REPAIRS = (
    # Without SACK (RFC 2018) losses are repaired by NewReno, one a round trip (RFC 6582).
    Variant("cubic-nosack", "CUBIC, no SACK", "cubic", {"tcp.sack": False}, "claim 3.11"),
    # RACK (RFC 8985) finds losses by time; without it duplicate ACKs do, three of them.
    Variant("cubic-norack", "CUBIC, no RACK", "cubic", {"tcp.rack": False}, "RACK"),
    # DSACK (RFC 2883) tells a sender that a retransmission was not needed, and Linux takes the cut back.
    Variant("cubic-nodsack", "CUBIC, no DSACK", "cubic", {"tcp.dsack": False}, "DSACK"),
    Variant("reno-nosack", "Reno, no SACK", "reno", {"tcp.sack": False}, "claim 3.11"),
    Variant("bbr-nosack", "BBR, no SACK", "bbr", {"tcp.sack": False}, "claim 3.11"),
)
"""Without a part of how losses are found and repaired; their traces are kept too."""

VARIANTS = (*MAIN, *CURES, *OTHERS, *REPAIRS)
NEVER_BESIDE = ("cubic-nodsack", "reno-nosack", "bbr-nosack")
"""Not run beside CUBIC, which would do without SACK too: these are settings of a host."""

CLEAN = (*MAIN, *CURES, REPAIRS[0])
"""Also run without any isolated loss, which at peak hides what handovers cost."""
CLEAN_QUICK_SEEDS = 2
OFF_PEAK_QUICK_SEEDS = 2
"""Of what is neither the study's own nor its cure."""

BY_NAME = {variant.name: variant for variant in VARIANTS}
BESIDE = "cubic"
"""What each is set beside."""

_KEYS: dict[str, Any] = {
    "access.queue_discipline": "fifo", "access.ecn": False, "tcp.ecn": "passive", "tcp.pacing": "internal",
    "tcp.sack": "profile", "tcp.rack": "profile", "tcp.dsack": "profile",
}  # fmt: skip
"""What variants differ in, with the value of those that do not name it."""


def parts() -> tuple[Part, ...]:
    """All groups.

    Returns
    -------
    tuple of Part
        Names are those of directories.
    """
    return (
        _pings("flood", "figures 3 to 5", FLOOD_S, FLOOD_SEEDS, (REGULAR, ANSWERED)),
        _pings("paced", "long-term loss", PACED_S, PACED_SEEDS, ()),
        _sessions("main", "figures 6 to 9, the study's three", MAIN, (PEAK, OFF_PEAK), keep=True),
        _sessions("cures", "what the study proposes", CURES, (PEAK, OFF_PEAK), keep=True),
        _sessions("others", "other queues, pacing by fq", OTHERS, (PEAK, OFF_PEAK), keep=False),
        _sessions("repairs", "without SACK, RACK, DSACK", REPAIRS, (PEAK, OFF_PEAK), keep=True),
        _clean(),
        _beside(),
        _losses(),
        _phases(),
        _capacity(),
    )


def _pings(name: str, why: str, seconds: int, seeds: int, intervals: Sequence[str]) -> Part:
    """Pings of the dish; all run directories stay, since claims look at single probes."""
    content = _content(name, PING_SCENARIO, {}, seeds)
    content["set"] = {"run.duration": f"{seconds} s", "flows.0.flood": bool(intervals)}
    content["keep"] = {"runs": "all"}
    if intervals:
        content["parameters"]["flows.0.interval"] = {"label": "sends", "values": list(intervals)}
    return Part(name, why, content, seeds * max(len(intervals), 1), lambda values, seed: seed == 1)


def _sessions(name: str, why: str, variants: Sequence[Variant], presets: Sequence[str], *, keep: bool) -> Part:
    """TCP sessions of some variants at some presets. A quick reproduction makes fewer seeds off-peak of what is not
    compared.
    """
    content = _content(name, TCP_SCENARIO, {"access.preset": {"label": "preset", "values": list(presets)}}, SEEDS)
    content["together"] = [_in_step(variants)]
    if keep:
        content["keep"] = {"runs": "all"}
    # Claims compare the study's own and its cures off-peak as well; of the others the table alone has a cell.
    off_peak = QUICK_SEEDS if variants in (MAIN, CURES) else OFF_PEAK_QUICK_SEEDS
    few = {PEAK: QUICK_SEEDS, OFF_PEAK: off_peak}
    return Part(name, why, content, len(variants) * len(presets) * SEEDS,
                lambda values, seed: seed <= few[values.get("access.preset", PEAK)])  # fmt: skip


def _clean() -> Part:
    """The variants of `CLEAN` without isolated loss: at peak it cuts windows so often that handovers hardly show."""
    content = _content("clean", TCP_SCENARIO, {}, SEEDS)
    content["together"] = [_in_step(CLEAN)]
    # Both directions: a lost ACK of a window costs little, but the claim is about handovers alone.
    content["set"] |= dict.fromkeys(LOSS_KEYS, LOSSES[0])
    content["keep"] = {"runs": "all"}
    return Part(
        "clean", "no isolated loss: handovers alone", content, len(CLEAN) * SEEDS, _few_seeds(CLEAN_QUICK_SEEDS)
    )


def _beside() -> Part:
    """Each variant beside one CUBIC flow; those that would change the CUBIC flow's host too are left out."""
    variants = tuple(variant for variant in VARIANTS if variant.name not in NEVER_BESIDE)
    content = _content("beside", TCP_SCENARIO, {}, SEEDS)
    content["together"] = [_in_step(variants)]
    content["set"] |= {
        "flows.1.kind": "tcp", "flows.1.source": "server", "flows.1.destination": "dish",
        "flows.1.congestion_control": BESIDE,
    }  # fmt: skip
    return Part("beside", "each beside one CUBIC flow", content, len(variants) * SEEDS, _few_seeds(2))


def _losses() -> Part:
    """The study's three over isolated loss, both ways alike: what results owe to that number of the profile."""
    content = _content("losses", TCP_SCENARIO, {}, LOSS_SEEDS)
    content["parameters"]["flows.0.congestion_control"] = {
        "label": "congestion_control",
        "values": [variant.congestion_control for variant in MAIN],
    }
    # Both directions in step, and one column for the two.
    first, *rest = LOSS_KEYS
    content["together"] = [{first: {"label": "loss", "values": list(LOSSES)}} | {key: list(LOSSES) for key in rest}]
    return Part("losses", "sensitivity to isolated loss", content, len(MAIN) * len(LOSSES) * LOSS_SEEDS, _few_seeds(1))


def _phases() -> Part:
    """The handover-aware congestion controls with a schedule that is wrong by `PHASE_ERRORS_S`."""
    content = _content("phases", TCP_SCENARIO, {}, PHASE_SEEDS)
    # Both modules get the schedule in every run, whichever the flow uses: the parameter of the other has no effect.
    names = ("bbr_handover", "cubic_handover")
    content["parameters"]["flows.0.congestion_control"] = {"label": "congestion_control", "values": list(names)}
    phases = [f"{FIRST_RECONFIGURATION_S + late_s:g} s" for late_s in PHASE_ERRORS_S]
    content["together"] = [{f"modules.{name}.phase_ns": {"label": f"phase_{name}", "values": phases} for name in names}]
    runs = len(names) * len(PHASE_ERRORS_S) * PHASE_SEEDS
    return Part("phases", "a schedule that is wrong", content, runs, _few_seeds(1))


def _capacity() -> Part:
    """Each test has a seed of its own, so that it is not the same day six times."""
    count = len(capacity_instants())
    content = _content("capacity", CAPACITY_SCENARIO, {}, None)
    content["together"] = [
        {
            # The wall clock decides the hour's capacity, and where the reconfigurations fall in the test.
            "access.clock": {"label": "clock", "values": [_iso(at) for at in capacity_instants()]},
            "run.seed": {"label": "test", "values": list(range(1, count + 1))},
        }
    ]
    return Part("capacity", "figure 2: a test every four hours, down, then up", content, count,
                lambda values, seed: _in_quick_schedule(int(values["run.seed"]) - 1))  # fmt: skip


def _in_quick_schedule(place: int) -> bool:
    """One test in `QUICK_STEP`, moving on by an hour of the day each time.

    >>> [place for place in range(100) if _in_quick_schedule(place)]
    [0, 25, 50, 75]
    """
    row, column = divmod(place, QUICK_STEP)
    return column == row % (24 // TEST_EVERY_H)


def capacity_instants() -> list[datetime]:
    """When the capacity tests begin: every four hours; at a second of the minute that moves on, as with any timer.

    >>> len(capacity_instants()), capacity_instants()[1].isoformat()
    (1464, '2023-08-01T04:00:07+00:00')
    """
    # The last day counts whole: 244 days, six tests each.
    hours = int((LAST_DAY - FIRST_DAY) / timedelta(hours=1)) + 24
    starts = [FIRST_DAY + timedelta(hours=hour) for hour in range(0, hours, TEST_EVERY_H)]
    # 7 and 60 have no common divisor: all seconds of the minute come in turn, near reconfigurations (12, 27, 42, 57)
    # and away.
    return [start + timedelta(seconds=7 * place % 60) for place, start in enumerate(starts)]


def _iso(at: datetime) -> str:
    """An instant as a scenario writes it."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _few_seeds(count: int) -> Callable[[Mapping[str, Any], int], bool]:
    """Which runs a quick reproduction makes: those of the first `count` seeds."""
    return lambda values, seed: seed <= count


def _in_step(variants: Sequence[Variant]) -> dict[str, Any]:
    """Variants as parameters that go in step; the scenario's name is theirs: the column `name` of the results."""
    table: dict[str, Any] = {
        "name": [variant.name for variant in variants],
        "flows.0.congestion_control": {
            "label": "congestion_control",
            "values": [variant.congestion_control for variant in variants],
        },
    }
    for key, default in _KEYS.items():
        values = [variant.set.get(key, default) for variant in variants]
        # A key that no variant of the group changes is left to the scenario.
        if any(value != default for value in values):
            table[key] = values
    return table


def _content(name: str, scenario: str, parameters: dict[str, Any], seeds: int | None) -> dict[str, Any]:
    """The content of a study file; without `seeds` each run has the seed that its parameters give it."""
    content = {"name": name, "scenario": scenario, "set": {}, "parameters": dict(parameters)}
    return content if seeds is None else content | {"seeds": {"first": 1, "count": seeds}}
