# SPDX-License-Identifier: Apache-2.0
"""Tests the arithmetic of the guest's loss detection against the formulas. The code (guest/tcp/loss_arithmetic.h) is
compiled for the host."""

import ctypes
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.guest_arithmetic import compiled

HEADER = Path(__file__).resolve().parents[2] / "guest" / "tcp" / "loss_arithmetic.h"
SOURCE = f"""\
#include "{HEADER}"
u32 ncr_dupthresh(u32 flight, int careful) {{ return loss_ncr_dupthresh(flight, careful); }}
u32 careful_pkts(u32 prev, u32 pipe, u32 skipped) {{ return loss_ncr_careful_pkts(prev, pipe, skipped); }}
u64 longest_ns(u64 longest, u64 rtt, u32 cwnd, u32 alpha) {{ return loss_pr_longest_ns(longest, rtt, cwnd, alpha); }}
u64 limit_ns(u64 longest, u32 beta) {{ return loss_pr_limit_ns(longest, beta); }}
u32 window_us(int quarter, u32 min_rtt) {{ return loss_rack_window_us(quarter, min_rtt); }}
u32 rr_dupthresh(const u32 *extents, u32 count, u32 ppm) {{ return loss_rr_dupthresh(extents, count, ppm); }}
"""
PKTS = st.integers(0, 100_000)


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    functions = compiled(SOURCE, tmp_path_factory.mktemp("arithmetic"))
    for name in ("longest_ns", "limit_ns"):
        getattr(functions, name).restype = ctypes.c_uint64
    return functions


@given(flight=PKTS)
def test_ncr_waits_for_a_window_of_duplicate_acks(kernel, flight):
    # RFC 4653, 3.1 (I.3)
    assert kernel.ncr_dupthresh(flight, 1) == max(2 * flight // 3, 3)
    assert kernel.ncr_dupthresh(flight, 0) == max(flight // 2, 3)


@pytest.mark.parametrize("careful", [0, 1])
@pytest.mark.parametrize("window", [10, 100, 1081])
def test_one_loss_is_found_after_a_window_of_duplicate_acks(kernel, careful, window):
    sent, sacked = window, 0
    while sacked < kernel.ncr_dupthresh(sent, careful):
        sacked += 1
        pipe = sent - sacked
        new = kernel.careful_pkts(window, pipe, sent - window) if careful else window - pipe
        sent += new
    # By the paper's continuous form, the exact result is window - 1: 2/3 (W + k/2) = k, or (W + k)/2 = k. With whole
    # packets, the result differs by one or two
    assert window - 2 <= sacked <= window


@given(prev=PKTS, pipe=PKTS, skipped=PKTS)
def test_careful_sends_as_the_loop_of_the_rfc_does(kernel, prev, pipe, skipped):
    new, p, s = 0, pipe, skipped
    while p + s <= prev - 1:  # E.2
        new, p, s = new + 1, p + 1, s + 1  # E.3, E.4
    assert kernel.careful_pkts(prev, pipe, skipped) == new


def u64(value):
    return ctypes.c_uint64(value)


@given(longest=st.integers(0, 10**10), rtt=st.integers(0, 10**10), cwnd=st.integers(1, 10_000))
def test_the_maximum_never_falls_below_the_sample_and_decays_otherwise(kernel, longest, rtt, cwnd):
    now = kernel.longest_ns(u64(longest), u64(rtt), cwnd, 995_000)
    decayed = longest * 0.995 ** (1 / cwnd)
    assert now >= rtt
    assert now == pytest.approx(max(decayed, rtt), rel=1.4e-5, abs=2)


@pytest.mark.parametrize("cwnd", [1, 10, 1081])
def test_alpha_of_the_maximum_is_left_after_a_window_of_acks(kernel, cwnd):
    longest = 140_000_000
    for _ in range(cwnd):
        longest = kernel.longest_ns(u64(longest), u64(0), cwnd, 995_000)
    assert longest == pytest.approx(0.995 * 140e6, rel=2e-5)
    assert kernel.limit_ns(u64(longest), 3_000_000) == 3 * longest


@given(extents=st.lists(st.integers(1, 5000), min_size=1, max_size=512), ppm=st.integers(10_000, 1_000_000))
def test_the_threshold_rides_out_the_share_that_is_asked_for(kernel, extents, ppm):
    array = (ctypes.c_uint32 * len(extents))(*extents)
    threshold = kernel.rr_dupthresh(array, len(extents), ppm)
    wanted = math.ceil(len(extents) * ppm / 10**6)
    assert threshold == max(sorted(extents)[wanted - 1] + 1, 3)
    assert kernel.rr_dupthresh(array, 0, ppm) == 3


@given(min_rtt=st.integers(0, 10**9))
def test_the_first_racks_window_is_a_millisecond_until_reordering_was_seen(kernel, min_rtt):
    assert kernel.window_us(0, min_rtt) == 1000
    assert kernel.window_us(1, min_rtt) == max(min_rtt // 4, 1000)


def test_without_a_measured_rtt_the_first_racks_window_is_a_millisecond(kernel):
    assert kernel.window_us(1, 2**32 - 1) == 1000
