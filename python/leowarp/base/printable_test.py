# SPDX-License-Identifier: Apache-2.0
"""Tests that leowarp can write every character to any terminal without an error. If the terminal's encoding lacks a
character, leowarp must write a substitute."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.base.printable import SUBSTITUTES, accept_any_character, has_all

ENCODINGS = ["ascii", "iso-8859-1", "cp437", "cp1252", "koi8-r", "shift_jis"]


def written(text, encoding):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    accept_any_character(stream)
    stream.write(text)
    stream.flush()
    return stream.buffer.getvalue()


def test_a_dash_that_the_encoding_lacks_is_written_as_one_of_its_own():
    assert written("a – b · 3 × 4, é, 東", "ascii") == rb"a - b . 3 x 4, e, \u6771"
    assert written("a – é", "iso-8859-1") == b"a - \xe9"
    assert written("–", "utf-8") == "–".encode()


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_substitute_can_be_written(encoding):
    assert all(has_all(text, io.TextIOWrapper(io.BytesIO(), encoding=encoding)) for text in SUBSTITUTES.values())


@given(st.text(), st.sampled_from(ENCODINGS))
def test_any_text_is_written(text, encoding):
    written(text, encoding)
