# SPDX-License-Identifier: Apache-2.0
"""The random processes of a fading channel. Each process is computed block by block, so that the memory does not grow
with the run.

The length of the blocks changes only the last digit of a convolution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Visits:
    """The states that the terminal visits one after the other along its path.

    states: int8 array of shape (n,). Two successive states are always different.
    starts_m: float64 array of shape (n + 1,). The position at which each visit of a state begins, with 0 for the first
        visit. The additional last element is the end of the last visit.
    """

    states: NDArray[np.int8]
    starts_m: NDArray[np.float64]


def visits(
    chain: NDArray[np.float64],
    shares: NDArray[np.float64],
    frames_m: NDArray[np.float64],
    until_m: float,
    rng: np.random.Generator,
) -> Visits:
    """Return the states that the chain visits on a path of at least `until_m`. The length of one step of the chain is
    the frame length of the current state.

    The first state is sampled from the stationary distribution `shares` of the chain, so no warm-up is needed.
    """
    state = _drawn(np.cumsum(shares), rng.random())
    # Probabilities of the next state, given that the chain leaves its current state. The length of each stay is sampled
    # separately in the loop below.
    leaving = np.cumsum(np.where(np.eye(len(chain), dtype=bool), 0.0, chain), axis=1)
    states, starts = [], [0.0]
    while starts[-1] <= until_m:
        states.append(state)
        stays = chain[state, state]
        if stays >= 1:
            starts.append(math.inf)
            break
        # The number of frames in a state is geometric, with mean 1 / (1 - Pii).
        frames = 1 if stays == 0 else 1 + math.floor(math.log1p(-rng.random()) / math.log(stays))
        starts.append(starts[-1] + frames * frames_m[state])
        state = _drawn(leaving[state], rng.random())
    return Visits(np.array(states, dtype=np.int8), np.array(starts))


def _drawn(cumulative: NDArray[np.float64], uniform: float) -> int:
    """Return the index of the interval that contains a uniform random number. The last cumulated weight need not be
    1."""
    return int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))


class Blend:
    """A function from distance to a parameter of the state at that distance. At a change of state, the parameter jumps
    if `width_m` is 0. Otherwise, the parameter changes linearly over the length `width_m`.

    If `width_m` is not 0, the value is the running mean over a window of length `width_m`. The middle of a slope is at
    the change of state. A state shorter than the window blends with both neighbours.
    """

    def __init__(self, values: NDArray[np.float64], starts_m: NDArray[np.float64], width_m: float) -> None:
        self.values, self.starts_m, self.width_m = values, starts_m, width_m
        # The integral is linear between changes of state, and is extrapolated before the first state and after the
        # last.
        knots = starts_m.copy()
        knots[0] -= width_m
        if not math.isfinite(knots[-1]):
            knots[-1] = knots[-2] + 1.0
        self._knots = knots
        self._integral = np.concatenate(([0.0], np.cumsum(values * np.diff(knots))))

    def at(self, x_m: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the value at positions along the path, in an array of the same shape as `x_m`."""
        if self.width_m == 0:
            return self.values[places(self.starts_m, x_m)]
        half = self.width_m / 2
        return (self._integrated(x_m + half) - self._integrated(x_m - half)) / self.width_m

    def _integrated(self, x_m: NDArray[np.float64]) -> NDArray[np.float64]:
        beyond = np.maximum(x_m - self._knots[-1], 0.0)
        return np.interp(x_m, self._knots, self._integral) + beyond * self.values[-1]


def places(starts_m: NDArray[np.float64], x_m: NDArray[np.float64]) -> NDArray[np.intp]:
    """Return the index of the visit that contains each position."""
    return np.clip(np.searchsorted(starts_m, x_m, side="right") - 1, 0, len(starts_m) - 2)


