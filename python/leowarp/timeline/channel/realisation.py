# SPDX-License-Identifier: Apache-2.0
"""One random realisation of the link to a terminal. It gives the received power at each time, the outcomes of all
codewords, and the timeline's rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leowarp.base.errors import ScenarioError
from leowarp.timeline.channel.harq import Harq, Outcomes, levels_known, outcomes
from leowarp.timeline.channel.lms import LandMobile, PowerSeries, power_series, unfaded

CODEWORDS_MAX = 100_000_000
"""100 million codewords are 6 h at 40 Mbit/s, and take some 3 GB of memory. If a run needs more codewords, its rate or
number of data bits is probably mistyped."""

CAPACITY_WINDOW_NS = 100_000_000
"""The length of a window in `Realisation.shared_bps`. The window is longer than the 60 ms between the first and the
last transmission of a codeword."""


@dataclass(frozen=True)
class ChannelRows:
    """The rows of a timeline's `channel` table: the delay and loss of packets from each instant on.

    t_ns: int64 array of shape (n,), ascending, the first 0
    delay_ns: int64 array of shape (n,)
    loss_ratio: float64 array of shape (n,). 0 or 1.
    """

    t_ns: NDArray[np.int64]
    delay_ns: NDArray[np.int64]
    loss_ratio: NDArray[np.float64]


@dataclass(frozen=True)
class Realisation:
    """The power and codewords of one run, which follow from the parameters and the seed.

    power: The power series is longer than the run. It lasts until after the last possible retransmission of the last
        codeword.
    starts_ns: int64 array of shape (n,). The start of each codeword's first transmission.
    """

    power: PowerSeries
    starts_ns: NDArray[np.int64]
    outcomes: Outcomes

    def until(self, t_ns: int) -> Realisation:
        """Return the part of the realisation before an instant. This part contains at least one codeword.

        This part is used for the pages of runs that ended early (`run.ends = "flows"`).
        """
        count = max(1, int(np.searchsorted(self.starts_ns, t_ns)))
        return Realisation(self.power.until(t_ns), self.starts_ns[:count], self.outcomes.first(count))

    def shared_bps(self, rate_bps: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the rate of new codewords of a link that always has a codeword to send. Retransmissions use symbols
        that would otherwise carry new codewords.

        In each window, the rate is multiplied by the share of first transmissions in all sent bits:

            rate = `rate_bps` (bits of first transmissions) / (bits of all transmissions), over the codewords that begin
            in the window

        A retransmission is counted in the window in which its codeword began, even if it is sent later.

        rate_bps: The rate that the channel would have if no codeword were retransmitted.
        Returns t_ns: int64 array of shape (n,), ascending, the first 0
        Returns rate_bps: int64 array of shape (n,)
        """
        ends = np.arange(0, int(self.starts_ns[-1]) + 1, CAPACITY_WINDOW_NS, dtype=np.int64)
        first = np.searchsorted(self.starts_ns, ends)
        sent = np.add.reduceat(self.outcomes.sent_bits.astype(np.int64), first)
        codewords = np.diff(np.append(first, len(self.starts_ns)))
        return ends, np.rint(rate_bps * self.outcomes.first_bits * codewords / sent).astype(np.int64)

    def rows(self) -> ChannelRows:
        """Return one row per codeword. If successive rows are equal, they are merged into one.

        A packet whose transmission begins within codeword k has the outcome of codeword k. If a packet is lost, the
        link gives up after a certain delay. The packet gets this delay. If the link keeps packets in order, it holds
        later packets until this delay is over.
        """
        outcomes = self.outcomes
        # One integer per outcome, which combines the number of retransmissions with whether the codeword is lost.
        kind = outcomes.retransmissions.astype(np.int16) * 2 + outcomes.lost
        first = np.concatenate(([0], np.flatnonzero(np.diff(kind)) + 1))
        return ChannelRows(self.starts_ns[first], outcomes.delay_ns[first], outcomes.lost[first].astype(np.float64))


def realisation(
    channel: LandMobile | None, parameters: Harq, snr_db: float, duration_ns: int, seed: int
) -> Realisation:
    """Return the link to a terminal during a run.

    channel: The parameters of the fading. None means no fading.
    snr_db: Es/N0 at line of sight.
    Raises ScenarioError: For the same reasons as `power_series`; also if there would be more than `CODEWORDS_MAX`
        codewords.
    """
    count = -(-max(1, duration_ns) // parameters.codeword_period_ns)
    if count > CODEWORDS_MAX:
        raise ScenarioError(
            f"a link of {parameters.rate_bps / 1e6:g} Mbit/s has {count:,} codewords of {parameters.data_bits} data "
            f"bits in {duration_ns / 1e9:g} s; the limit is {CODEWORDS_MAX:,}",
            "a shorter run, a lower rate, or more data_bits in a codeword",
        )
    # Codewords begin at fixed intervals, with or without packets, so a codeword's outcome does not depend on the
    # traffic.
    starts = np.arange(count, dtype=np.int64) * parameters.codeword_period_ns
    # The last codeword may be retransmitted after the run's end, so the power series continues beyond the end.
    until = int(starts[-1]) + parameters.longest_ns
    if channel is None:
        power = unfaded(until)
        return Realisation(power, starts, outcomes(power, snr_db, parameters, starts))
    power = power_series(channel, until, seed)
    return Realisation(power, starts, outcomes(power, snr_db, parameters, starts, levels_known(channel, parameters)))


def channel_rows(
    channel: LandMobile | None, parameters: Harq, snr_db: float, duration_ns: int, seed: int
) -> tuple[ChannelRows, Outcomes]:
    """Return the rows for the timeline from the result of `realisation` with these parameters. Also return the outcomes
    of all codewords."""
    made = realisation(channel, parameters, snr_db, duration_ns, seed)
    return made.rows(), made.outcomes
