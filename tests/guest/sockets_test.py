# SPDX-License-Identifier: Apache-2.0
"""Tests that one call that samples many sockets gives the values of getsockopt. Also tests that sent data are copied,
unless they come from the named range."""

from __future__ import annotations

import errno

import pytest

pytestmark = pytest.mark.guest

BYTES = 1024


@pytest.fixture(scope="module")
def found(end_of, tmp_path_factory):
    """The `end.json` of sockets_init.c."""
    return end_of("sockets_init", tmp_path_factory.mktemp("sockets"))


def test_the_range_that_nobody_looks_at_is_not_copied_and_all_else_is(found):
    # A byte that is not copied contains an earlier value of the kernel's memory, which may equal the right value by
    # chance.
    assert found["cut"] < BYTES
    # `memory[2]`, the second piece of `mixed`, is outside of the range that the guest named, so both pieces are copied.
    assert found["mixed"] == found["beside"] == found["after"] == 2 * BYTES


def test_each_socket_is_told_of_as_getsockopt_does(found):
    assert found["told"] == 2
    assert found["bbr_bytes"] == 20


def test_a_read_that_sleeps_ends_when_it_should_and_tells_the_same(found):
    # If a read sleeps, the clock is read one more time. This reading takes 256 ns.
    assert 0 <= found["late_ns"] <= 2 * 256
    # The guest of this test has no links.
    assert (found["told_asleep"], found["links_bytes"], found["short_asleep"]) == (2, 0, errno.EINVAL)


def test_a_buffer_that_is_too_short_and_what_is_no_socket_are_refused(found):
    assert (found["short"], found["kind"], found["closed"]) == (errno.EINVAL, errno.EINVAL, errno.EBADF)
