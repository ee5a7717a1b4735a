# SPDX-License-Identifier: Apache-2.0
"""Tests the table of numbers in the guide on real links. The numbers must equal computed numbers."""

import re
from pathlib import Path

import pytest

from leowarp_studies.torres2020 import simulation

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "measuring-a-real-link.md"
ROWS = re.findall(r"^\| ([\d.]+) ms \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.M)


@pytest.mark.slow
@pytest.mark.parametrize(("jitter_ms", "cells"), ROWS, ids=[jitter_ms for jitter_ms, _ in ROWS])
def test_the_guides_values_are_those_of_arithmetic(jitter_ms, cells):
    found = [simulation.measured_pkts_nats(name, float(jitter_ms) / 1e3) for name in simulation.DISTRIBUTIONS]
    digits = 1 if float(jitter_ms) >= 4 else 2
    assert cells.split(" | ") == [f"{pkts:.{digits}f}, {nats:.2f}" for pkts, nats in found]


def test_there_is_a_table():
    assert len(ROWS) == 6
