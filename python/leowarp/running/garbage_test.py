# SPDX-License-Identifier: Apache-2.0
"""Tests the threshold of Python's garbage collector during and after a run."""

import gc

import pytest

from leowarp.running.garbage import OBJECTS, rarely_collected


@pytest.fixture(autouse=True)
def threshold():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(("given", "within"), [(700, OBJECTS), (0, 0), (2 * OBJECTS, 2 * OBJECTS)])
def test_garbage_is_looked_for_more_rarely_and_then_as_before(given, within):
    gc.set_threshold(given, 11, 12)

    @rarely_collected()
    def fails():
        assert gc.get_threshold() == (within, 11, 12)
        raise KeyError

    for _ in range(2):
        with pytest.raises(KeyError):
            fails()
        assert gc.get_threshold() == (given, 11, 12)
