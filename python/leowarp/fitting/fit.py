# SPDX-License-Identifier: Apache-2.0
"""Estimate the parameters of an access profile from recordings: `fit(measurements)`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from leowarp.base.errors import ScenarioError
from leowarp.fitting.base import fit_base
from leowarp.fitting.bursts import fit_bursts
from leowarp.fitting.capacity import carried, fit_capacity
from leowarp.fitting.estimate import Estimate, Found, Untold, number
from leowarp.fitting.handover import fit_handover
from leowarp.fitting.jitter import fit_jitter, simulated_ns
from leowarp.fitting.losses import fit_losses, retransmitted
from leowarp.fitting.slotted import FEWEST_PROBES, slotted
from leowarp.scenario.media.access import ACCESS_PRESETS
from leowarp.scenario.schema import Access
from leowarp.scenario.text.key import keys
from leowarp.timeline.recordings.description import Description, describe
from leowarp.timeline.recordings.measurement import Measurement
from leowarp.timeline.recordings.period.schedule import Schedule

_FEWEST_SLOTS = 8
_SURE = 0.8
_RECORD_HINT = "a ping of four minutes and more, or iperf3 -J -i 0.1 of a minute and more, tells something"
_REPLAY_HINT = (
    "profiles are of links that reconfigure: if this one does, probe it more often (ping -D -i 0.1); any recording is "
    "replayed by [measured] file = ... in a scenario"
)
_PUBLISHED_NS = 300_000_000
"""The largest difference of an estimated phase from the published one that may be an error of the recorder's clock."""


@dataclass(frozen=True)
class Told:
    """The estimates from one recording. `description` is None if the recording has no delays."""

    source: str
    description: Description | None
    estimates: tuple[Estimate, ...]
    untold: tuple[Untold, ...]


@dataclass(frozen=True)
class Fit:
    """The parameters of a profile, estimated from one or more recordings."""

    profile: str
    recordings: tuple[Told, ...]

    @property
    def chosen(self) -> dict[str, tuple[Estimate, str]]:
        """Return the best estimate of each key, with the name of its recording. If several recordings give the key, the
        recording with the most data is used.

        A transfer's retransmissions give only an upper bound of isolated loss. The goodput of a transfer gives only a
        lower bound of the capacity. Estimates from probes and traces are preferred to estimates from transfers.
        """
        found: dict[str, tuple[Estimate, str]] = {}
        for told in self.recordings:
            for one in told.estimates:
                if one.key not in found or _rank(one) > _rank(found[one.key][0]):
                    found[one.key] = (one, told.source)
        for told in self.recordings:
            for one in told.estimates:
                probed = found[one.key][0]
                if one.of == "segments" and probed.of != "segments" and number(one) < number(probed):
                    # TCP cannot have lost more segments than it retransmitted. This upper bound replaces a higher
                    # estimate from probes, because a router may drop probes by policy.
                    found[one.key] = (one, told.source)
        return found

    @property
    def untold(self) -> dict[str, str]:
        """Return the keys for which no recording shows a value, each with the reason."""
        chosen = self.chosen
        reasons = {one.key: one.why for told in self.recordings for one in told.untold}
        told_none = {key: "nothing in the recordings depends on it" for key in _FITTED if key not in reasons}
        return {key: why for key, why in (reasons | told_none).items() if key not in chosen}


_FITTED = (
    "base_rtts", "base_kept", "jitter", "jitter_step", "jitter_up", "jitter_up_step", "jitter_up_shape",
    "jitter_spread", "handover_min", "handover_max", "outage_share", "outage_again", "outage_min", "outage_max",
    "residual_loss", "residual_loss_up", "loss_burst", "capacity", "capacity_up", "capacity_spread", "wander",
    "wander_time", "modulation", "modulation_time", "queue", "queue_up",
)  # fmt: skip


def fit(measurements: Sequence[Measurement], *, profile: str = "starlink", access: Access | None = None) -> Fit:
    """Estimate those parameters of the profile that the recordings determine.

    measurements: The pings, irtt, iperf3 transfers and capacities. Each recording is evaluated separately.
    access: The initial values of the search, by default the values of `profile`.
    Raises ScenarioError if no key can be estimated. Each recording is then too short, or its delays follow no schedule.
    """
    start = dataclasses.replace(access or _start(profile), profile=profile)
    told = tuple(_told(one, start) for one in measurements)
    if not any(one.estimates for one in told):
        reasons = "; ".join(f"{one.source}: {one.untold[0].why}" for one in told if one.untold)
        known = all(_surely_unscheduled(one.description) for one in told)
        raise ScenarioError(f"nothing to fit: {reasons}", _REPLAY_HINT if known else _RECORD_HINT)
    return Fit(profile, told)


def _start(profile: str) -> Access:
    losses = {
        keys(Access)[key][0]: float(str(text).removesuffix(" %")) / 100.0
        for key, text in ACCESS_PRESETS["peak"].keys.items()
    }
    return Access(profile=profile, **losses)  # type: ignore[arg-type]


