# SPDX-License-Identifier: Apache-2.0
"""A simulation of a probe over a jittered path, without the kernel, netem or leowarp's library.

Packet k leaves at k / R and has an independent delay. A packet arrives at its sending time plus its delay, and may
overtake others. The metrics are computed by the exact steps of RFC 5236, so the simulation is slow. For some jitters,
mean displacement has no closed form, so the simulation is the reference. Below about 0.6 ms of jitter, displacements
are only a few whole packets. Above about 4 ms, the largest displacements exceed the threshold.

The closed form is MD = R E|x|. R is the packet rate, and x is a packet's delay minus the mean delay. R x is the number
of packets that overtake this packet, minus the number of packets that it overtakes. E|x| is sqrt(3)/2 times sigma for
the uniform distribution, sqrt(2/pi) times sigma for the normal, and 2/e times sigma for the exponential.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from itertools import islice
from types import MappingProxyType

import numpy as np

DISTRIBUTIONS = ("uniform", "normal", "exponential")
"""The distributions in the study's order."""

PROBE_PKTS = 65_535
PROBE_RATE_PKTS_PER_S = 8235.0
"""The packets per second of the study's probe."""
THRESHOLD_PKTS = 200
"""The threshold of the study's probe (D_T in the study's section 3). `PROBE_PKTS` is from the study's table 3."""

MEAN_DEVIATION = MappingProxyType({"uniform": np.sqrt(3) / 2, "normal": np.sqrt(2 / np.pi), "exponential": 2 / np.e})
"""The mean absolute deviation E|x| of each distribution, for a standard deviation of 1."""


def closed_form_pkts(distribution: str, sigma_s: float, rate_pkts_per_s: float = PROBE_RATE_PKTS_PER_S) -> float:
    """Return the mean displacement in packets according to the closed form. For the study's probe, the closed form is
    accurate to 3 % if sigma is 0.6 to 4 ms.

    distribution: One of `DISTRIBUTIONS`.
    sigma_s: The standard deviation of the delay, in seconds.

    >>> [round(closed_form_pkts(name, 1e-3), 2) for name in DISTRIBUTIONS]
    [7.13, 6.57, 6.06]
    """
    return float(MEAN_DEVIATION[distribution] * sigma_s * rate_pkts_per_s)


def deviations(distribution: str, count: int, rng: np.random.Generator) -> np.ndarray:
    """Return random numbers with mean 0 and standard deviation 1, as a float64 array of shape (count,)."""
    if distribution == "uniform":
        return rng.uniform(-np.sqrt(3), np.sqrt(3), count)
    if distribution == "normal":
        return rng.standard_normal(count)
    assert distribution == "exponential", distribution
    # The generator's distribution has mean 1 and standard deviation 1. After subtraction of the mean, the distribution
    # begins at -1.
    return rng.standard_exponential(count) - 1.0


def pdf(distribution: str, x: np.ndarray) -> np.ndarray:
    """Return the probability density of the delay, scaled to mean 0 and standard deviation 1.

    x: float64 array. The deviations from the mean, in standard deviations.
    """
    if distribution == "uniform":
        return np.where(np.abs(x) <= np.sqrt(3), 1 / (2 * np.sqrt(3)), 0.0)
    if distribution == "normal":
        return np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
    assert distribution == "exponential", distribution
    return np.where(x >= -1, np.exp(-np.maximum(x, -1.0) - 1), 0.0)


def cdf(distribution: str, x: np.ndarray) -> np.ndarray:
    """Return the cumulative probability at x of the delay distribution with mean 0 and standard deviation 1.

    >>> cdf("uniform", np.array([-2.0, 0.0, 2.0])).tolist()
    [0.0, 0.5, 1.0]
    """
    if distribution == "uniform":
        return np.clip((x + np.sqrt(3)) / (2 * np.sqrt(3)), 0.0, 1.0)
    if distribution == "normal":
        # numpy has no erf, and this package does not depend on scipy.
        return np.array([(1 + math.erf(value / math.sqrt(2))) / 2 for value in x])
    assert distribution == "exponential", distribution
    return -np.expm1(-np.maximum(x + 1, 0.0))


STAND_INS = MappingProxyType(
    {
        "kept": "exponential draws of mean 1 ms, those above 4 ms thrown away (what a netem table's 16 bits hold)",
        "pareto": "tc's table `pareto` with its standard deviation brought to 1 ms",
    }
)
"""The distributions that the study may have used instead of the exponential distribution
(design/exponential-jitter.md)."""


def stand_in_pkts(name: str, sigma_s: float, seed: int = 1) -> float:
    """Return the mean displacement in packets of a probe whose jitter has one of the distributions in `STAND_INS`.

    name: A key of `STAND_INS`.
    sigma_s: The standard deviation in seconds, as the study gives it.
    seed: The seed of numpy's generator.
    """
    rng = np.random.default_rng(seed)
    if name == "kept":
        # The random values are computed with the inverse of the exponential distribution function, which is truncated
        # at 4. Truncation gives the same distribution as discarding random values above 4.
        draws = -np.log1p(rng.random(PROBE_PKTS) * np.expm1(-4.0))
    else:
        assert name == "pareto", name
        # The formula is from iproute2, netem/pareto.c: 4/3 (q^(-1/3) - 3/2), limited to 16 bits; 8192 is one sigma.
        table = np.minimum(4 / 3 * ((np.arange(65_536, 0, -16) / 65_536) ** (-1 / 3) - 1.5), 32_767 / 8192)
        draws = rng.choice(table / table.std(), PROBE_PKTS)
    return mean_displacement_pkts(density(arrival_order(sigma_s * draws)))


