# SPDX-License-Identifier: Apache-2.0
"""A process gets its memory four pages at a time (guest/pages/ahead.c); only the time that this takes tells."""

import pytest

pytestmark = pytest.mark.guest


def test_a_first_write_gives_the_block_of_its_page_and_nothing_else(end_of, guest_directory):
    end = end_of("pages_init", guest_directory)
    # Page 9 lies in the block of pages 8 to 11.
    assert end["there"] == "0" * 8 + "1" * 4 + "0" * 20
    assert end["are_zero"]
    # What may not be written to gets nothing: neither beside a page that is written to, nor when it is read.
    assert (end["at_edge"], end["beside"], end["read"]) == ("11", "0000", "00000100")
    assert end["copies"]
