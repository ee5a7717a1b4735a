# SPDX-License-Identifier: Apache-2.0
"""The random processes of a fading channel, each continued from block to block so that its memory is bounded.

What a process yields does not depend on how it is cut into blocks, but for the last digit of a convolution.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Visits:
    """States one after another along the terminal's way.

    states: int8 array of shape (n,). No two neighbours are equal.
    starts_m: float64 array of shape (n + 1,). Where each begins; the first 0, the last the end of the last.
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
    """A walk of the chain, one step a frame of the state's length, at least `until_m` long.

    The first state is drawn from the chain's stationary distribution `shares`, so no run-in is needed.
    """
    state = _drawn(np.cumsum(shares), rng.random())
    # Probabilities of the next state given that this one is left; the stay itself is drawn at once, below.
    leaving = np.cumsum(np.where(np.eye(len(chain), dtype=bool), 0.0, chain), axis=1)
    states, starts = [], [0.0]
    while starts[-1] <= until_m:
        states.append(state)
        stays = chain[state, state]
        if stays >= 1:
            starts.append(math.inf)
            break
        # Frames in a state: geometric, mean 1 / (1 - Pii).
        frames = 1 if stays == 0 else 1 + math.floor(math.log1p(-rng.random()) / math.log(stays))
        starts.append(starts[-1] + frames * frames_m[state])
        state = _drawn(leaving[state], rng.random())
    return Visits(np.array(states, dtype=np.int8), np.array(starts))


def _drawn(cumulative: NDArray[np.float64], uniform: float) -> int:
    """The place that a uniform number falls into, of cumulated weights that need not end at 1."""
    return int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))


class Blend:
    """What belongs to the states, as a function of the way: steps if `width_m` is 0, else slopes of that length.

    The running mean over a window of that width: half of a slope lies before the border and half behind it, and a state
    that is shorter than the window blends with both neighbours.
    """

    def __init__(self, values: NDArray[np.float64], starts_m: NDArray[np.float64], width_m: float) -> None:
        self.values, self.starts_m, self.width_m = values, starts_m, width_m
        # The integral, straight between the borders; before the first and behind the last state it goes on as there.
        knots = starts_m.copy()
        knots[0] -= width_m
        if not math.isfinite(knots[-1]):
            knots[-1] = knots[-2] + 1.0
        self._slope_at_end = float(values[-1])
        self._knots = knots
        self._integral = np.concatenate(([0.0], np.cumsum(values * np.diff(knots))))

    def at(self, x_m: NDArray[np.float64]) -> NDArray[np.float64]:
        """The value at places of the way, same shape."""
        if self.width_m == 0:
            return self.values[places(self.starts_m, x_m)]
        half = self.width_m / 2
        return (self._integrated(x_m + half) - self._integrated(x_m - half)) / self.width_m

    def _integrated(self, x_m: NDArray[np.float64]) -> NDArray[np.float64]:
        """Integral of the steps from the first knot to each place."""
        beyond = np.maximum(x_m - self._knots[-1], 0.0)
        return np.interp(x_m, self._knots, self._integral) + beyond * self._slope_at_end


def places(starts_m: NDArray[np.float64], x_m: NDArray[np.float64]) -> NDArray[np.intp]:
    """Index of the visit that holds each place."""
    return np.clip(np.searchsorted(starts_m, x_m, side="right") - 1, 0, len(starts_m) - 2)


class Shadowing:
    """A Gaussian process of mean 0 and variance 1 whose correlation is exp(-distance / correlation distance).

    The first-order autoregression that Gudmundson found in measurements ("Correlation model for shadow fading in mobile
    radio systems", Electronics Letters 27, 1991); exact at the samples whatever their spacing.
    """

    def __init__(self, spacing_m: float, correlation_m: float, rng: np.random.Generator) -> None:
        self._keeps = math.exp(-spacing_m / correlation_m)
        # sqrt(1 - keeps^2); expm1, because samples lie close together and the difference from 1 is small.
        self._adds = math.sqrt(-math.expm1(-2 * spacing_m / correlation_m))
        self._rng = rng
        self._last: float | None = None

    def block(self, n: int) -> NDArray[np.float64]:
        """The next n samples, shape (n,)."""
        noise = self._rng.standard_normal(n) * self._adds
        if self._last is None:
            # The first value has variance 1 from the start, not only after a run-in.
            noise[0] /= self._adds
            before = 0.0
        else:
            before = self._keeps * self._last
        # Imported where it is used, here and below: scipy.signal takes 0.9 CPU s, and whoever reads a run imports this
        # module without drawing from it.
        from scipy.signal import lfilter

        values, _ = lfilter([1.0], [1.0, -self._keeps], noise, zi=np.array([before]))
        self._last = float(values[-1])
        return values


class Multipath:
    """A complex Gaussian process of mean power 1 with Clarke's Doppler spectrum: autocorrelation J0(2 pi d / lambda).

    That is diffuse power that comes from all around the terminal in equal parts (Jakes, "Microwave Mobile
    Communications", 1974, section 1.2), the Doppler shift of the direct signal taken out. White noise through a filter:
    the square root of the spectrum is its frequency response. As the response to the spectrum's own edges never ends,
    J0 is multiplied by a Gaussian of `MEMORY_WAVELENGTHS`, which is off by 0.005 within four wavelengths and by 2e-4 in
    the second moment of the spectrum, that level crossings go by; the response then ends within
    `REACH_WAVELENGTHS`. (Cutting the response of the bare spectrum there takes 7 % off the second moment.)
    """

    MEMORY_WAVELENGTHS, REACH_WAVELENGTHS = 15, 32

    def __init__(self, spacing_wavelengths: float, rng: np.random.Generator) -> None:
        # Not above: readers of a run need not pay 0.1 CPU s for scipy.
        from scipy.special import j0

        reach = max(1, round(self.REACH_WAVELENGTHS / spacing_wavelengths))
        # A power of two for the transform, and four times as long as what is kept: what wraps around is beyond the
        # Gaussian.
        half = 4 << math.ceil(math.log2(reach))
        d = np.arange(-half, half) * spacing_wavelengths
        correlation = j0(2 * np.pi * d) * np.exp(-((d / self.MEMORY_WAVELENGTHS) ** 2) / 2)
        # A product of two correlations is one: nothing is below 0 but by rounding.
        spectrum = np.maximum(np.fft.fft(np.fft.ifftshift(correlation)).real, 0)
        taps = np.fft.fftshift(np.fft.ifft(np.sqrt(spectrum)).real)[half - reach : half + reach + 1]
        self._taps = taps / math.sqrt(float(taps @ taps))
        self._rng = rng
        self._noise = self._white(2 * reach)

    def block(self, n: int) -> NDArray[np.complex128]:
        """The next n samples, shape (n,), mean of |w|^2 1."""
        noise = np.concatenate((self._noise, self._white(n)))
        # What the filter still reaches back to: the next block goes on without a seam.
        self._noise = noise[n:]
        from scipy.signal import oaconvolve

        return oaconvolve(noise, self._taps, mode="valid")

    def _white(self, n: int) -> NDArray[np.complex128]:
        """n complex Gaussian samples of mean power 1: half of it in each of the two parts."""
        return self._rng.normal(0.0, math.sqrt(0.5), 2 * n).view(np.complex128)