class Shadowing:
    """A Gaussian process of mean 0 and variance 1 whose correlation is exp(-distance / correlation distance).

    The process is the first-order autoregression that Gudmundson found in measurements ("Correlation model for shadow
    fading in mobile radio systems", Electronics Letters 27, 1991). It is exact at the samples for any spacing.
    """

    def __init__(self, spacing_m: float, correlation_m: float, rng: np.random.Generator) -> None:
        self._keeps = math.exp(-spacing_m / correlation_m)
        # Factor sqrt(1 - keeps^2) of the new noise. expm1 is used because keeps is close to 1 for neighbouring samples,
        # and 1 - keeps^2 would lose precision.
        self._adds = math.sqrt(-math.expm1(-2 * spacing_m / correlation_m))
        self._rng = rng
        self._last: float | None = None

    def block(self, n: int) -> NDArray[np.float64]:
        """Return the next n samples, shape (n,)."""
        noise = self._rng.standard_normal(n) * self._adds
        if self._last is None:
            # The first value already has variance 1, so no warm-up is needed.
            noise[0] /= self._adds
            before = 0.0
        else:
            before = self._keeps * self._last
        # scipy.signal is imported locally, in both classes: the import takes 0.9 s of CPU time, and programs that only
        # read a run import this module as well.
        from scipy.signal import lfilter

        values, _ = lfilter([1.0], [1.0, -self._keeps], noise, zi=np.array([before]))
        self._last = float(values[-1])
        return values


class Multipath:
    """A complex Gaussian process of mean power 1 with Clarke's Doppler spectrum: autocorrelation J0(2 pi d / lambda).

    The process models diffuse power that arrives equally from all directions (Jakes, "Microwave Mobile Communications",
    1974, section 1.2). It does not contain the Doppler shift of the direct signal. The process is white noise through a
    filter whose frequency response is the square root of the spectrum. The spectrum's sharp edges make the response
    infinitely long, so J0 is multiplied by a Gaussian with a deviation of `MEMORY_WAVELENGTHS`. The Gaussian causes an
    error of 0.005 within four wavelengths. The second moment of the spectrum determines how often a level is crossed.
    Its error is 2e-4. With the Gaussian, the response is negligible beyond `REACH_WAVELENGTHS`. If the response were
    cut off at `REACH_WAVELENGTHS` without the Gaussian, 7 % of the second moment would be lost.
    """

    MEMORY_WAVELENGTHS, REACH_WAVELENGTHS = 15, 32

    def __init__(self, spacing_wavelengths: float, rng: np.random.Generator) -> None:
        # The import is local: importing scipy takes 0.1 s of CPU time, and programs that only read a run do not need
        # scipy.
        from scipy.special import j0

        reach = max(1, round(self.REACH_WAVELENGTHS / spacing_wavelengths))
        # The length of the transform is a power of two, and at least four times the used length. Wrap-around therefore
        # affects only values at which the Gaussian is negligible.
        half = 4 << math.ceil(math.log2(reach))
        d = np.arange(-half, half) * spacing_wavelengths
        correlation = j0(2 * np.pi * d) * np.exp(-((d / self.MEMORY_WAVELENGTHS) ** 2) / 2)
        # The spectrum of a correlation is never negative, and the product of two correlations is a correlation.
        # Negative values in the computed spectrum therefore come only from rounding.
        spectrum = np.maximum(np.fft.fft(np.fft.ifftshift(correlation)).real, 0)
        taps = np.fft.fftshift(np.fft.ifft(np.sqrt(spectrum)).real)[half - reach : half + reach + 1]
        self._taps = taps / math.sqrt(float(taps @ taps))
        self._rng = rng
        self._noise = self._white(2 * reach)

    def block(self, n: int) -> NDArray[np.complex128]:
        """Return the next n samples of the complex process, shape (n,). The mean of |w|^2 is 1."""
        noise = np.concatenate((self._noise, self._white(n)))
        # The last noise samples are kept for the filter, so that the next block continues without a seam.
        self._noise = noise[n:]
        from scipy.signal import oaconvolve

        return oaconvolve(noise, self._taps, mode="valid")

    def _white(self, n: int) -> NDArray[np.complex128]:
        """Return n complex Gaussian samples of mean power 1."""
        return self._rng.normal(0.0, math.sqrt(0.5), 2 * n).view(np.complex128)
