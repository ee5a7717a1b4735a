# SPDX-License-Identifier: Apache-2.0
"""Tests the mutual information against an independent quadrature, closed forms and bounds."""

import numpy as np
import pytest

from leowarp.timeline.channel.mutual_information import (
    BITS_PER_SYMBOL,
    mutual_information,
    quadrature,
    snr_for,
)

# Bits per symbol of QPSK, by Es/N0 in dB. They were computed by 200-point Gauss-Hermite quadrature of 1 - E log2(1 +
# exp(-L)), independently of this code.
QPSK_BITS = {-12.0: 0.088268, -5.0: 0.395463, 0.0: 0.971888, 3.0: 1.441322, 7.0: 1.901362, 10.0: 1.993513,
             13.0: 1.999966}  # fmt: skip

# Largest error of the closed form anywhere: 0.00167 bits, at 8.2 dB.
QPSK_CLOSED_FORM_ERROR_BITS = 0.0017


def qpsk_closed_form(g):
    """A fitted formula that circulates in link-level programs (ricoalvarino/linkadaptation, MICalculator)."""
    return 2 * (1 - 0.8551 * np.exp(-0.5718 * g) - 0.1449 * np.exp(-1.55 * g))


def test_qpsk_is_what_another_quadrature_gives():
    for level_db, bits in QPSK_BITS.items():
        ratio = 10 ** (level_db / 10)
        assert float(quadrature("qpsk", ratio)) == pytest.approx(bits, abs=2e-6)
        assert float(mutual_information("qpsk", ratio)) == pytest.approx(bits, abs=3e-5)
        assert float(qpsk_closed_form(ratio)) == pytest.approx(bits, abs=0.002)


def test_the_closed_form_is_within_its_bound_everywhere():
    ratios = 10 ** (np.linspace(-40, 25, 651) / 10)
    off = np.abs(qpsk_closed_form(ratios) - mutual_information("qpsk", ratios))
    assert QPSK_CLOSED_FORM_ERROR_BITS * 0.95 < off.max() < QPSK_CLOSED_FORM_ERROR_BITS


@pytest.mark.parametrize("modulation", BITS_PER_SYMBOL)
def test_the_table_is_the_quadrature_between_its_entries_too(modulation):
    ratios = 10 ** (np.random.default_rng(1).uniform(-49, 30, 12) / 10)
    assert mutual_information(modulation, ratios) == pytest.approx(quadrature(modulation, ratios), abs=3e-5)


@pytest.mark.parametrize("modulation", BITS_PER_SYMBOL)
def test_it_rises_from_nothing_to_the_bits_of_a_symbol_under_shannons_bound(modulation):
    ratios = 10 ** (np.linspace(-70, 39, 400) / 10)
    bits = mutual_information(modulation, ratios)
    assert float(mutual_information(modulation, 0.0)) == 0
    assert (np.diff(bits) > -1e-12).all()
    assert bits[-1] == pytest.approx(BITS_PER_SYMBOL[modulation], abs=1e-9)
    # The tolerance 2e-5 is the error of the table.
    assert (bits <= np.log2(1 + ratios) + 2e-5).all()
    # At low ratios, every zero-mean modulation with equal power in both dimensions approaches Shannon's bound. BPSK
    # also approaches Shannon's bound, although BPSK uses only one dimension.
    assert bits[0] == pytest.approx(np.log2(1 + ratios[0]), rel=1e-3)


def test_qpsk_is_two_bpsk_of_half_the_energy():
    ratios = 10 ** (np.linspace(-20, 15, 8) / 10)
    assert quadrature("qpsk", ratios) == pytest.approx(2 * quadrature("bpsk", ratios / 2), abs=1e-12)


def test_eight_psk_agrees_with_draws():
    rng = np.random.default_rng(2)
    points = np.exp(2j * np.pi * np.arange(8) / 8)
    n = 200_000
    snr = 10 ** (8 / 10)
    noise = rng.normal(0, np.sqrt(0.5 / snr), 2 * n).view(complex)
    sent = points[rng.integers(0, 8, n)]
    exponents = -snr * (np.abs((sent + noise)[:, None] - points) ** 2 - np.abs(noise)[:, None] ** 2)
    drawn_bits = 3 - np.mean(np.log2(np.exp(exponents).sum(axis=1)))
    assert float(quadrature("8psk", snr)) == pytest.approx(drawn_bits, abs=0.01)


def test_the_inverse_gives_the_ratio_back():
    for modulation, bits in (("qpsk", 1.3), ("8psk", 2.0), ("16qam", 3.5)):
        assert float(mutual_information(modulation, snr_for(modulation, bits))) == pytest.approx(bits, abs=1e-4)
    with pytest.raises(ValueError, match="2 bits"):
        snr_for("qpsk", 2)
    with pytest.raises(ValueError, match="there is bpsk, qpsk, 8psk, 16qam"):
        quadrature("64qam", 1.0)
