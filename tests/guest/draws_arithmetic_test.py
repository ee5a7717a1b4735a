# SPDX-License-Identifier: Apache-2.0
"""Tests the arithmetic of the guest's random streams. The code in guest/draws/draws_arithmetic.h is compiled for the
host."""

import ctypes
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from support.guest_arithmetic import compiled

HEADER = Path(__file__).resolve().parents[2] / "guest" / "draws" / "draws_arithmetic.h"
SOURCE = f"""\
#include "{HEADER}"
u64 fnv(const char *text, u32 length) {{ return draws_fnv(DRAWS_FNV_BASIS, text, length); }}
u64 fnv_u64(u64 number) {{ return draws_fnv_u64(DRAWS_FNV_BASIS, number); }}
u64 step(u64 *state) {{ return draws_step(state); }}
int below(u64 bits, u32 ceil, u32 *to) {{ return draws_below_of(bits, ceil, to); }}
u64 of_file(u64 seed, const char *name, u32 size, int runs) {{ return draws_state_of_file(seed, name, size, runs); }}
u64 of_connection(u64 seed, u32 own, u32 others, u32 own_port, u32 others_port, u32 delivered)
{{
	return draws_state_of_connection(seed, own, others, own_port, others_port, delivered);
}}
"""
# BBR's gain cycle begins at one of seven phases, chosen at random.
PHASES = 7


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    functions = compiled(SOURCE, tmp_path_factory.mktemp("arithmetic"))
    u64, u32 = ctypes.c_uint64, ctypes.c_uint32
    for name, arguments in {
        "fnv": [ctypes.c_char_p, u32],
        "fnv_u64": [u64],
        "step": [ctypes.POINTER(u64)],
        "of_file": [u64, ctypes.c_char_p, u32, ctypes.c_int],
        "of_connection": [u64, u32, u32, u32, u32, u32],
    }.items():
        getattr(functions, name).restype = u64
        getattr(functions, name).argtypes = arguments
    functions.below.argtypes = [u64, u32, ctypes.POINTER(u32)]
    return functions


def below(kernel, bits: int, ceil: int) -> int | None:
    """Return the number that the guest computes from 64 random bits. If the guest rejects the bits, return None."""
    found = ctypes.c_uint32()
    return found.value if kernel.below(bits, ceil, ctypes.byref(found)) else None


def drawn(kernel, state: int, ceil: int) -> int:
    """Return the first number below `ceil` of a stream with this state."""
    state = ctypes.c_uint64(state)
    while (found := below(kernel, kernel.step(ctypes.byref(state)), ceil)) is None:
        pass
    return found


def p_of_uniform(numbers, cells: int) -> float:
    """Return the p-value of a chi-square test for uniform numbers below `cells`."""
    return stats.chisquare(np.bincount(numbers, minlength=cells)).pvalue


def test_the_hash_is_fnv_1a(kernel):
    # value from http://www.isthe.com/chongo/src/fnv/test_fnv.c
    assert kernel.fnv(b"", 0) == 0xCBF29CE484222325
    assert kernel.fnv(b"a", 1) == 0xAF63DC4C8601EC8C
    assert kernel.fnv(b"foobar", 6) == 0x85944171F73967E8
    assert kernel.fnv_u64(0x0706050403020100) == kernel.fnv(bytes(range(8)), 8)


def test_the_stream_is_splitmix64(kernel):
    # values from https://rosettacode.org/wiki/Pseudo-random_numbers/Splitmix64
    state = ctypes.c_uint64(1234567)
    assert [kernel.step(ctypes.byref(state)) for _ in range(5)] == [
        6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821,
    ]  # fmt: skip


@given(ceil=st.integers(1, 2**32 - 1), data=st.data())
def test_each_number_below_is_drawn_of_as_many_bits(kernel, ceil, data):
    number = data.draw(st.integers(0, ceil - 1))
    # The upper halves u that give `number` are those with floor(u * ceil / 2^32) == number and (u * ceil) mod 2^32 >=
    # 2^32 mod ceil
    refused = 2**32 % ceil
    first = -(-(number * 2**32 + refused) // ceil)
    last = first + 2**32 // ceil - 1
    assert last < 2**32
    assert below(kernel, first << 32, ceil) == number == below(kernel, last << 32 | 0xFFFFFFFF, ceil)
    assert first == 0 or below(kernel, (first - 1) << 32, ceil) != number
    assert last == 2**32 - 1 or below(kernel, (last + 1) << 32, ceil) != number


def test_streams_differ_by_seed_name_and_whether_processes_run(kernel):
    streams = itertools.product([0, 1, 2, 2**63], [b"tcp_bbr", b"tcp_cdg", b"sch_pie"], [0, 1])
    states = {kernel.of_file(seed, name, len(name), runs) for seed, name, runs in streams}
    assert len(states) == 4 * 3 * 2


def test_a_stream_is_uniform(kernel):
    state = ctypes.c_uint64(kernel.of_file(1, b"sch_pie", 7, 1))
    words = [kernel.step(ctypes.byref(state)) for _ in range(100_000)]
    assert p_of_uniform([word >> 56 for word in words], 256) > 0.001
    assert p_of_uniform([word & 0xFF for word in words], 256) > 0.001
    assert p_of_uniform([n for word in words if (n := below(kernel, word, PHASES)) is not None], PHASES) > 0.001


@pytest.mark.parametrize("step_pkts", [1, 1000, 83_333])
def test_what_a_connection_draws_is_uniform_and_its_draws_are_independent(kernel, step_pkts):
    states = (kernel.of_connection(1, 0x0A000001, 0x0A000002, 40000, 5201, n * step_pkts) for n in range(50_000))
    phases = [drawn(kernel, state, PHASES) for state in states]
    assert p_of_uniform(phases, PHASES) > 0.001
    pairs = [PHASES * one + next_one for one, next_one in itertools.pairwise(phases)]
    assert p_of_uniform(pairs[::2], PHASES**2) > 0.001


def test_connections_and_seeds_draw_independently(kernel):
    def phase(seed, port):
        return drawn(kernel, kernel.of_connection(seed, 0x0A000001, 0x0A000002, port, 5201, 1000), PHASES)

    by_port = [phase(1, port) for port in range(32_768, 60_999)]
    by_seed = [phase(seed, 40000) for seed in range(1, 30_000)]
    assert p_of_uniform(by_port, PHASES) > 0.001
    assert p_of_uniform(by_seed, PHASES) > 0.001
    pairs = [PHASES * a + b for a, b in itertools.pairwise(by_port)]
    assert p_of_uniform(pairs[::2], PHASES**2) > 0.001
