# SPDX-License-Identifier: Apache-2.0
"""Spikes: delays that rise above their level."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leowarp.timeline.recordings.measurement import Series

LEVEL_NS = 2_000_000_000
"""The width of a window. The median of the delays in the window is their level."""

# Normal noise exceeds six standard deviations with a probability of one in a billion. With a probe every 10 ms, one
# hour has only 360,000 probes. False spikes from normal noise are therefore very unlikely.
_SPIKE_SIGMAS = 6.0


@dataclass(frozen=True)
class Spike:
    """A run of successive probes whose delays are above their usual level.

    t_ns: The sending time of its first probe.
    length_ns: The time from the first to the last probe of the run, plus one interval between probes.
    peak_ns: The largest delay.
    height_ns: The largest delay minus the level, which is the surrounding median.
    """

    t_ns: int
    length_ns: int
    peak_ns: int
    height_ns: int


def find_spikes(series: Series) -> tuple[Spike, ...]:
    """Return the sequences of successive delays that are more than six standard deviations above their level. The
    deviation is computed from the median deviation, as if delays were normally distributed.

    Returns: The spikes in chronological order. A series with fewer than eight replies has none.
    """
    answered = series.take(~np.isnan(series.delay_ns))
    interval_ns = series.interval_ns
    if len(answered) < 8 or interval_ns is None:
        return ()
    # The level is the median over `LEVEL_NS` or nine intervals of probes, whichever is longer. It is a length of time,
    # because a fixed number of probes would cover more time where probes were lost.
    window_ns = max(LEVEL_NS, 9 * (answered.interval_ns or LEVEL_NS))
    frame = pd.Series(answered.delay_ns, index=pd.to_datetime(answered.t_ns, unit="ns"))
    above_ns = answered.delay_ns - frame.rolling(pd.Timedelta(window_ns, "ns"), center=True).median().to_numpy()
    # For a normal distribution, 1.4826 median deviations are a standard deviation.
    sigma_ns = 1.4826 * float(np.median(np.abs(above_ns - np.median(above_ns))))
    # Delays in whole ms may have a median deviation of 0, so the threshold is at least the resolution of the delays.
    threshold_ns = _SPIKE_SIGMAS * max(sigma_ns, _resolution_ns(answered.delay_ns))
    places = np.flatnonzero(above_ns > threshold_ns)
    # A spike does not end at lost probes, but after ten intervals without a high delay.
    cuts = np.flatnonzero(np.diff(answered.t_ns[places]) > 10 * interval_ns) + 1
    spikes = []
    for run in np.split(places, cuts) if len(places) else ():
        top = run[np.argmax(above_ns[run])]
        length_ns = int(answered.t_ns[run[-1]] - answered.t_ns[run[0]]) + interval_ns
        spikes.append(
            Spike(int(answered.t_ns[run[0]]), length_ns, int(answered.delay_ns[run].max()), int(above_ns[top]))
        )
    return tuple(spikes)


def _resolution_ns(delay_ns: NDArray[np.float64]) -> float:
    distinct = np.unique(delay_ns)
    return float(np.diff(distinct).min()) if len(distinct) > 1 else 1.0
