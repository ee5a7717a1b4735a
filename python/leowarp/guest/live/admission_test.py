# SPDX-License-Identifier: Apache-2.0
"""Tests the limits that leowarp checks before a session begins. Also tests how leowarp counts free descriptors."""

import os
import resource

import pytest

from leowarp.base.errors import HostError, ScenarioError
from leowarp.guest.live.admission import (
    LEAST_DESCRIPTORS,
    MOST_CONNECTIONS,
    MOST_DOORS,
    MOST_IN_ALL,
    Admission,
    Tally,
    check_room,
    free_descriptors,
)


@pytest.fixture
def limit(monkeypatch):
    """Set the value of `ulimit -n`."""
    return lambda count: monkeypatch.setattr(resource, "getrlimit", lambda _: (count, count))


def test_a_session_without_room_for_clients_does_not_begin(limit):
    limit(LEAST_DESCRIPTORS - 1)
    with pytest.raises(HostError, match=r"127 file descriptors .*\n .*ulimit -n 1024"):
        check_room(1)
    for count in (LEAST_DESCRIPTORS, resource.RLIM_INFINITY):
        limit(count)
        check_room(MOST_DOORS)
        with pytest.raises(ScenarioError, match="101 ports: 100 is the most"):
            check_room(MOST_DOORS + 1)


def test_doors_share_what_there_is():
    shares = {doors: Admission(doors, Tally(), str).per_door for doors in (0, 1, 2, 4, MOST_DOORS)}
    assert shares == {0: 200, 1: 200, 2: 200, 4: 100, 100: 4}
    assert all(share <= MOST_CONNECTIONS and doors * share <= MOST_IN_ALL for doors, share in shares.items())


def test_free_descriptors_are_what_the_limit_leaves(limit):
    limit(512)
    before = free_descriptors()
    end = os.open(os.devnull, os.O_RDONLY)
    assert free_descriptors() == before - 1
    os.close(end)
    limit(resource.RLIM_INFINITY)
    assert free_descriptors() == before + 512, "select(2) names 1024"


def test_only_what_happened_is_told():
    assert str(Tally()) == ""
    assert str(Tally(late=1)) == "1 client cut off without a request in 10 virtual s"
    assert str(Tally(2, 3)).endswith("; 3 clients accepted late for want of file descriptors")
