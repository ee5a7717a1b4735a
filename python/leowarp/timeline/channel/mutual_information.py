# SPDX-License-Identifier: Apache-2.0
"""The mutual information between sent and received values, in bits per symbol, over white Gaussian noise.

For M equally likely points x of mean energy 1 and complex noise of energy 1 / snr (snr = Es / N0, a ratio, not dB):

    I = log2 M - 1/M sum_x E_n log2 sum_x' exp(-snr (|x - x' + n|^2 - |n|^2))

I is the coded-modulation information, between symbols and received values. A decoder for 16QAM or 8PSK that treats each
bit separately, without iterations, loses a little of this information. BPSK uses one real dimension, and QPSK uses two.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leowarp.timeline.channel.decibels import power_db, power_ratio

BITS_PER_SYMBOL = {"bpsk": 1, "qpsk": 2, "8psk": 3, "16qam": 4}


def mutual_information(modulation: str, snr: ArrayLike) -> NDArray[np.float64]:
    """Return the bits per symbol, in the shape of `snr`. The values are interpolated from a table that was computed
    with `quadrature` in steps of 0.05 dB.

    Between entries, the values are linear in dB (error at most 2e-5 bits). Below -50 dB, the values are proportional to
    Es / N0.

    modulation: "bpsk", "qpsk", "8psk" or "16qam"
    snr: ratio Es / N0, 0 or more
    """
    ratio = np.asarray(snr, dtype=np.float64)
    bits = np.interp(power_db(ratio), _LEVELS_DB, _table(modulation))
    least = power_ratio(_LEVELS_DB[0])
    # Below the table's lowest ratio, the information is proportional to the ratio: for every modulation, I = snr log2 e
    # holds for small snr.
    return np.where(ratio < least, ratio / least * bits, bits)


def snr_for(modulation: str, bits: float) -> float:
    """Return the ratio Es / N0 at which a symbol carries `bits` bits. `bits` must be below the modulation's maximum."""
    table = _table(modulation)
    if not 0 < bits < BITS_PER_SYMBOL[modulation]:
        raise ValueError(f"{bits} bits in a symbol of {modulation}")
    # Only the rising part of the table of mutual information is used. In the flat part at the maximum, several ratios
    # Es / N0 have the same number of bits. np.interp would have no unique answer there.
    rising = int(np.argmax(table >= table[-1]))
    return float(power_ratio(np.interp(bits, table[: rising + 1], _LEVELS_DB[: rising + 1])))


def quadrature(modulation: str, snr: ArrayLike) -> NDArray[np.float64]:
    """Return the bits per symbol by numerical integration over the noise, in the shape of `snr`."""
    ratio = np.asarray(snr, dtype=np.float64)
    flat = np.array([_one(modulation, float(g)) for g in ratio.ravel()])
    return flat.reshape(ratio.shape)


def _one(modulation: str, snr: float) -> float:
    match modulation:
        case "bpsk":
            return _real(np.array([-1.0, 1.0]), snr)
        case "qpsk":
            # Each of the two dimensions carries half of the energy, so each has half of the symbol's Es/N0.
            return 2 * _real(np.array([-1.0, 1.0]), snr / 2)
        case "16qam":
            # Each of the two dimensions has four levels. The mean energy of these levels is 1.
            return 2 * _real(np.array([-3.0, -1.0, 1.0, 3.0]) / np.sqrt(5), snr / 2)
        case "8psk":
            return _complex(np.exp(2j * np.pi * np.arange(8) / 8), snr)
    raise ValueError(f"modulation {modulation!r}; there is {', '.join(BITS_PER_SYMBOL)}")


def _real(points: NDArray[np.float64], snr: float) -> float:
    """Return the bits per symbol in one dimension. The points have mean energy 1, and the noise has variance 1 / (2
    snr). The integral is computed by the trapezoidal rule from -9 to 9 standard deviations."""
    scaled = points * np.sqrt(2 * snr)
    d = scaled[:, None] - scaled[None, :]
    exponent = -(d * d)[..., None] / 2 - d[..., None] * _NODES
    return float(np.log2(len(points)) - (_log_sum(exponent, 1) @ _WEIGHTS).mean() / np.log(2))


def _complex(points: NDArray[np.complex128], snr: float) -> float:
    """Return the mutual information of points in two dimensions. By symmetry, all points have the same information.
    Only the information of one point is computed."""
    d = np.sqrt(2 * snr) * (points[0] - points)
    nodes, weights = _COARSE, _COARSE_WEIGHTS
    exponent = (
        -(np.abs(d) ** 2)[:, None, None] / 2
        - d.real[:, None, None] * nodes[:, None]
        - d.imag[:, None, None] * nodes[None, :]
    )
    return float(np.log2(len(points)) - weights @ _log_sum(exponent, 0) @ weights / np.log(2))


def _log_sum(exponent: NDArray[np.float64], axis: int) -> NDArray[np.float64]:
    # The largest exponent is factored out of the sum; otherwise exp overflows at high SNR.
    top = exponent.max(axis=axis, keepdims=True)
    return (top + np.log(np.exp(exponent - top).sum(axis=axis, keepdims=True))).squeeze(axis)


@cache
def _table(modulation: str) -> NDArray[np.float64]:
    return quadrature(modulation, power_ratio(_LEVELS_DB))


def _gaussian(count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the nodes and weights for a mean over a Gaussian of variance 1. The sum of the weights is 1. The method is
    the trapezoidal rule, from -9 to 9 deviations."""
    nodes = np.linspace(-9.0, 9.0, count)
    weights = np.exp(-nodes * nodes / 2)
    return nodes, weights / weights.sum()


_NODES, _WEIGHTS = _gaussian(721)
# A two-dimensional grid has as many nodes as one dimension squared, so fewer nodes per dimension are used.
_COARSE, _COARSE_WEIGHTS = _gaussian(91)

_LEVELS_DB = np.linspace(-50.0, 40.0, 1801)
