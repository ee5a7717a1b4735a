# SPDX-License-Identifier: Apache-2.0
"""The runs of the study: pings, capacity tests and TCP sessions, including sessions with the cures that the study
proposes.

Each group is a separate study file (a scenario, parameters and seeds). The study engine makes the runs of each group,
and can resume an interrupted group.
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
"""The number of seeds for the runs in the table. The first number is for a full reproduction, the second for a quick
one."""

NEW_SEEDS = 10
"""The number of seeds for the study's proposals in their original form, and for BBR version 3. With ten values, the
confidence interval of the median is from the 2nd to the 9th value."""

FLOOD_S, PACED_S = 380, 1800
"""The durations in s of two pings. The flood ping lasts as long as in the study. The paced ping sends one probe per
second. With a loss of 1 to 2 %, it loses 18 to 36 of its 1,800 probes."""
FLOOD_SEEDS, PACED_SEEDS = 3, 5

REGULAR, ANSWERED = "10 ms", "none"
"""The two sending patterns of flood pings. `ping -f` of iputils sends at least 100 probes per second. In the study's
description, the ping waits for each reply before it sends the next probe."""

FIRST_DAY, LAST_DAY = datetime(2023, 8, 1, tzinfo=UTC), datetime(2024, 3, 31, tzinfo=UTC)
"""The first and the last day of the capacity tests in the study's figure 2. There are 1,464 tests, one every
`TEST_EVERY_H` hours."""
TEST_EVERY_H = 4
QUICK_STEP = 24
"""A quick reproduction makes every 24th capacity test."""

TEST_S = 10
DOWN_FLOWS, UP_FLOWS = (0, 1, 2, 3), (4, 5, 6, 7)
"""The duration in s of a capacity test in each direction, and the numbers of the flows that are the test's
connections."""

LOSSES = ("0 %", "0.001 %", "0.01 %", "0.02 %", "0.1 %", "0.4 %")
"""The tested values of isolated loss per direction. The profile's isolated loss is 0.01 % at peak and 0.001 % off-peak.
Isolated loss determines the rate of loss-based congestion controls, more than any other assumption of the profile
(design/starlink-profile.md)."""
LOSS_SEEDS = 5

# The period is 15 s. With an error of 7.5 s, the assumed instants are as far as possible from the reconfigurations. An
# error of 11 s is equal to an error of 4 s in the other direction.
PHASE_ERRORS_S = (0.0, 1.0, 4.0, 7.5, 11.0)
"""The schedule errors to test, in s. A handover-aware congestion control assumes a schedule that is late by this
time."""
PHASE_SEEDS = 10
CLEAN_QUICK_SEEDS = 2
OFF_PEAK_QUICK_SEEDS = 2
"""In a quick reproduction, the number of seeds for runs that are neither the study's own runs nor its cures."""
FIRST_RECONFIGURATION_S = 12.0
"""The time of the first reconfiguration on the run's clock, in s. The time is 12 s because the run begins at a full
minute of the wall clock."""


