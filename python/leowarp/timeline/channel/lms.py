# SPDX-License-Identifier: Apache-2.0
"""The land-mobile-satellite channel of Perez-Fontan: a Markov chain of shadowing states, with Loo fading within each
state. docs/concepts/mobile-channel.md has the formulas.

A terminal moves through an environment at a steady speed. Every random value is a function of the distance travelled,
not of time. The direct signal has phase 0, because a receiver tracks its phase: the satellite's movement changes only
the phase of the direct signal.

A terminal at rest receives the same power during the whole run. Its channel is frozen, and its level says nothing about
the environment. For this reason, `power_series(...).frozen` is true.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leowarp.base.errors import ScenarioError
from leowarp.base.streams import stream
from leowarp.timeline.channel.decibels import amplitude_ratio, power_db
from leowarp.timeline.channel.environments import Environment, environment
from leowarp.timeline.channel.processes import Blend, Multipath, Shadowing, places, visits

SPEED_OF_LIGHT_M_PER_S = 299_792_458.0

BLOCK_SAMPLES = 1 << 18
"""The number of samples computed at once. Therefore, intermediate arrays take only some 20 MB, whatever the length of
the run."""

SAMPLES_MAX = 500_000_000
"""The maximum number of samples in a series. With this many samples, level and state take 2.5 GB. If a series would be
longer, the speed or the carrier frequency is probably a typing error."""

FRAMES = ("common", "by-state")


@dataclass(frozen=True, kw_only=True)
class LandMobile:
    """The scenario keys of ``[mobile]`` that describe the channel (docs/reference/scenario.md). If a key is None, its
    value comes from the environment's parameter set. design/lms-harq.md gives the source of each default.

    environments_path: The user's file, if the set is not one of leowarp's.
    frames: "common" or "by-state". With `common`, each step of the Markov chain has the mean of the states' shortest
        lengths, weighted by the states' shares. Each state's share of the distance then equals its published share.
        With `by-state`, the step length of each state is its shortest length, which changes the states' shares.
    frame_m: With `common`, the length of a step instead of that mean.
    samples_per_wavelength: If the correlation distance is shorter than a wavelength, it is the number of samples per
        correlation distance. The diffuse power is interpolated linearly. With 16 samples, the error is at most 2 % of
        the mean diffuse power.
    """

    environment: str = "intermediate-tree-shadowed"
    elevation_deg: float = 40.0
    environments_path: Path | None = None
    speed_m_per_s: float = 60 / 3.6
    carrier_hz: float = 2.2e9
    correlation_m: float | None = None
    transition_m: float | None = None
    frames: str = "common"
    frame_m: float | None = None
    samples_per_wavelength: int = 16

    def __post_init__(self) -> None:
        if not (math.isfinite(self.speed_m_per_s) and self.speed_m_per_s >= 0):
            raise ScenarioError(
                f"a terminal's speed of {self.speed_m_per_s} m/s", "0 m/s (a frozen channel) or more, as in 60 km/h"
            )
        # The wavelength determines the spacing of the samples. A carrier frequency outside the accepted range is a
        # typing error.
        if not 1e8 <= self.carrier_hz <= 1e12:
            raise ScenarioError(f"a carrier of {self.carrier_hz} Hz", "from 100 MHz to 1 THz, as in 2.2 GHz")
        for name in ("correlation_m", "frame_m"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ScenarioError(f"{name} = {value}", "a length above 0 m")
        if self.transition_m is not None and not (math.isfinite(self.transition_m) and self.transition_m >= 0):
            raise ScenarioError(f"transition_m = {self.transition_m}", "a length of 0 m (a step) or more")
        if self.frames not in FRAMES:
            raise ScenarioError(f"frames = {self.frames!r}", f"one of {', '.join(FRAMES)}")
        if self.frame_m is not None and self.frames != "common":
            raise ScenarioError("frame_m goes with the common frame", "leave out frames, or frame_m")
        if self.samples_per_wavelength < 4:
            raise ScenarioError(
                f"samples_per_wavelength = {self.samples_per_wavelength}: the fading would not be resolved", "4 or more"
            )

    @property
    def wavelength_m(self) -> float:
        """The wavelength in m: speed of light / carrier frequency."""
        return SPEED_OF_LIGHT_M_PER_S / self.carrier_hz

    def model(self) -> Model:
        """Return the parameters. Lengths that the user did not set are taken from the environment's parameter set.

        Raises ScenarioError if the environment does not exist, or if its parameter set lacks a length that the user did
        not set.
        """
        table = environment(self.environment, self.elevation_deg, self.environments_path)
        surroundings = dataclasses.replace(
            table,
            correlation_m=table.correlation_m if self.correlation_m is None else self.correlation_m,
            transition_m=table.transition_m if self.transition_m is None else self.transition_m,
            # The lengths are scaled so that their weighted mean over all states is exactly `frame_m`.
            state_lengths_m=table.state_lengths_m if self.frame_m is None else (self.frame_m,) * len(table.states),
        )
        lacking = [
            key
            for value, key in (
                (surroundings.correlation_m, "correlation distance (correlation)"),
                (surroundings.state_lengths_m, "length of states (frame)"),
                (surroundings.transition_m, "length of slopes (transition)"),
            )
            if value is None
        ]
        if lacking:
            raise ScenarioError(
                f"environment {surroundings.name!r} at {surroundings.elevation_deg:g} degrees: its table has no "
                f"{', no '.join(lacking)}",
                "give it: nothing is borrowed from another environment or elevation (of others at 40 degrees, "
                "correlation distances are 1.5 to 2.5 m, frames 3 to 9 m, slopes 2 to 12 m)",
            )
        assert surroundings.correlation_m is not None
        assert surroundings.state_lengths_m is not None
        assert surroundings.transition_m is not None
        lengths = np.array(surroundings.state_lengths_m)
        if self.frames == "common":
            # The mean is 5.85 m for intermediate tree shadowing. With one length per state, deep shadow would cover 19
            # % of the distance instead of the published 25 % (design/lms-harq.md).
            lengths = np.full(len(lengths), float(surroundings.state_shares @ lengths))
        return Model(surroundings, lengths, surroundings.correlation_m, surroundings.transition_m)


@dataclass(frozen=True)
class Model:
    """An environment in which all lengths have values.

    frames_m: float64 array of shape (states,). For each state, the length of one step of the chain.
    """

    environment: Environment
    frames_m: NDArray[np.float64]
    correlation_m: float
    transition_m: float

    @property
    def way_shares(self) -> NDArray[np.float64]:
        """For each state, the distance that the terminal travels in it, divided by the whole distance. The shape is
        (states,). At constant speed, the result is also each state's share of the time."""
        weighted = self.environment.state_shares * self.frames_m
        return weighted / weighted.sum()

    @property
    def dwells_m(self) -> NDArray[np.float64]:
        """The mean length of a stay in each state: frame / (1 - Pii), or inf for a single state."""
        with np.errstate(divide="ignore"):
            return self.frames_m / (1 - np.diag(self.environment.chain))


