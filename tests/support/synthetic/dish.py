# SPDX-License-Identifier: Apache-2.0
"""The round trips of an invented dish with known properties."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

MS, S = 1_000_000, 1_000_000_000


def dish(
    *,
    phase_ns: int,
    period_ns: int = 15 * S,
    span_ns: int = 300 * S,
    interval_ns: int = 20 * MS,
    spike_ns: int = 40 * MS,
    spike_length_ns: int = 60 * MS,
    lost_probes: int = 1,
    residual_loss_ratio: float = 0.0,
    step_ns: int = 8 * MS,
    jitter_ns: int = 3 * MS,
    seed: int = 1,
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the sending time and the round trip of each probe (nan if it was lost), and the base round trip of each
    slot. The first slot may be incomplete."""
    dice = np.random.default_rng(seed)
    t_ns = np.arange(0, span_ns, interval_ns, dtype=np.int64)
    slot = (t_ns - phase_ns) // period_ns - (0 - phase_ns) // period_ns
    base_ns = 25 * MS + step_ns * dice.permuted(np.arange(slot[-1] + 1) % 4).astype(np.float64)
    rtt_ns = base_ns[slot] + np.round(dice.gamma(1.5, jitter_ns / 1.5, len(t_ns)))
    into = (t_ns - phase_ns) % period_ns
    in_spike = into < spike_length_ns
    rtt_ns[in_spike] += spike_ns * (1 - into[in_spike] / (2 * spike_length_ns))
    first_of_slot = np.flatnonzero(into < interval_ns)
    for place in first_of_slot:
        rtt_ns[place : place + lost_probes] = np.nan
    rtt_ns[dice.random(len(t_ns)) < residual_loss_ratio] = np.nan
    return t_ns, np.round(rtt_ns), base_ns
