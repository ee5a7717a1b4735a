# SPDX-License-Identifier: Apache-2.0
"""The runs: the study's pings, capacity tests and TCP sessions, and the cures that it proposes.

Each group is a study of its own (a scenario, parameters, seeds), made and resumed by the study engine.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from leowarp.study.parts import Part
from leowarp_studies.huston2024 import questions
from leowarp_studies.huston2024.groups import (
    CAPACITY_SCENARIO,
    LOSS_KEYS,
    NO_LOSS,
    OFF_PEAK,
    PEAK,
    PING_SCENARIO,
    TCP_SCENARIO,
    content,
    few_seeds,
)
from leowarp_studies.huston2024.variants import (
    BBR3,
    BBR3_KERNEL,
    BESIDE,
    CLEAN,
    CURES,
    MAIN,
    NEVER_BESIDE,
    OTHERS,
    PROPOSALS,
    REPAIRS,
    VARIANTS,
    Variant,
    in_step,
)

SEEDS, QUICK_SEEDS = 20, 3
"""Seeds of what the table compares."""

NEW_SEEDS = 10
"""Seeds of the proposals as written and of BBR version 3: their intervals go from the 2nd to the 9th value."""

FLOOD_S, PACED_S = 380, 1800
"""The study's flood ping lasted 380 s. 1,800 pings once a second: at 1 to 2 % some 18 to 36 are lost."""
FLOOD_SEEDS, PACED_SEEDS = 3, 5

REGULAR, ANSWERED = "10 ms", "none"
"""How a flood ping sends: iputils' `ping -f` at least 100 a second; the study's words have the reply alone send the
next."""

FIRST_DAY, LAST_DAY = datetime(2023, 8, 1, tzinfo=UTC), datetime(2024, 3, 31, tzinfo=UTC)
"""The capacity tests in the study's figure 2, one every `TEST_EVERY_H` hours: 1,464 tests."""
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

# The period is 15 s, so 7.5 s is as far from every reconfiguration as can be, and 11 s late is 4 s early.
PHASE_ERRORS_S = (0.0, 1.0, 4.0, 7.5, 11.0)
"""How much too late the handover-aware congestion controls take the reconfigurations to be."""
PHASE_SEEDS = 10
CLEAN_QUICK_SEEDS = 2
OFF_PEAK_QUICK_SEEDS = 2
"""Seeds of everything that is neither the study's own nor its cure."""
FIRST_RECONFIGURATION_S = 12.0
"""Instant on the run's clock: the scenario's wall clock shows a full minute at the run's 0."""


def parts(*, bbr3: bool = True) -> tuple[Part, ...]:
    """All groups.

    bbr3: With those on the kernel `BBR3_KERNEL`.
    Returns: Names are those of directories.
    """
    both = (PEAK, OFF_PEAK)
    return (
        _pings("flood", "figures 3 to 5", FLOOD_S, FLOOD_SEEDS, (REGULAR, ANSWERED)),
        _pings("paced", "long-term loss", PACED_S, PACED_SEEDS, ()),
        _sessions("main", "Reno, CUBIC, BBR; figures 6 to 9 are CUBIC's and BBR's", MAIN, both, keep=True),
        _sessions("cures", "cures for handovers, ECN of RFC 3168", CURES, both, keep=True),
        _sessions("proposals", "what the study proposes, and no more", PROPOSALS, both, keep=True, seeds=NEW_SEEDS),
        _sessions("others", "other queues, pacing by fq", OTHERS, both, keep=False),
        _sessions("repairs", "without SACK, RACK, DSACK", REPAIRS, both, keep=True),
        _clean("clean", CLEAN, SEEDS),
        _clean("proposals-clean", PROPOSALS, NEW_SEEDS),
        _beside("beside", tuple(variant for variant in VARIANTS if variant.name not in NEVER_BESIDE), SEEDS),
        *(_bbr3() if bbr3 else ()),
        *questions.parts(),
        _losses(),
        _phases(),
        _capacity(),
    )


def _bbr3() -> tuple[Part, ...]:
    """BBR of version 3 alone and beside CUBIC, on the kernel that has it."""
    found = (
        _sessions("bbr3", "BBR version 3", BBR3, (PEAK, OFF_PEAK), keep=True, seeds=NEW_SEEDS),
        _beside("bbr3-beside", BBR3, NEW_SEEDS),
    )
    for part in found:
        part.content["set"]["guest.kernel"] = BBR3_KERNEL
    return found


