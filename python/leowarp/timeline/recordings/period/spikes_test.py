# SPDX-License-Identifier: Apache-2.0
import numpy as np

from leowarp.timeline.recordings.measurement import Series
from leowarp.timeline.recordings.period.spikes import find_spikes
from support.synthetic.dish import MS, S


def test_spikes_are_runs_over_their_level() -> None:
    delay_ns = np.full(1000, 20.0 * MS)
    delay_ns[::2] += 1 * MS
    delay_ns[500:505] = [50 * MS, np.nan, 70 * MS, 60 * MS, 40 * MS]
    (spike,) = find_spikes(Series.of(np.arange(1000) * 10 * MS, delay_ns))
    assert (spike.t_ns, spike.length_ns, spike.peak_ns) == (5 * S, 50 * MS, 70 * MS)
    assert spike.height_ns in (49 * MS, 50 * MS)
