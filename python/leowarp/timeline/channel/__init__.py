# SPDX-License-Identifier: Apache-2.0
"""The radio link to a moving terminal: its fading power, and each packet's delay or loss under hybrid ARQ.

    power = power_series(LandMobile(), duration_ns=600_000_000_000, seed=1)
    codewords = outcomes(power, 7.0, Harq(), starts_ns)

This package depends on neither scenarios nor guests. Its functions take parameters and return numpy arrays.
"""

from leowarp.timeline.channel.environments import environment, environments
from leowarp.timeline.channel.harq import Harq, Outcomes, outcomes
from leowarp.timeline.channel.lms import LandMobile, PowerSeries, power_series
from leowarp.timeline.channel.realisation import ChannelRows, Realisation, channel_rows, realisation
