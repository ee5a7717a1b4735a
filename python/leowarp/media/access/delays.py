# SPDX-License-Identifier: Apache-2.0
"""The delay and loss over time, as one table per direction: base delay, jitter, waiting for a frame, handovers and
outages.

Jitter is a function of time that changes in steps of whole frames. It is not an independent random number per packet. A
packet in a FIFO waits for the packets ahead of it. With independent jitter, each packet of a busy flow would therefore
be delayed by the maximum of many jitter values. Even with steps, the delay may fall faster than time passes. Packets
that are sent while the delay falls then arrive together. They arrive with the last packet that was sent before the
fall. design/starlink-profile.md measures this additional delay.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from leowarp.base.instants import distinct
from leowarp.base.streams import stream
from leowarp.media.access.capacity import cut_normal
from leowarp.media.access.outages import bursts_ns, covered
from leowarp.media.access.profile import Drawn
from leowarp.media.access.slots import Slots
from leowarp.scenario.schema import Access

_ERLANG_ORDER = 3
"""The shape (order) of the Erlang distribution of downlink jitter. In LeoCC's public trace, the delay minus the slot's
minimum has a mean of 2.2 ms and a standard deviation of 1.2 ms. With order 3 and the same mean, the standard deviation
is 1.3 ms. With an exponential distribution, it would be 2.2 ms."""


def channel_rows(
    access: Access, way: str, slots: Slots, drawn: Drawn, *, seed: int, duration_ns: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
    """Return one direction's table of delay and loss.

    way: The direction, {"up", "down"}
    drawn: The outages and spikes that were sampled.
    seed: The ``run.seed``. The jitter uses the stream ``access.jitter.<way>``.
    Returns t_ns, delay_ns: The int64 arrays of shape (m,). The first time is 0, and adjacent rows differ.
    Returns loss_ratio: A float64 array of shape (m,). The value is 1 during an outage or a burst. At all other times,
        the value is the residual loss, or 0 if bursts are simulated.
    """
    jitter_t_ns, jitter_ns = jitter_rows(access, way, seed, duration_ns, slots.begin_ns)
    frame_t_ns, waiting_ns = _waiting(access, duration_ns)
    spike_t_ns, spike_ns = _spikes(access, slots, drawn)
    outages = (drawn.outage_begin_ns, drawn.outage_end_ns)
    residual = access.residual_loss_ratio if way == "down" else access.residual_loss_up_ratio
    # The presets peak and off-peak set this loss when the plan is resolved (0.01 % and 0.001 %). The ratio of isolated
    # losses decides CUBIC's goodput, so no default is assumed here (design/starlink-profile.md, "Isolated loss").
    if residual is None:
        raise ValueError("residual loss is not given: not a resolved plan")
    bursts = bursts_ns(access, way, residual, seed=seed, duration_ns=duration_ns)
    t_ns = distinct([[0], slots.base_t_ns, jitter_t_ns, frame_t_ns, spike_t_ns, *outages, *bursts])
    t_ns = t_ns[(t_ns >= 0) & (t_ns < duration_ns)]
    delay_ns = slots.base_at_ns(t_ns)
    # The components of the delay are added. Each component has its own random stream. If one component is left out, the
    # remaining components therefore do not change.
    for begins_ns, values_ns in ((jitter_t_ns, jitter_ns), (frame_t_ns, waiting_ns), (spike_t_ns, spike_ns)):
        delay_ns = delay_ns + values_ns[np.searchsorted(begins_ns, t_ns, side="right") - 1]
    lost = covered(t_ns, *outages) | covered(t_ns, *bursts)
    loss_ratio = np.where(lost, 1.0, 0.0 if access.loss_burst_ns else residual)
    changes = np.append(True, (np.diff(delay_ns) != 0) | (np.diff(loss_ratio) != 0))
    return t_ns[changes], delay_ns[changes], loss_ratio[changes]


def frame_border_ns(access: Access, frame: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the start times of frames. Frame 0 begins with the run.

    A frame of 1/750 s is not a whole number of ns. Each start is computed from the start of the run, and rounded
    separately. Rounding errors therefore do not add up. With 750 frames per second, frame 750 begins at exactly 1 s.
    """
    return (frame * 1_000_000_000 + access.frames_per_s // 2) // access.frames_per_s


def jitter_rows(
    access: Access, way: str, seed: int, duration_ns: int, slots_ns: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the times and values of the jitter, both in ns. The first time is 0.

    On the downlink, the number of frames of a step is geometrically distributed. The step's value has an Erlang
    distribution (gamma of order 3) with mean `jitter_ns`. On the uplink, packets wait for a grant. A step lasts 0.5 to
    1.5 times `jitter_up_step_ns`, and its value has the mean `jitter_up_ns`. The length of each step is a whole number
    of frames. With `jitter_spread_ratio`, each slot has a random factor by which its values are multiplied. Both
    directions use the same factor.

    slots_ns: The times at which the slots begin, int64 array of shape (n,).
    """
    rng = stream(seed, f"access.jitter.{way}")
    mean_ns, lasts_ns = (
        (access.jitter_ns, access.jitter_step_ns) if way == "down" else (access.jitter_up_ns, access.jitter_up_step_ns)
    )
    # A step lasts at least a frame, because jitter represents grants, and each frame has one grant.
    frames_each = max(lasts_ns * access.frames_per_s / 1e9, 1.0)
    frames = duration_ns * access.frames_per_s // 1_000_000_000 + 1
    # More steps are sampled than the run can need: the mean number of steps, plus five standard deviations, plus 16.
    # The standard deviation of the number is at most the square root of its mean.
    count = int(frames / frames_each + 5.0 * math.sqrt(frames / frames_each)) + 16
    if way == "down":
        # Jitter is smaller and steadier on the downlink than on the uplink, as in LeoCC's public trace
        # (design/starlink-profile.md).
        lasts = rng.geometric(1.0 / frames_each, count)
        values_ns = rng.gamma(_ERLANG_ORDER, mean_ns / _ERLANG_ORDER, count)
    else:
        # By default, values on the uplink are uniform from 0 to twice the mean, and steps last 6 ms on average. With
        # the defaults, the mean difference between successive RTTs of a flood ping is within 15 % of the published 6.7
        # ms. The difference is about the same for pings 10 ms apart and for pings a round trip apart
        # (design/starlink-profile.md, "Steps of the jitter").
        first, last = up_step_frames(frames_each)
        lasts = rng.integers(first, last + 1, count)
        if access.jitter_up_shape == "uniform":
            values_ns = rng.uniform(0.0, 2.0 * mean_ns, count)
        else:
            values_ns = rng.exponential(mean_ns, count)
    # The lengths of steps are added in frames, and the sums are converted to ns (`frame_border_ns`). If the lengths
    # were rounded to ns before the addition, the steps would drift away from the frames.
    begins = np.append(0, np.cumsum(lasts)[:-1]).astype(np.int64)
    begins_ns = frame_border_ns(access, begins)
    if access.jitter_spread_ratio:
        # A step has the factor of the slot in which the step begins. A step lasts some frames, and a slot lasts
        # thousands of frames.
        deviations = cut_normal(stream(seed, "access.jitter_spread").random(len(slots_ns)))
        of_slot = np.maximum(np.searchsorted(slots_ns, begins_ns, side="right") - 1, 0)
        values_ns = values_ns * np.exp(access.jitter_spread_ratio * deviations)[of_slot]
    return begins_ns, np.rint(values_ns).astype(np.int64)


def up_step_frames(frames_each: float) -> tuple[int, int]:
    """Return the lengths in frames of the shortest and longest step of the uplink's jitter. The mean length of a step
    is `frames_each`."""
    return math.ceil(frames_each / 2.0), math.floor(1.5 * frames_each)


def _waiting(access: Access, duration_ns: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the waiting time until the next frame, as times and values. The waiting time is always half a frame, or it
    follows a sawtooth in steps.

    Returns: Two int64 arrays of shape (m,): the times and the values. If `frame_steps` is 0, the waiting time is always
        half a frame (0.67 ms at 750 frames per second).
    """
    steps = access.frame_steps
    # By default, `frame_steps` is 0. A sawtooth changes the mean difference of round trips by only 0.4 %, and needs 15
    # to 118 times as many rows (design/starlink-profile.md, "The model of a frame").
    if steps == 0:
        return np.zeros(1, dtype=np.int64), np.array([500_000_000 // access.frames_per_s], dtype=np.int64)
    frames = np.arange(duration_ns * access.frames_per_s // 1_000_000_000 + 1, dtype=np.int64)
    begin_ns, end_ns = frame_border_ns(access, frames), frame_border_ns(access, frames + 1)
    step = np.arange(steps, dtype=np.int64)
    t_ns = begin_ns[:, None] + (end_ns - begin_ns)[:, None] * step // steps
    # A packet in the middle of a step waits for the end of the frame. This waiting time is the value of the step.
    middle_ns = begin_ns[:, None] + (end_ns - begin_ns)[:, None] * (2 * step + 1) // (2 * steps)
    return t_ns.ravel(), (end_ns[:, None] - middle_ns).ravel()


def _spikes(access: Access, slots: Slots, drawn: Drawn) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the times and values of the additional delay of handovers. Each additional delay falls to 0 in equal
    steps, which last about a frame.

    With ``access.handover = "hold"`` there is no additional delay. The times are ascending, because a scenario's
    handovers must be shorter than a period.

    Returns: The int64 arrays. The first row has the value 0. The time of this row is before the run and before all
        other rows.
    """
    t_ns, values_ns = [np.array([min(int(slots.begin_ns[0]), 0) - 1])], [np.zeros(1, dtype=np.int64)]
    if drawn.spike_ns is None:
        return t_ns[0], values_ns[0]
    for begin_ns, lasts_ns, spike_ns in zip(
        slots.begin_ns.tolist(), drawn.handover_ns.tolist(), drawn.spike_ns.tolist(), strict=True
    ):
        steps = max(lasts_ns * access.frames_per_s // 1_000_000_000, 1)
        step = np.arange(steps + 1)
        t_ns.append(begin_ns + lasts_ns * step // steps)
        values_ns.append(spike_ns * (steps - step) // steps)
    return np.concatenate(t_ns), np.concatenate(values_ns)
