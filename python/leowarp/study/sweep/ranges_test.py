# SPDX-License-Identifier: Apache-2.0
"""Seeds in words."""

import pytest

from leowarp.study.sweep.ranges import seeds_in_words


@pytest.mark.parametrize(
    ("seeds", "words"),
    [((1, 7), "1, 7"), ((4,), "4"), ((1, 2), "1, 2"), (range(1, 31), "1 to 30"), ((1, 2, 4), "1, 2, 4"),
     (range(0, 40, 2), "0, 2, 4, 6, 8, 10, 12, 14, 16, 18, ..., 38")],
)  # fmt: skip
def test_only_seeds_that_follow_one_another_are_a_range(seeds, words):
    assert seeds_in_words(tuple(seeds)) == words
