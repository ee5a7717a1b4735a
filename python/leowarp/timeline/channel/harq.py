# SPDX-License-Identifier: Apache-2.0
"""Hybrid ARQ over a fading channel: each packet's number of retransmissions, and its arrival time or its loss.
docs/concepts/mobile-channel.md describes the model.

- `incremental` (type II): every transmission sends new bits, and the receiver adds up their information. `Harq.rule`
  says how the receiver determines the number of new bits. After the whole codeword has been sent, there are no new
  bits, so the receiver gives up.
- `chase` (type I with combining): every transmission repeats the bits of the first one, and their signal-to-noise
  ratios add up (maximum ratio combining).

The first transmission determines the symbol rate. Without failures, the link sends one codeword per
`codeword_period_ns`, which is `rate_bps` data bits per second. The first transmission of a codeword takes exactly one
`codeword_period_ns`. Retransmissions need additional symbols, which `Outcomes.sent_bits` counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leowarp.base.errors import ScenarioError
from leowarp.timeline.channel.decibels import power_db, power_ratio
from leowarp.timeline.channel.knowledge import Levels, levels_of_model, levels_of_series
from leowarp.timeline.channel.lms import LandMobile, PowerSeries
from leowarp.timeline.channel.mutual_information import BITS_PER_SYMBOL, mutual_information

KINDS = ("incremental", "chase")
RULES = ("received", "predicted", "statistics", "equal")
THRESHOLDS = ("constant", "by-rate")

CODE_RATES = (0.1730, 0.2115, 0.3082, 0.4358, 0.6667, 0.9284, 0.9814)
RATIOS_BY_RATE = (1.143, 1.138, 1.132, 1.115, 1.081, 1.024, 1.009)
"""For each code rate in `CODE_RATES`, half of the codewords decode at this accumulated information per data bit. The
code rate is the number of data bits per sent bit. The values come from a Monte Carlo simulation of the CCSDS 131.0-B
turbo code. The code had 8,920 bits and 16 states, and sent parity bits in random order. The decoder made 10 log-MAP
iterations. The simulation used QPSK and white noise, with 80 to 250 codewords per point. For a failure rate of 1 in 10
instead of one half, the values would be higher by 0.01 to 0.03."""

CHUNK_CODEWORDS = 1 << 19
"""The number of codewords computed at once, which limits the memory."""


@dataclass(frozen=True, kw_only=True)
class Harq:
    """The parameters of the link layer, which are scenario keys of ``[mobile]`` (docs/reference/scenario.md).
    design/lms-harq.md gives the source of each default.

    kind: "incremental" or "chase". In a scenario, the key is `harq`.
    modulation: "qpsk", "bpsk", "8psk" or "16qam"
    data_bits: A codeword carries one IP packet of at most data_bits / 8 bytes.
    threshold_kind: "constant" or "by-rate". For "constant", a codeword decodes once it has `threshold_ratio`
        information per data bit. For "by-rate", the requirement is the value of RATIOS_BY_RATE at the code rate of the
        bits sent so far.
    rule: "received", "predicted", "statistics" or "equal". The number of bits of the next transmission is the missing
        information, divided by the information that one bit is expected to deliver. With `received`, the expected power
        is that of the last received transmission. `predicted` expects the power that the channel exceeds with the
        target probability `retransmission_delay_ns` after such a power. With `statistics`, the channel exceeds the
        expected power with the target probability at a random time. Before the first transmission, `received` and
        `predicted` use the expected power of `statistics`. With `equal`, every transmission sends an equal part of the
        codeword.
    first_bits: The number of bits in the first transmission. None means that `rule` determines this number of bits.
    """

    kind: str = "incremental"
    modulation: str = "qpsk"
    data_bits: int = 8920
    codeword_bits: int = 53520
    rate_bps: int = 40_000_000
    retransmissions: int = 3
    first_delay_ns: int = 10_000_000
    retransmission_delay_ns: int = 20_000_000
    threshold_kind: str = "constant"
    threshold_ratio: float = 1.15
    rule: str = "received"
    first_target_ratio: float = 0.5
    target_ratio: float = 0.5
    last_sends_rest: bool = True
    first_bits: int | None = None

    def __post_init__(self) -> None:
        for name, words in (
            ("kind", KINDS),
            ("rule", RULES),
            ("threshold_kind", THRESHOLDS),
            ("modulation", tuple(BITS_PER_SYMBOL)),
        ):
            if getattr(self, name) not in words:
                raise ScenarioError(f"{name} = {getattr(self, name)!r}", f"one of {', '.join(words)}")
        if not 0 < self.data_bits <= self.codeword_bits:
            raise ScenarioError(
                f"{self.data_bits} data bits in a codeword of {self.codeword_bits}", "data_bits from 1 to codeword_bits"
            )
        if self.data_bits % 8:
            raise ScenarioError(f"{self.data_bits} data bits are no whole number of bytes", "a multiple of 8")
        if self.rate_bps <= 0:
            raise ScenarioError(f"a rate of {self.rate_bps} bit/s", "a rate above 0")
        # `Outcomes.retransmissions` has one byte per codeword, because a run of 1000 s at 40 Mbit/s has 4.5 million
        # codewords.
        if not 0 <= self.retransmissions <= 255:
            raise ScenarioError(f"{self.retransmissions} retransmissions", "from 0 to 255")
        if self.first_delay_ns < 0 or self.retransmission_delay_ns < 0:
            raise ScenarioError("a delay below 0", "delays of 0 s or more")
        if not (math.isfinite(self.threshold_ratio) and self.threshold_ratio >= 1):
            raise ScenarioError(
                f"threshold_ratio = {self.threshold_ratio}: no code decodes with less information than it carries",
                "1 or more, as in 1.15",
            )
        for name in ("first_target_ratio", "target_ratio"):
            if not 0 < getattr(self, name) < 1:
                raise ScenarioError(f"{name} = {getattr(self, name)}", "a probability between 0 and 1")
        if self.first_bits is not None and not self.data_bits <= self.first_bits <= self.codeword_bits:
            raise ScenarioError(
                f"first_bits = {self.first_bits}", f"from {self.data_bits} (the data) to {self.codeword_bits}"
            )

    @property
    def codeword_period_ns(self) -> int:
        """The time from the first transmission of a codeword to that of the next codeword, to the nearest ns."""
        return max(1, round(self.data_bits * 1_000_000_000 / self.rate_bps))

    @property
    def longest_ns(self) -> int:
        """The time by which a power series must extend beyond the start of the last codeword."""
        # The first transmission takes one period and has at least data_bits bits. No transmission has more than
        # codeword_bits bits, so no transmission takes longer than this.
        transmission_ns = self.codeword_period_ns * math.ceil(self.codeword_bits / self.data_bits)
        return self.retransmissions * self.retransmission_delay_ns + transmission_ns

    @property
    def needed_ratio(self) -> float:
        """The information per data bit that a receiver requires."""
        return self.threshold_ratio if self.threshold_kind == "constant" else max(RATIOS_BY_RATE)

    def first_transmission_bits(self, snr_db: float, levels: Levels) -> int:
        """Return the number of bits in every codeword's first transmission."""
        if self.first_bits is not None:
            return self._whole_symbols(self.first_bits)
        if self.rule == "equal" and self.kind == "incremental":
            return self._whole_symbols(self.codeword_bits / (self.retransmissions + 1))
        # The expected power is a quantile: the channel exceeds this power with the target probability. By default, the
        # target probability is one half. Before the first transmission, nothing is known about the channel. A
        # probability of one half is a compromise between delay and number of symbols (design/lms-harq.md).
        information = float(self.bit_information(snr_db + levels.first_db))
        return self._whole_symbols(self.needed_ratio * self.data_bits / information)

    def bit_information(self, level_db: ArrayLike) -> NDArray[np.float64]:
        """Return the mean mutual information of a sent bit at this Es/N0. The value is never 0, so that the number of
        required bits stays finite."""
        bits = mutual_information(self.modulation, power_ratio(level_db)) / BITS_PER_SYMBOL[self.modulation]
        return np.maximum(bits, 1e-30)

    def _whole_symbols(self, bits: float) -> int:
        size = BITS_PER_SYMBOL[self.modulation]
        return int(min(self.codeword_bits, size * math.ceil(min(bits, 1e12) / size - _ROUNDING)))


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of n codewords.

    retransmissions: uint8 array of shape (n,). The number of retransmissions of each codeword, 0 to
        `Harq.retransmissions`.
    delay_ns: int64 array of shape (n,). The time from the start of the first transmission of a codeword until this
        codeword is decoded or given up.
    lost: bool array of shape (n,)
    sent_bits: int32 array of shape (n,). The number of bits sent in all transmissions of each codeword.
    first_bits: The number of bits in the first transmission.
    """

    retransmissions: NDArray[np.uint8]
    delay_ns: NDArray[np.int64]
    lost: NDArray[np.bool_]
    sent_bits: NDArray[np.int32]
    first_bits: int

    @property
    def loss_ratio(self) -> float:
        """The share of codewords that could not be decoded."""
        return float(self.lost.mean())

    def decoded_shares(self, most: int) -> list[float]:
        """For each number of retransmissions from 0 to `most`, return the share of all codewords that were decoded
        after it. The sum of these shares and `loss_ratio` is 1."""
        counts = np.bincount(self.retransmissions[~self.lost], minlength=most + 1)
        return (counts / len(self.lost)).tolist()

    def first(self, count: int) -> Outcomes:
        """Return the outcomes of the first `count` codewords."""
        return Outcomes(
            self.retransmissions[:count], self.delay_ns[:count], self.lost[:count], self.sent_bits[:count],
            self.first_bits,
        )  # fmt: skip

    @property
    def symbols_ratio(self) -> float:
        """The number of symbols in all transmissions, divided by the number of symbols in first transmissions."""
        return float(self.sent_bits.mean()) / self.first_bits


def outcomes(
    power: PowerSeries, snr_db: float, parameters: Harq, starts_ns: NDArray[np.int64], levels: Levels | None = None
) -> Outcomes:
    """Return the outcomes of codewords. `starts_ns` has the time at which the first transmission of each codeword
    starts.

    power: The power series, which must end at least `parameters.longest_ns` after the last start.
    snr_db: Es/N0 at line of sight.
    starts_ns: int64 array of shape (n,), ascending
    levels: The power levels that the receiver expects. By default, the levels are computed from the series `power`
        itself.
    Raises ScenarioError if `snr_db` is not a finite number.
    Raises ValueError if the series might end before the last transmission of the last codeword.
    """
    if not math.isfinite(snr_db):
        raise ScenarioError(f"a signal-to-noise ratio of {snr_db} dB", "a number, as in 7 dB")
    starts = np.asarray(starts_ns, dtype=np.int64)
    if len(starts) and (starts[0] < 0 or starts[-1] + parameters.longest_ns > power.duration_ns):
        raise ValueError(f"codewords from {starts[0]} to {starts[-1]} ns in a power series of {power.duration_ns} ns")
    known = _levels_of(power, parameters) if levels is None else levels
    run = _incremental if parameters.kind == "incremental" else _chase
    first_bits = parameters.first_transmission_bits(snr_db, known)
    parts = []
    for begin in range(0, len(starts), CHUNK_CODEWORDS):
        chunk = starts[begin : begin + CHUNK_CODEWORDS]
        parts.append(run(_Looks(power, snr_db, parameters, first_bits, chunk), known))
    sent_again, lost, sent = (np.concatenate(column) for column in zip(*parts, strict=True)) if parts else _NOTHING
    # The delay is 10, 30, 50 or 70 ms by default (the study lists 10 and 70 ms). For a lost codeword, the delay is the
    # time after which the link gives up.
    delay = parameters.first_delay_ns + parameters.retransmission_delay_ns * sent_again.astype(np.int64)
    return Outcomes(sent_again, delay, lost, sent, first_bits)


def levels_known(channel: LandMobile, parameters: Harq) -> Levels:
    """Return the power levels that a receiver expects if it knows the model of its channel, but not the random
    numbers."""
    return levels_of_model(
        channel, parameters.first_target_ratio, parameters.target_ratio, parameters.retransmission_delay_ns
    )


def _levels_of(power: PowerSeries, parameters: Harq) -> Levels:
    return levels_of_series(
        power, parameters.first_target_ratio, parameters.target_ratio, parameters.retransmission_delay_ns
    )


class _Looks:
    """The channel during the transmissions of a chunk of codewords."""

    def __init__(
        self, power: PowerSeries, snr_db: float, harq: Harq, first_bits: int, starts_ns: NDArray[np.int64]
    ) -> None:
        self.harq, self.first_bits, self.snr_db, self.count = harq, first_bits, snr_db, len(starts_ns)
        # Only the part of the power series that this chunk needs is converted to ratios.
        begin = int(starts_ns[0]) // power.spacing_ns
        end = (int(starts_ns[-1]) + harq.longest_ns) // power.spacing_ns + 2
        # Ratio of symbol energy to noise at each sample.
        self._ratio = power_ratio(power.level_db[begin:end].astype(np.float64) + snr_db)
        self._spacing_ns = power.spacing_ns
        self._starts = (starts_ns - begin * power.spacing_ns) / power.spacing_ns
        self._symbol_bits = BITS_PER_SYMBOL[harq.modulation]

    def information(self) -> _Mean:
        return _Mean(mutual_information(self.harq.modulation, self._ratio) / self._symbol_bits)

    def energy(self) -> _Mean:
        """Return the ratio of symbol energy to noise over time, as the receiver measures it."""
        return _Mean(self._ratio)

    def mean(self, what: _Mean, who: NDArray[np.intp], attempt: int, bits: NDArray[np.float64]) -> NDArray[np.float64]:
        """For each codeword in `who`, return the mean of the function `what` over one transmission of the codeword. The
        transmission sends `bits` bits. All transmissions of a codeword have the same symbol rate."""
        # Positions are floats in units of samples, because a transmission of 223 us begins and ends between samples.
        begin = self._starts[who] + attempt * self.harq.retransmission_delay_ns / self._spacing_ns
        return what.over(begin, bits / self.first_bits * self.harq.codeword_period_ns / self._spacing_ns)


class _Mean:
    """Computes means of a function over intervals. The function is linear between its samples. Positions are in units
    of samples."""

    def __init__(self, values: NDArray[np.float64]) -> None:
        self._values = values
        # With the running integral, a mean over any interval needs two look-ups instead of a sum over all samples in
        # the interval.
        self._integral = np.concatenate(([0.0], np.cumsum((values[1:] + values[:-1]) / 2)))

    def over(self, begin: NDArray[np.float64], length: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the mean of the values in each interval [begin, begin + length], shape (n,). The means are exact if
        the function is linear between samples."""
        return (self._until(begin + length) - self._until(begin)) / length

    def _until(self, place: NDArray[np.float64]) -> NDArray[np.float64]:
        k = np.minimum(place.astype(np.intp), len(self._values) - 2)
        f = place - k
        here = self._values[k]
        return self._integral[k] + f * (here + (self._values[k + 1] - here) * f / 2)


