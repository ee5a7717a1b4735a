# SPDX-License-Identifier: Apache-2.0
"""The slots of an access link. A slot lasts from one reconfiguration to the next. Either the path of a slot is sampled
at random, or it follows from geometry.

Starlink does not publish the rule by which its scheduler chooses satellites. If the path follows from geometry,
terminal and gateway both see the slot's satellite during the whole slot. They see it above the elevation mask. The
scheduler `weighted` chooses a satellite at random. A satellite's probability is proportional to its elevation above the
terminal's mask. The scheduler `highest` chooses the highest satellite. Consecutive slots may have the same satellite.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from leowarp.base.errors import ScenarioError
from leowarp.base.streams import stream
from leowarp.ephemeris import FIBRE_INDEX, EcefMetres, Ephemeris
from leowarp.routes.links import SPEED_OF_LIGHT_M_PER_S
from leowarp.scenario.media.access_rules import quantiles_ns
from leowarp.scenario.schema import Access, Plan

TERMINAL, GATEWAY, POP = range(3)
"""The stations of an access link's ephemeris, in the order of `Access.places`."""

_REFRESHED_NS = 100_000_000
"""Delays that follow from geometry are updated at this interval. The range rate is far below 1 m/ns, so a step of the
delay is below 5 us."""

_SAMPLED_NS = 2_500_000_000
"""The interval at which ranges are sampled. With linear interpolation between samples, the error is below r'' dt^2 / 8
= 75 m, or 0.25 us."""