@dataclass(frozen=True)
class PowerSeries:
    """The received power on a uniform grid, relative to line of sight.

    spacing_ns: The spacing of the samples. Sample k is at k * spacing_ns, and the power between two samples is
        interpolated.
    level_db: float32 array of shape (n,)
    states: int8 array of shape (n,). At each sample, the index of the environment's state in `state_names`.
    frozen: Whether the terminal is at rest.
    """

    spacing_ns: int
    level_db: NDArray[np.float32]
    states: NDArray[np.int8]
    state_names: tuple[str, ...] = ()
    frozen: bool = False

    @property
    def duration_ns(self) -> int:
        """The time from the first sample to the last."""
        return (len(self.level_db) - 1) * self.spacing_ns

    def until(self, t_ns: int) -> PowerSeries:
        """Return the samples up to `t_ns`, but at least two samples."""
        count = max(2, t_ns // self.spacing_ns + 1)
        return dataclasses.replace(self, level_db=self.level_db[:count], states=self.states[:count])


def unfaded(duration_ns: int) -> PowerSeries:
    """Return a series without fading: 0 dB throughout, as at line of sight."""
    return PowerSeries(max(1, duration_ns), np.zeros(2, np.float32), np.zeros(2, np.int8), ("line of sight",), True)


def spacing_ns(parameters: LandMobile, correlation_m: float, duration_ns: int) -> int:
    """Return the sample spacing in ns that resolves both the direct and the diffuse signal. For a terminal at rest,
    this is the whole duration.

    correlation_m: The correlation distance of the direct signal.
    duration_ns: The upper limit of the spacing.
    """
    if parameters.speed_m_per_s == 0:
        return max(1, duration_ns)
    # Every random value is a function of distance. The spacing is therefore computed in metres, and then divided by the
    # speed.
    shortest_m = min(parameters.wavelength_m, correlation_m) / parameters.samples_per_wavelength
    return min(max(1, math.floor(1e9 * shortest_m / parameters.speed_m_per_s)), max(1, duration_ns))


def power_series(parameters: LandMobile, duration_ns: int, seed: int) -> PowerSeries:
    """Return the power over at least `duration_ns`. Equal parameters and seed give equal series.

    States, direct signal and diffuse signal use separate random streams. If a parameter of one stream changes, such as
    the frame length, the other streams keep their random numbers.

    Raises ScenarioError: For the same reasons as `LandMobile.model`; also if the series would have more than
        `SAMPLES_MAX` samples.
    """
    if duration_ns <= 0:
        raise ValueError(f"a power series of {duration_ns} ns")
    model = parameters.model()
    step_ns = spacing_ns(parameters, model.correlation_m, duration_ns)
    # The series has one more sample than steps, so that interpolation has a sample at or after the end.
    count = -(-duration_ns // step_ns) + 1
    if count > SAMPLES_MAX:
        raise ScenarioError(
            f"a fading channel at {parameters.speed_m_per_s:g} m/s and {parameters.carrier_hz:g} Hz over "
            f"{duration_ns / 1e9:g} s has {count:,} samples, {step_ns} ns apart; the limit is {SAMPLES_MAX:,}",
            "a shorter run, a lower speed or carrier, or fewer samples_per_wavelength",
        )
    level_db, states = np.empty(count, np.float32), np.empty(count, np.int8)
    at = 0
    for block_db, block_states in _blocks(parameters, model, step_ns, count, seed):
        level_db[at : at + len(block_db)] = block_db
        states[at : at + len(block_db)] = block_states
        at += len(block_db)
    names = tuple(state.name for state in model.environment.states)
    return PowerSeries(step_ns, level_db, states, names, parameters.speed_m_per_s == 0)


def _blocks(
    parameters: LandMobile, model: Model, step_ns: int, count: int, seed: int
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int8]]]:
    """Yield the levels (dB, float64) and states (int8) of the grid in blocks, which limits the memory."""
    states = model.environment.states
    step_m = parameters.speed_m_per_s * step_ns * 1e-9
    # At the last change of state, the slope may extend beyond the last sample by half a transition.
    until_m = step_m * count + model.transition_m
    way = visits(
        model.environment.chain, model.environment.state_shares, model.frames_m, until_m, stream(seed, "lms.states")
    )
    mean_db, deviation_db, multipath_db = (
        Blend(np.array([getattr(states[s], name) for s in way.states]), way.starts_m, model.transition_m)
        for name in ("mean_db", "deviation_db", "multipath_db")
    )
    # At rest, all samples are at one place and are therefore equal. The filters of the two signals still need a spacing
    # above 0.
    moving = parameters.speed_m_per_s > 0
    shadowing = Shadowing(step_m if moving else 1.0, model.correlation_m, stream(seed, "lms.direct"))
    multipath = Multipath(
        step_m / parameters.wavelength_m if moving else 1 / parameters.samples_per_wavelength,
        stream(seed, "lms.multipath"),
    )
    for begin in range(0, count, BLOCK_SAMPLES):
        n = min(BLOCK_SAMPLES, count - begin)
        # Each distance is computed from the start of the run, because rounding errors of accumulated steps would grow
        # over 500 million samples.
        x_m = (begin + np.arange(n, dtype=np.float64)) * step_m
        direct, diffuse = shadowing.block(n), multipath.block(n)
        if not moving:
            direct, diffuse = np.full(n, direct[0]), np.full(n, diffuse[0])
        # The direct signal is real: a receiver tracks its phase, so only the diffuse signal rotates against it.
        received = amplitude_ratio(mean_db.at(x_m) + deviation_db.at(x_m) * direct)
        received = received + amplitude_ratio(multipath_db.at(x_m)) * diffuse
        power = received.real**2 + received.imag**2
        yield power_db(power), way.states[places(way.starts_m, x_m)]
