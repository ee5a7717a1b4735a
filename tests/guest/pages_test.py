# SPDX-License-Identifier: Apache-2.0
"""Tests that a process gets four pages of memory at the first write to a page (guest/pages/ahead.c)."""

import pytest

pytestmark = pytest.mark.guest


def test_a_first_write_gives_the_block_of_its_page_and_nothing_else(end_of, guest_directory):
    end = end_of("pages_init", guest_directory)
    # Page 9, to which the test writes, is in the block of the pages 8 to 11.
    assert end["there"] == "0" * 8 + "1" * 4 + "0" * 20
    assert end["are_zero"]
    # Read-only memory gets no additional pages. This holds when one of its pages is read, and when a page beside it is
    # written.
    assert (end["at_edge"], end["beside"], end["read"]) == ("11", "0000", "00000100")
    assert end["copies"]
