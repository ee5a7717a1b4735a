# SPDX-License-Identifier: Apache-2.0
"""Tests that the kernel `stock`, without leowarp's clock and links, agrees with the default kernel over netem links.
tools/stock.py compares more cases."""

from pathlib import Path

import pytest

from support.beside import modules_beside

pytestmark = pytest.mark.guest

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.mark.parametrize("case", ["chain, CUBIC and a ping", "Madrid-Tokyo, CUBIC", "a probe with jitter"])
def test_delays_goodput_and_counts_of_the_stock_kernel_are_those_of_the_default_kernel(case):
    with modules_beside(TOOLS, ["stock"]) as modules:
        rows = list(modules["stock"].rows(case))
    assert {row.quantity.scalar for row in rows} >= {"owd_min_ns", "delivered_pkts"}
    assert [row for row in rows if not row.holds()] == []