def _incremental(looks: _Looks, levels: Levels) -> _Columns:
    """Return the outcomes if each transmission sends new bits, and the information adds up (type II)."""
    harq, information, energy = looks.harq, looks.information(), looks.energy()
    got = np.zeros(looks.count)
    sent = np.zeros(looks.count)
    again = np.zeros(looks.count, dtype=np.uint8)
    pending = np.arange(looks.count)
    bits = np.full(looks.count, float(looks.first_bits))
    for attempt in range(harq.retransmissions + 1):
        again[pending] = attempt
        got[pending] += bits * looks.mean(information, pending, attempt, bits)
        sent[pending] += bits
        failed = got[pending] < _threshold_bits(harq, sent[pending]) * (1 - _ROUNDING)
        # Codewords without remaining bits are given up, because incremental redundancy sends only new bits.
        asking = failed & (sent[pending] < harq.codeword_bits)
        if attempt == harq.retransmissions or not asking.any():
            break
        bits, pending = bits[asking], pending[asking]
        seen = looks.mean(energy, pending, attempt, bits)
        bits = _asked(looks, levels, attempt + 1, got[pending], harq.codeword_bits - sent[pending], seen)
    lost = got < _threshold_bits(harq, sent) * (1 - _ROUNDING)
    return again, lost, sent.astype(np.int32)