def parts(*, bbr3: bool = True) -> tuple[Part, ...]:
    """Return all groups of runs.

    bbr3: True to include the runs on the kernel `BBR3_KERNEL`.
    Returns: The groups. The name of a group is also the name of its directory.
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
    """Return two groups of runs on the kernel that contains BBR version 3: BBR alone, and BBR beside CUBIC."""
    found = (
        _sessions("bbr3", "BBR version 3", BBR3, (PEAK, OFF_PEAK), keep=True, seeds=NEW_SEEDS),
        _beside("bbr3-beside", BBR3, NEW_SEEDS),
    )
    for part in found:
        part.content["set"]["guest.kernel"] = BBR3_KERNEL
    return found


def _pings(name: str, why: str, seconds: int, seeds: int, intervals: Sequence[str]) -> Part:
    """Return a group of pings of the dish. The group stores complete run directories, because claims examine single
    probes."""
    made = content(name, PING_SCENARIO, {}, seeds)
    made["set"] = {"run.duration": f"{seconds} s", "flows.0.flood": bool(intervals)}
    made["keep"] = {"runs": "all"}
    if intervals:
        made["parameters"]["flows.0.interval"] = {"label": "sends", "values": list(intervals)}
    return Part(name, why, made, seeds * max(len(intervals), 1), lambda values, seed: seed == 1)


def _sessions(
    name: str, why: str, variants: Sequence[Variant], presets: Sequence[str], *, keep: bool, seeds: int = SEEDS
) -> Part:
    """Return a group of TCP sessions, with the given variants at the given presets. Off-peak, a quick reproduction uses
    fewer seeds for variants that no claim compares.
    """
    made = content(name, TCP_SCENARIO, {"access.preset": {"label": "preset", "values": list(presets)}}, seeds)
    made["together"] = [in_step(variants)]
    if keep:
        made["keep"] = {"runs": "all"}
    # Off-peak, claims compare only the variants of `MAIN` and `CURES`. All other variants are only listed in the table
    # of results.
    off_peak = QUICK_SEEDS if variants in (MAIN, CURES) else OFF_PEAK_QUICK_SEEDS
    few = {PEAK: QUICK_SEEDS, OFF_PEAK: off_peak}
    return Part(name, why, made, len(variants) * len(presets) * seeds,
                lambda values, seed: seed <= few[values.get("access.preset", PEAK)])  # fmt: skip


def _clean(name: str, variants: Sequence[Variant], seeds: int) -> Part:
    """Return a group of runs of the given variants, on links without isolated loss. At peak hours, isolated losses
    reduce windows so often that handovers have hardly any visible effect."""
    made = content(name, TCP_SCENARIO, {}, seeds)
    made["together"] = [in_step(variants)]
    made["set"] |= NO_LOSS
    made["keep"] = {"runs": "all"}
    return Part(name, "no isolated loss: handovers alone", made, len(variants) * seeds, few_seeds(CLEAN_QUICK_SEEDS))


def _beside(name: str, variants: Sequence[Variant], seeds: int) -> Part:
    """Return a group of sessions in which each variant competes with one CUBIC flow."""
    made = content(name, TCP_SCENARIO, {}, seeds)
    made["together"] = [in_step(variants)]
    made["set"] |= {
        "flows.1.kind": "tcp", "flows.1.source": "server", "flows.1.destination": "dish",
        "flows.1.congestion_control": BESIDE,
    }  # fmt: skip
    return Part(name, "each beside one CUBIC flow", made, len(variants) * seeds, few_seeds(2))


def _losses() -> Part:
    """Return a group of runs with Reno, CUBIC and BBR. The rate of isolated loss varies, and is equal in both
    directions."""
    made = content("losses", TCP_SCENARIO, {}, LOSS_SEEDS)
    made["parameters"]["flows.0.congestion_control"] = {
        "label": "congestion_control",
        "values": [variant.congestion_control for variant in MAIN],
    }
    # The losses of both directions vary together, so only one of them is a column.
    first, *rest = LOSS_KEYS
    made["together"] = [{first: {"label": "loss", "values": list(LOSSES)}} | {key: list(LOSSES) for key in rest}]
    return Part("losses", "sensitivity to isolated loss", made, len(MAIN) * len(LOSSES) * LOSS_SEEDS, few_seeds(1))


def _phases() -> Part:
    """Return a group of runs in which handover-aware congestion controls assume a schedule with the errors
    `PHASE_ERRORS_S`."""
    made = content("phases", TCP_SCENARIO, {}, PHASE_SEEDS)
    # Every run sets the schedule in both congestion control modules; the parameter of the module that is not used has
    # no effect.
    names = ("bbr_handover", "cubic_handover")
    made["parameters"]["flows.0.congestion_control"] = {"label": "congestion_control", "values": list(names)}
    phases = [f"{FIRST_RECONFIGURATION_S + late_s:g} s" for late_s in PHASE_ERRORS_S]
    made["together"] = [{f"modules.{name}.phase_ns": {"label": f"phase_{name}", "values": phases} for name in names}]
    runs = len(names) * len(PHASE_ERRORS_S) * PHASE_SEEDS
    return Part("phases", "a schedule that is wrong", made, runs, few_seeds(1))


def _capacity() -> Part:
    """Return the group of capacity tests, each with its own seed. With one common seed, the six tests of a day would
    have the same random values."""
    count = len(capacity_instants())
    made = content("capacity", CAPACITY_SCENARIO, {}, None)
    made["together"] = [
        {
            # The wall clock determines the capacity at the hour of the test, and the times of reconfigurations during
            # the test.
            "access.clock": {"label": "clock", "values": [_iso(at) for at in capacity_instants()]},
            "run.seed": {"label": "test", "values": list(range(1, count + 1))},
        }
    ]
    return Part("capacity", "figure 2: a test every four hours, down, then up", made, count,
                lambda values, seed: _in_quick_schedule(int(values["run.seed"]) - 1))  # fmt: skip


def _in_quick_schedule(place: int) -> bool:
    """Return true if a quick reproduction includes the capacity test with the index `place`. A quick reproduction makes
    one of every `QUICK_STEP` tests. Each included test is at a later hour of the day than the previous one.

    >>> [place for place in range(100) if _in_quick_schedule(place)]
    [0, 25, 50, 75]
    """
    row, column = divmod(place, QUICK_STEP)
    return column == row % (24 // TEST_EVERY_H)


def capacity_instants() -> list[datetime]:
    """Return the start times of the capacity tests.

    >>> len(capacity_instants()), capacity_instants()[1].isoformat()
    (1464, '2023-08-01T04:00:07+00:00')
    """
    # The tests include the last day, so there are 244 days with six tests each.
    hours = int((LAST_DAY - FIRST_DAY) / timedelta(hours=1)) + 24
    starts = [FIRST_DAY + timedelta(hours=hour) for hour in range(0, hours, TEST_EVERY_H)]
    # 7 and 60 have no common divisor, so tests start at every second of the minute. Some tests start near
    # reconfigurations (seconds 12, 27, 42 and 57), and some do not.
    return [start + timedelta(seconds=7 * place % 60) for place, start in enumerate(starts)]


def _iso(at: datetime) -> str:
    """Return an instant in the form of a scenario's clock."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