def arrival_order(delays_s: np.ndarray, rate_pkts_per_s: float = PROBE_RATE_PKTS_PER_S) -> np.ndarray:
    """Return the numbers of the packets (from 0) in order of arrival, as an int64 array. If packets arrive at the same
    time, they are in order of sending.

    >>> arrival_order(np.array([0.0, 3e-4, 0.0, 0.0])).tolist()
    [0, 2, 3, 1]
    """
    return np.argsort(np.arange(len(delays_s)) / rate_pkts_per_s + delays_s, kind="stable")


def probe(distribution: str, sigma_s: float, seed: int, packets: int = PROBE_PKTS) -> np.ndarray:
    """Return the order of arrival of the study's probe, as an int64 array of shape (packets,)."""
    # The base delay of 100 ms is left out, because it is the same for all packets and does not change their order.
    return arrival_order(sigma_s * deviations(distribution, packets, np.random.default_rng(seed)))


def density(arrivals: np.ndarray, threshold_pkts: int = THRESHOLD_PKTS) -> dict[int, float]:
    """Return the RD of RFC 5236: the share of packets at each displacement, positive for late packets.

    `arrivals` must be a permutation of 0..n-1, because no packet is lost or duplicated. A packet displaced by more than
    the threshold counts as lost, and later packets take its place (section 7.1).

    >>> density(np.array([0, 2, 1]))
    {-1: 0.3333333333333333, 0: 0.3333333333333333, 1: 0.3333333333333333}
    """
    place = np.empty(len(arrivals), dtype=np.int64)
    place[arrivals] = np.arange(len(arrivals))
    # In RFC 5236, displacement is the receive index minus the sequence number. The displacement is positive for late
    # packets. No packet is lost or duplicated here, so the receive index is the position in the order of arrival.
    displaced = place - np.arange(len(arrivals))
    # The slower computation with the threshold is needed only if some displacement exceeds the threshold.
    if np.abs(displaced).max(initial=0) > threshold_pkts:
        displaced = np.array(_stay_back(arrivals.tolist(), threshold_pkts), dtype=np.int64)
    values, counts = np.unique(displaced, return_counts=True)
    return {int(value): float(count) / len(displaced) for value, count in zip(values, counts, strict=True)}


def mean_displacement_pkts(rd: Mapping[int, float]) -> float:
    """Return the mean displacement: MD = sum |i| RD[i].

    RFC 5236 does not define MD. The definition is in section 3 of the study.

    >>> mean_displacement_pkts({-4: 0.25, 0: 0.25, 2: 0.5})
    2.0
    """
    return sum(abs(index) * share for index, share in rd.items())


def entropy_nats(rd: Mapping[int, float]) -> float:
    """Return the reordering entropy: E_r = -sum RD[i] ln RD[i].

    E_r is the Shannon entropy of RD in nats, as in section 3 of the study.

    >>> round(entropy_nats({-4: 0.25, 0: 0.25, 2: 0.5}), 2)
    1.04
    """
    return -sum(share * float(np.log(share)) for share in rd.values())


def measured_pkts_nats(distribution: str, sigma_s: float, seed: int = 1) -> tuple[float, float]:
    """Return the mean displacement and reordering entropy (MD, E_r) of a probe."""
    rd = density(probe(distribution, sigma_s, seed))
    return mean_displacement_pkts(rd), entropy_nats(rd)


def _stay_back(arrivals: list[int], threshold_pkts: int) -> list[int]:
    """Return the displacements of the packets that do not count as lost. To assign a receive index, the function looks
    ahead by up to `threshold_pkts` arrivals.

    The function follows RFC 5236, 7.1, with one exception. If a packet is late beyond the threshold, the index
    advances, because the packet's number has already been used as an index. By the RFC's text, such a packet does not
    advance the index. The index would then be too small for all later packets.
    """
    coming = iter(arrivals)
    window = deque(islice(coming, threshold_pkts + 1))
    waiting, early = set(window), set[int]()
    index, displacements = 0, []
    while window:
        if index in waiting or index in early:
            packet = window.popleft()
            waiting.discard(packet)
            displacement = index - packet
            if abs(displacement) <= threshold_pkts:
                displacements.append(displacement)
                if displacement < 0:
                    early.add(packet)
            if displacement >= -threshold_pkts:
                early.discard(index)
                index += 1
            # Packets whose numbers are below the index are skipped here, and count as lost.
            packet = next((packet for packet in coming if packet >= index), -1)
            if packet >= 0:
                window.append(packet)
                waiting.add(packet)
        else:
            lowest = min(waiting | early)
            index = lowest if index < lowest else index + 1
    return displacements
