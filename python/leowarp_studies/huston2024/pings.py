# SPDX-License-Identifier: Apache-2.0
"""Evaluates a run with pings: its probes, each handover as the probes observe it, and the slots between handovers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leowarp import Run
from leowarp.metrics import Probes, probes
from leowarp.timeline.recordings import Measurement, Schedule, describe

S = 1_000_000_000
MS = 1_000_000

AROUND_NS = S
"""The length in ns of the windows before and after a reconfiguration. A rise of the RTT is searched only after the
reconfiguration, but losses are counted before and after it."""

GAP_BEFORE_NS, GAP_AFTER_NS = 50 * MS, 200 * MS
"""The time without replies is measured with probes near a reconfiguration. A near probe is sent at most `GAP_BEFORE_NS`
before the reconfiguration, or at most `GAP_AFTER_NS` after it. Both values are in ns."""


@dataclass(frozen=True)
class Pings:
    """The probes and reconfigurations of a run with pings.

    changes_ns: int64 array, sorted. The times of the reconfigurations.
    """

    seed: int
    probes: Probes
    changes_ns: np.ndarray
    end_ns: int

    def replies_ms(self, start_ns: int, end_ns: int) -> np.ndarray:
        """Return the round-trip times of the replies to probes sent in [start, end).

        Returns: float64 array. Lost probes are left out, and the values are in the order in which the probes were sent.
        """
        delay_ns = self.probes.between(start_ns, end_ns).delay_ns
        return delay_ns[~np.isnan(delay_ns)] / MS


def pings_of(run: Run) -> Pings:
    """Return the probes and reconfigurations of the first ping flow in a run whose directory is stored."""
    flow = run.probe_flows[0]
    plan, changes = run.observed_plan.flows[flow], run.numbers.route_changes
    mine = changes[(changes["source"] == plan.source) & (changes["destination"] == plan.destination)]
    end_ns = run.end_ns
    return Pings(
        int(run.plan.run.seed), probes(run.tables, flow, end_ns), np.sort(mine["t_ns"].to_numpy(dtype="int64")), end_ns
    )


@dataclass(frozen=True)
class Handover:
    """One reconfiguration as observed by pings.

    before_ms: The median round-trip time in the second before the reconfiguration.
    highest_ms: The largest round-trip time in the window that follows the reconfiguration.
    lost_pkts: The number of unanswered probes in the windows before and after the reconfiguration.
    gap_ms: The longest time between two successive replies to probes near the reconfiguration, or nan if one of these
        probes was lost.
    """

    t_ns: int
    before_ms: float
    highest_ms: float
    lost_pkts: int
    gap_ms: float

    @property
    def rise_ms(self) -> float:
        """Return by how much the largest round-trip time after the reconfiguration exceeds the round-trip time before
        it."""
        return self.highest_ms - self.before_ms


def handovers(pings: Pings, around_ns: int = AROUND_NS) -> list[Handover]:
    """Return one result per reconfiguration. A reconfiguration is left out if no reply exists for the second before it,
    or for the window after it.

    around_ns: The length of the window after a reconfiguration. Losses are counted in two windows of this length,
        before and after the reconfiguration.
    """
    seen = []
    for t_ns in pings.changes_ns.tolist():
        before, after = pings.replies_ms(t_ns - S, t_ns), pings.replies_ms(t_ns, t_ns + around_ns)
        # If the run ends within `around_ns` after the reconfiguration, the rise would be underestimated. If there are
        # no replies before or after the reconfiguration, there is nothing to compare. Even if a reconfiguration is
        # skipped, its losses may be part of `lost_pkts` of a neighbouring reconfiguration.
        if min(len(before), len(after)) == 0 or t_ns + around_ns > pings.end_ns:
            continue
        close = pings.probes.between(t_ns - GAP_BEFORE_NS, t_ns + GAP_AFTER_NS)
        gaps_ns = np.diff(np.sort(close.sent_ns + close.delay_ns))
        seen.append(
            Handover(
                t_ns=t_ns,
                before_ms=float(np.median(before)),
                highest_ms=float(after.max()),
                lost_pkts=int(pings.probes.between(t_ns - around_ns, t_ns + around_ns).is_lost.sum()),
                # If a probe was lost, `gap_ms` is nan: the gap would be the spacing of the answered probes, and not the
                # time without replies.
                gap_ms=float(gaps_ns.max()) / MS if len(gaps_ns) and not close.is_lost.any() else np.nan,
            )
        )
    return seen


def found_schedule(pings: Pings) -> Schedule | None:
    """Find the period and phase of the reconfigurations in round-trip times and losses, as `leowarp timeline describe`
    does. None means that the pings show no period.
    """
    measurement = Measurement.of_round_trips(pings.probes.sent_ns, pings.probes.delay_ns, source="the pings")
    return describe(measurement).schedule


def slots_of(pings: Pings, schedule: Schedule) -> list[tuple[int, int]]:
    """Return the start and end, in ns, of each slot of the schedule that lies completely within the run."""
    borders = schedule.instants_ns(0, pings.end_ns + 1).tolist()
    return list(itertools.pairwise(borders))


def slot_minima_ms(pings: Pings, slots_ns: Sequence[tuple[int, int]]) -> list[np.ndarray]:
    """Return the smallest round-trip time of each second of each slot. The first second of each slot is left out,
    because the handover affects it.

    Seconds without a reply are left out.

    Returns: list of float64 arrays. There is one array per slot, with at most 14 values for a slot of 15 s.
    """
    minima_ms = []
    for start_ns, end_ns in slots_ns:
        # Only complete seconds within the slot are used, so an incomplete last second is left out.
        seconds = [pings.replies_ms(at_ns, at_ns + S) for at_ns in range(start_ns + S, end_ns - S + 1, S)]
        minima_ms.append(np.array([second.min() for second in seconds if len(second)]))
    return minima_ms


def steps_ms(pings: Pings, from_ns: int = AROUND_NS) -> np.ndarray:
    """Return the absolute differences between successive round-trip times of the same slot.

    from_ns: RTTs are left out if they were measured within this time after a reconfiguration. If `from_ns` is 0, RTTs
        during handovers are included.
    Returns: float64 array. Values are in ms. If a probe was lost, the replies before and after it are compared.
    """
    borders = np.unique(np.concatenate([[0], pings.changes_ns, [pings.end_ns]]))
    steps = []
    for start_ns, end_ns in zip(borders[:-1].tolist(), borders[1:].tolist(), strict=True):
        # The run begins within a slot, and not at a reconfiguration. At the start of the run, nothing is therefore left
        # out.
        inside = pings.replies_ms(start_ns + from_ns * (start_ns > 0), end_ns)
        steps.append(np.abs(np.diff(inside)))
    return pooled(steps)


def pooled(every: Sequence[np.ndarray]) -> np.ndarray:
    """Concatenate several arrays."""
    return np.concatenate(every) if len(every) else np.zeros(0)