def _asked(
    looks: _Looks,
    levels: Levels,
    attempt: int,
    got: NDArray[np.float64],
    left: NDArray[np.float64],
    seen: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return the number of bits that the receiver requests. These bits fill whole symbols, and are at most the
    remaining bits. `seen` is the energy-to-noise ratio of the last transmission."""
    harq = looks.harq
    # If a packet is not decoded after the last transmission, the packet is lost. The last transmission should therefore
    # not save bits. If the size of the last transmission followed the rule, 9.19 % instead of 8.11 % of the packets
    # would be lost at 7 dB (design/lms-harq.md).
    if harq.last_sends_rest and attempt == harq.retransmissions:
        # Send all remaining bits, although all transmissions together may then take 1.7 to 1.9 times as many symbols as
        # first transmissions alone.
        return left
    size = BITS_PER_SYMBOL[harq.modulation]
    if harq.rule == "equal":
        wanted = np.full(len(got), harq.codeword_bits / (harq.retransmissions + 1))
    else:
        missing = harq.needed_ratio * harq.data_bits - got
        wanted = missing / harq.bit_information(_expected_db(looks, levels, seen))
    return np.minimum(left, size * np.ceil(np.maximum(wanted / size - _ROUNDING, _ROUNDING)))


def _expected_db(looks: _Looks, levels: Levels, seen: NDArray[np.float64]) -> NDArray[np.float64]:
    seen_db = power_db(seen)
    match looks.harq.rule:
        case "predicted":
            return np.interp(seen_db - looks.snr_db, levels.seen_db, levels.next_db) + looks.snr_db
        case "statistics":
            return np.full(len(seen), looks.snr_db + levels.again_db)
    return seen_db


def _chase(looks: _Looks, levels: Levels) -> _Columns:
    """Return the outcomes for codewords whose transmissions all repeat the bits of the first one. The energies of all
    transmissions are added before decoding (maximum ratio combining)."""
    harq, energy = looks.harq, looks.energy()
    size = BITS_PER_SYMBOL[harq.modulation]
    # Every transmission repeats the same bits. The code rate therefore stays the same, and so does the threshold.
    needed = _threshold_bits(harq, np.array([float(looks.first_bits)])) * (1 - _ROUNDING)
    got = np.zeros(looks.count)
    again = np.zeros(looks.count, dtype=np.uint8)
    pending = np.arange(looks.count)
    for attempt in range(harq.retransmissions + 1):
        again[pending] = attempt
        got[pending] += looks.mean(energy, pending, attempt, np.full(len(pending), float(looks.first_bits)))
        failed = looks.first_bits / size * mutual_information(harq.modulation, got[pending]) < needed
        pending = pending[failed]
    lost = np.zeros(looks.count, dtype=bool)
    lost[pending] = True
    return again, lost, ((again.astype(np.int32) + 1) * looks.first_bits).astype(np.int32)


def _threshold_bits(harq: Harq, sent: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the information in bits that is required to decode a codeword of which `sent` bits were sent."""
    if harq.threshold_kind == "constant":
        return np.full(len(sent), harq.threshold_ratio * harq.data_bits)
    # Outside the measured rates, np.interp uses the value at the nearest measured rate.
    return np.interp(harq.data_bits / sent, CODE_RATES, RATIOS_BY_RATE) * harq.data_bits


_Columns = tuple[NDArray[np.uint8], NDArray[np.bool_], NDArray[np.int32]]
"""For each codeword, the number of retransmissions, whether it is lost, and the number of bits that were sent."""
_NOTHING = (np.zeros(0, np.uint8), np.zeros(0, bool), np.zeros(0, np.int32))

_ROUNDING = 1e-9
"""The tolerance for the rounding of sums of floats. It is relative to the threshold. A codeword with exactly the
required information is decoded."""