def _pings(name: str, why: str, seconds: int, seeds: int, intervals: Sequence[str]) -> Part:
    """Pings of the dish; all run directories stay, since claims look at single probes."""
    made = content(name, PING_SCENARIO, {}, seeds)
    made["set"] = {"run.duration": f"{seconds} s", "flows.0.flood": bool(intervals)}
    made["keep"] = {"runs": "all"}
    if intervals:
        made["parameters"]["flows.0.interval"] = {"label": "sends", "values": list(intervals)}
    return Part(name, why, made, seeds * max(len(intervals), 1), lambda values, seed: seed == 1)


def _sessions(
    name: str, why: str, variants: Sequence[Variant], presets: Sequence[str], *, keep: bool, seeds: int = SEEDS
) -> Part:
    """TCP sessions of some variants at some presets. A quick reproduction makes fewer seeds off-peak of what is not
    compared.
    """
    made = content(name, TCP_SCENARIO, {"access.preset": {"label": "preset", "values": list(presets)}}, seeds)
    made["together"] = [in_step(variants)]
    if keep:
        made["keep"] = {"runs": "all"}
    # Claims compare the study's own and its cures off-peak as well; of the others the table alone has a cell.
    off_peak = QUICK_SEEDS if variants in (MAIN, CURES) else OFF_PEAK_QUICK_SEEDS
    few = {PEAK: QUICK_SEEDS, OFF_PEAK: off_peak}
    return Part(name, why, made, len(variants) * len(presets) * seeds,
                lambda values, seed: seed <= few[values.get("access.preset", PEAK)])  # fmt: skip


def _clean(name: str, variants: Sequence[Variant], seeds: int) -> Part:
    """Variants without isolated loss: at peak it cuts windows so often that handovers hardly show."""
    made = content(name, TCP_SCENARIO, {}, seeds)
    made["together"] = [in_step(variants)]
    made["set"] |= NO_LOSS
    made["keep"] = {"runs": "all"}
    return Part(name, "no isolated loss: handovers alone", made, len(variants) * seeds, few_seeds(CLEAN_QUICK_SEEDS))


def _beside(name: str, variants: Sequence[Variant], seeds: int) -> Part:
    """Each variant beside one CUBIC flow."""
    made = content(name, TCP_SCENARIO, {}, seeds)
    made["together"] = [in_step(variants)]
    made["set"] |= {
        "flows.1.kind": "tcp", "flows.1.source": "server", "flows.1.destination": "dish",
        "flows.1.congestion_control": BESIDE,
    }  # fmt: skip
    return Part(name, "each beside one CUBIC flow", made, len(variants) * seeds, few_seeds(2))


def _losses() -> Part:
    """Reno, CUBIC and BBR over isolated loss, both ways alike: how much results depend on that number of the
    profile."""
    made = content("losses", TCP_SCENARIO, {}, LOSS_SEEDS)
    made["parameters"]["flows.0.congestion_control"] = {
        "label": "congestion_control",
        "values": [variant.congestion_control for variant in MAIN],
    }
    # Both directions in step, and one column for the two.
    first, *rest = LOSS_KEYS
    made["together"] = [{first: {"label": "loss", "values": list(LOSSES)}} | {key: list(LOSSES) for key in rest}]
    return Part("losses", "sensitivity to isolated loss", made, len(MAIN) * len(LOSSES) * LOSS_SEEDS, few_seeds(1))


def _phases() -> Part:
    """The handover-aware congestion controls with a schedule that is wrong by `PHASE_ERRORS_S`."""
    made = content("phases", TCP_SCENARIO, {}, PHASE_SEEDS)
    # Both modules get the schedule in every run, whichever the flow uses: the parameter of the other has no effect.
    names = ("bbr_handover", "cubic_handover")
    made["parameters"]["flows.0.congestion_control"] = {"label": "congestion_control", "values": list(names)}
    phases = [f"{FIRST_RECONFIGURATION_S + late_s:g} s" for late_s in PHASE_ERRORS_S]
    made["together"] = [{f"modules.{name}.phase_ns": {"label": f"phase_{name}", "values": phases} for name in names}]
    runs = len(names) * len(PHASE_ERRORS_S) * PHASE_SEEDS
    return Part("phases", "a schedule that is wrong", made, runs, few_seeds(1))


def _capacity() -> Part:
    """Each test has a seed of its own, so that it is not the same day six times."""
    count = len(capacity_instants())
    made = content("capacity", CAPACITY_SCENARIO, {}, None)
    made["together"] = [
        {
            # The wall clock decides the hour's capacity, and where the reconfigurations fall in the test.
            "access.clock": {"label": "clock", "values": [_iso(at) for at in capacity_instants()]},
            "run.seed": {"label": "test", "values": list(range(1, count + 1))},
        }
    ]
    return Part("capacity", "figure 2: a test every four hours, down, then up", made, count,
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