def _told(measurement: Measurement, access: Access) -> Told:
    found: list[Found] = []
    description = None
    schedule = Schedule(access.period_ns, access.phase_ns)
    probed = measurement.probes and measurement.transfer is None
    if probed and measurement.series:
        description = describe(measurement)
        if description.schedule is None:
            found.append(Untold("base_rtts", _unscheduled(description)))
        else:
            schedule = description.schedule
            found += _schedule(description, access)
            found += _delays(measurement, schedule, access)
    for way, capacity in (("down", measurement.capacity_down), ("up", measurement.capacity_up)):
        if capacity is not None:
            found += fit_capacity(capacity, way, schedule)
    for transfer in (measurement.transfer, measurement.transfer_back):
        if transfer is not None:
            found += carried(transfer, access, schedule) + fit_bursts(transfer, access) + retransmitted(transfer)
    estimates, untold = _estimates(found), tuple(one for one in found if isinstance(one, Untold))
    return Told(measurement.source, description, estimates, untold)


def _estimates(found: Iterable[Found]) -> tuple[Estimate, ...]:
    return tuple(one for one in found if isinstance(one, Estimate))


def _surely_unscheduled(description: Description | None) -> bool:
    finding = None if description is None else description.finding
    return finding is not None and finding.schedule is None and finding.confidence_ratio >= _SURE


def _unscheduled(description: Description) -> str:
    finding = description.finding
    assert finding is not None, "searched"
    span = f"{description.span_ns / 1e9:.3g} s"
    if _surely_unscheduled(description):
        sure = f"{100 * finding.confidence_ratio:.3g} % sure"
        return f"in {span} no delay or loss keeps a period ({sure}), and the profile is one of slots"
    return f"{description.samples} probes in {span} are too few, or their delays too unclear, to find slots"


def _schedule(description: Description, access: Access) -> list[Found]:
    """Return the period of the schedule if it differs from its published value, else the phase if it differs."""
    schedule, seconds = description.schedule, description.seconds_of_minute
    assert schedule is not None
    sure = 1.0 if description.finding is None else description.finding.confidence_ratio
    note = f"found in the data with a confidence of {100 * sure:.3g} %; of a period there is no interval"
    slots = len(description.slots)
    if abs(schedule.period_ns - access.period_ns) > 2e-3 * access.period_ns:
        return [Estimate("period", float(schedule.period_ns), None, None, slots, "slots", note)]
    if seconds and abs((seconds[0] * 1e9 - access.phase_ns + 7.5e9) % access.period_ns - 7.5e9) > _PUBLISHED_NS:
        return [Estimate("phase", seconds[0] * 1e9 % access.period_ns, None, None, slots, "slots", note)]
    return []


def _delays(measurement: Measurement, schedule: Schedule, access: Access) -> list[Found]:
    """Estimate the jitter of each measured direction, then the base, losses and handovers of round trips."""
    one_way = measurement.down is not None and measurement.up is not None
    names = ("up", "down") if one_way else tuple(measurement.series)
    found: list[Found] = []
    for name in names:
        probes = slotted(measurement.series[name], schedule)
        if len(probes.floors_ns(probes.series.delay_ns)[0]) < _FEWEST_SLOTS:
            return [*found, Untold("base_rtts", f"fewer than {_FEWEST_SLOTS} slots with {FEWEST_PROBES} probes each")]
        jitter = fit_jitter(probes, access, ("up", "down") if name == "round_trip" else (name,))
        for one in jitter:
            # With both one-way series, a key that one series lacks is in the other.
            if not (one_way and isinstance(one, Untold) and one.why.startswith("the series is")):
                found.append(one)
    access = dataclasses.replace(access, **_values(found, ("jitter",)))
    if measurement.round_trip is None:
        return found
    probes = slotted(measurement.round_trip, schedule)
    over_base_ns = simulated_ns(access, probes.series.t_ns, ("up", "down"), 1, probes.until_ns, probes.begins_ns)
    found += fit_base(probes, over_base_ns, 2 * access.server_delay_ns)
    counted = measurement.format != "columns" or bool(probes.series.lost.any())
    found += fit_losses(probes, access, counted=counted)
    # If the outages could not be estimated, the profile that is simulated has no outages.
    losses = {"outage_share_ratio": 0.0} | _values(found, ("outage", "residual_loss"))
    return found + fit_handover(probes, dataclasses.replace(access, **losses))


def _values(found: Iterable[Found], beginnings: tuple[str, ...]) -> dict[str, Any]:
    """Return the estimates of all keys that begin with one of `beginnings`, as attributes of `Access`."""
    values: dict[str, Any] = {}
    for one in _estimates(found):
        if one.key.startswith(beginnings):
            attribute = keys(Access)[one.key][0]
            values[attribute] = round(number(one)) if attribute.endswith("_ns") else one.value
    return values


def _rank(estimate: Estimate) -> tuple[bool, int]:
    """Return the sort key of an estimate. Probes and traces rank higher than transfers, then more data does."""
    return ("bound" not in estimate.note, estimate.count)