@dataclass(frozen=True, kw_only=True)
class Slots:
    """The slots of a run.

    begin_ns: The times at which the slots begin, on the run's clock, ascending, int64 array of shape (n,). The first is
        at or before 0.
    names: For each slot, the name of its satellite, as it appears in paths.
    base_t_ns, base_ns: The one-way delay without jitter and waiting, equal in both directions, int64 arrays of shape
        (m,). Each value is valid until the next time, and the first time is at or before 0.
    length_m: The distance from terminal to satellite plus the distance from satellite to gateway, float64 array of
        shape (n,). Both distances are for the slot's beginning. None without geometry.
    elevation_deg: The elevation of the satellite above the terminal's horizon at the slot's beginning, float64 array of
        shape (n,). None without geometry.
    """

    begin_ns: NDArray[np.int64]
    names: tuple[str, ...]
    base_t_ns: NDArray[np.int64]
    base_ns: NDArray[np.int64]
    length_m: NDArray[np.float64] | None = None
    elevation_deg: NDArray[np.float64] | None = None

    def base_at_ns(self, t_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the base delay, ns, at the times `t_ns`, an int64 array of any shape. The times must not be before the
        first slot. The result has the same shape."""
        return self.base_ns[np.searchsorted(self.base_t_ns, t_ns, side="right") - 1]


def slots_of(plan: Plan, access: Access, ephemeris: Ephemeris | None = None) -> Slots:
    """Return the slots of a plan with an access link.

    ephemeris: The ephemeris of the same plan, if it has a constellation. Its stations are the terminal, the gateway and
        the point of presence.
    Raises ScenarioError if terminal and gateway see no satellite in common during a slot.
    """
    begin_ns = reconfigurations_ns(access, plan.run.duration_ns)
    if access.geometry == "constellation":
        if ephemeris is None:
            raise ValueError("a plan with a constellation needs its ephemeris")
        return _by_geometry(access, ephemeris, begin_ns, plan.run.seed)
    # Huston's study measured only RTTs. Each direction gets half of the RTT, because no public data separates the two
    # directions.
    base_ns = _drawn_rtts_ns(access, len(begin_ns), plan.run.seed) // 2 + access.server_delay_ns
    # Without geometry, the positions of satellites are not modelled. Each slot gets an invented satellite name of its
    # own, so that its path differs from the path of the previous slot.
    names = tuple(f"s-{slot}" for slot in range(len(begin_ns)))
    return Slots(begin_ns=begin_ns, names=names, base_t_ns=begin_ns, base_ns=base_ns)


def reconfigurations_ns(access: Access, duration_ns: int) -> NDArray[np.int64]:
    """Return the times of the reconfigurations. The first returned time is the last reconfiguration at or before time
    0. All times are before the end of the run."""
    # The slot in which the run begins starts one period before the run's first reconfiguration.
    begin_ns = first_reconfiguration_ns(access) + access.period_ns * np.arange(
        -1, duration_ns // access.period_ns + 1, dtype=np.int64
    )
    begin_ns = begin_ns[begin_ns < duration_ns]
    # If a reconfiguration is at exactly 0, the period before it is not part of the run.
    return begin_ns[1:] if len(begin_ns) > 1 and begin_ns[1] == 0 else begin_ns


def first_reconfiguration_ns(access: Access) -> int:
    """Return the time of the first reconfiguration at or after time 0, on the run's clock.

    Returns: A time that is at least 0 and less than `access.period_ns`. With the defaults (period 15 s, phase 12 s),
        reconfigurations are at seconds 12, 27, 42 and 57 of each minute. J. Pan and others documented these seconds,
        and the LENS and Lagos traces show them, too.
    """
    clock = datetime.fromisoformat(access.clock)
    # The phase is relative to midnight, in seconds of the day. Suppose that the period divides neither a minute nor an
    # hour. The sequence of periods then begins again with the phase at each midnight.
    of_day_s = 3600 * clock.hour + 60 * clock.minute + clock.second
    of_day_ns = 1_000_000_000 * of_day_s + 1000 * clock.microsecond
    return (access.phase_ns - of_day_ns) % access.period_ns


def _drawn_rtts_ns(access: Access, slots: int, seed: int) -> NDArray[np.int64]:
    """Return random base round trips in ns, with the quantiles `base_rtts`. Without quantiles, the distribution of a
    slot's round trip is uniform. It covers all values that differ by at least `base_step_min_ns` from the previous
    slot's round trip.

    access: The section with `base_rtt_min_ns`, `base_rtt_max_ns` (20 and 35 ms, from the study's figure 3) and
        `base_step_min_ns` (3 ms, an assumption).
    seed: The ``run.seed``. The stream is `access.base`.
    Returns: The base round trips of the slots, without `server_delay`, int64 array of shape (slots,).
    """
    low, high, step = access.base_rtt_min_ns, access.base_rtt_max_ns, access.base_step_min_ns
    draws = stream(seed, "access.base").random(slots)
    # A separate random stream selects the slots that keep the previous base delay. If `base_kept_ratio` changes, a
    # different set of slots gets a new base delay. The random number from which a slot's new base delay is computed
    # does not change.
    kept = stream(seed, "access.base_kept").random(slots) < access.base_kept_ratio
    if access.base_rtts:
        of_base_ns = quantiles_ns(access.base_rtts)
        drawn_ns = np.interp(draws, np.linspace(0.0, 1.0, len(of_base_ns)), of_base_ns)
        kept[0] = False
        # `changed` contains, for each slot, the last slot in which the base delay changed.
        changed = np.maximum.accumulate(np.where(kept, 0, np.arange(slots)))
        return np.rint(drawn_ns).astype(np.int64)[changed]
    base_ns = np.empty(slots, dtype=np.int64)
    for slot, draw in enumerate(draws.tolist()):
        if slot > 0 and kept[slot]:
            base_ns[slot] = base_ns[slot - 1]
            continue
        if slot == 0:
            base_ns[slot] = low + round(draw * (high - low))
            continue
        before = int(base_ns[slot - 1])
        below, above = max(before - step - low, 0), max(high - before - step, 0)
        # One random number per slot is mapped to the two allowed ranges, below and above the previous value. No values
        # are rejected, so each slot always uses the same random number.
        place = round(draw * (below + above))
        base_ns[slot] = low + place if place < below else before + step + place - below
    return base_ns


def _by_geometry(access: Access, ephemeris: Ephemeris, begin_ns: NDArray[np.int64], seed: int) -> Slots:
    """Return the satellite of each slot. Also return the base delays, which are computed from the satellite's ranges.

    base = (range to the terminal + range to the gateway) / c + fibre to the point of presence + processing + server
    """
    stations = ephemeris.stations
    pop_m = EcefMetres(stations.positions_ecef_m[POP])
    fibre_s = float(stations.ground_distances_m(GATEWAY, pop_m)) * FIBRE_INDEX / SPEED_OF_LIGHT_M_PER_S
    fixed_ns = round(1e9 * fibre_s) + access.processing_delay_ns + access.server_delay_ns
    draws = stream(seed, "access.scheduler").random(len(begin_ns)).tolist()
    # A satellite serves a slot from beginning to end, so its ranges are needed only at a few instants: 7 in a slot of
    # 15 s, instead of 150.
    samples = -(-access.period_ns // _SAMPLED_NS) + 1
    names, lengths_m, elevations_deg = [], [], []
    base_t_ns, base_ns = [], []
    for t_ns, draw in zip(begin_ns.tolist(), draws, strict=True):
        at_ns = t_ns + np.linspace(0, access.period_ns - 1, samples).astype(np.int64)
        here_m = ephemeris.positions_ecef_m(at_ns)
        # A satellite rises once and sets once in each pass. A satellite that is above the mask at both ends of a slot
        # is therefore above the mask during the whole slot.
        seen_deg = stations.elevations_deg(TERMINAL, EcefMetres(here_m[[0, -1]]))
        gateway_deg = stations.elevations_deg(GATEWAY, EcefMetres(here_m[[0, -1]]))
        visible = np.flatnonzero((np.minimum(seen_deg, gateway_deg) >= access.min_elevation_deg).all(axis=0))
        if not len(visible):
            raise _blind(access, t_ns, np.minimum(seen_deg, gateway_deg).min(axis=0))
        satellite = scheduled(access, visible, seen_deg[0, visible], draw)
        path_m = EcefMetres(here_m[:, satellite])
        ranges_m = stations.slant_ranges_m(TERMINAL, path_m) + stations.slant_ranges_m(GATEWAY, path_m)
        names.append(ephemeris.names[satellite])
        lengths_m.append(float(ranges_m[0]))
        elevations_deg.append(float(seen_deg[0, satellite]))
        refreshed_ns = np.arange(t_ns, t_ns + access.period_ns, _REFRESHED_NS, dtype=np.int64)
        base_t_ns.append(refreshed_ns)
        moving_s = np.interp(refreshed_ns, at_ns, ranges_m) / SPEED_OF_LIGHT_M_PER_S
        base_ns.append(fixed_ns + np.rint(1e9 * moving_s).astype(np.int64))
    return Slots(
        begin_ns=begin_ns,
        names=tuple(names),
        base_t_ns=np.concatenate(base_t_ns),
        base_ns=np.concatenate(base_ns),
        length_m=np.array(lengths_m),
        elevation_deg=np.array(elevations_deg),
    )


def scheduled(access: Access, visible: NDArray[np.intp], seen_deg: NDArray[np.float64], draw: float) -> int:
    """Return the number of the satellite that the scheduler chooses. If several satellites have the same elevation, the
    first one is chosen.

    visible: The numbers of the satellites among which the scheduler chooses, int array of shape (v,).
    seen_deg: For each satellite in `visible`, its elevation as the terminal sees it when the slot begins: float64 array
        of shape (v,).
    draw: A uniform random number from 0 to 1. The scheduler `highest` does not use it. With `weighted`, the probability
        of a satellite is proportional to its elevation above the mask.
    """
    if access.scheduler == "highest":
        return int(visible[np.argmax(seen_deg)])
    # The 1e-9 makes the sum positive even if the only visible satellite is exactly on the mask.
    shares = np.cumsum(seen_deg - access.min_elevation_deg + 1e-9)
    return int(visible[np.searchsorted(shares, draw * shares[-1], side="right")])


def _blind(access: Access, t_ns: int, best_deg: NDArray[np.float64]) -> ScenarioError:
    """Return the error for a slot in which no satellite is visible to both terminal and gateway. `best_deg` has the
    smallest elevation of each satellite, at both stations and both ends of the slot."""
    highest_deg = float(best_deg.max())
    return ScenarioError(
        f"terminal and gateway see no satellite in common through the slot that begins at {t_ns / 1e9:g} s: "
        f"access.min_elevation asks for {access.min_elevation_deg:g} deg, and the best stays above "
        f"{highest_deg:.1f} deg for both",
        f'set access.min_elevation = "{max(np.floor(highest_deg), 0):.0f} deg", bring the gateway nearer, or take a '
        "constellation with more satellites",
    )
