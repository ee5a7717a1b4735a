# SPDX-License-Identifier: Apache-2.0
"""Tests the line numbers of TOML keys with generated documents, in which the line of each key is known."""

import json
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.scenario.text.positions import key_lines

TRICKY = '''\
# a comment with = and [brackets]
name = "x" # = "y"
a.b . "c.d" = 1
text = """
[not.a.table]
key = "value" \\""" still
""""
literal = \'\'\'
it's = 'quoted'
\'\'\'\'
list = [ # opening
  "one", # "two",
  { x = 1, y.z = [2, 3] },

  [4,
   5],
]
date = 1979-05-27 07:32:00Z
[table] # comment
k = 'li#teral'
"quoted key" = "esc\\"aped"
\'single\' = {}
[[flows]]
kind = "tcp"
[flows.inner]
deep = true
[[flows]]
kind = "udp"
[[flows.sub]]
n = 1
[[flows.sub]]
n = 2
[ spaced . out ]
z = -1.5e3
empty = []
'''


def test_finds_the_line_of_every_key_in_a_tricky_document():
    lines = key_lines(TRICKY)
    expected = {
        ("name",): 2,
        ("a", "b", "c.d"): 3,
        ("text",): 4,
        ("literal",): 8,
        ("list",): 11,
        ("list", 0): 12,
        ("list", 1, "x"): 13,
        ("list", 1, "y", "z", 1): 13,
        ("list", 2): 15,
        ("list", 2, 1): 16,
        ("date",): 18,
        ("table",): 19,
        ("table", "k"): 20,
        ("table", "quoted key"): 21,
        ("table", "single"): 22,
        ("flows",): 23,
        ("flows", 0, "kind"): 24,
        ("flows", 0, "inner", "deep"): 26,
        ("flows", 1): 27,
        ("flows", 1, "kind"): 28,
        ("flows", 1, "sub", 0, "n"): 30,
        ("flows", 1, "sub", 1, "n"): 32,
        ("spaced", "out", "z"): 34,
        ("spaced", "out", "empty"): 35,
    }
    assert {path: lines.get(path) for path in expected} == expected
    assert paths(tomllib.loads(TRICKY)) == set(lines)


def test_counts_windows_line_ends_as_one():
    assert key_lines("a = 1\r\n\r\n[t]\r\nb = 2\r\n") == {("a",): 1, ("t",): 3, ("t", "b"): 4}


# json.dumps writes characters beyond the basic plane as two surrogates, which TOML rejects.
BASIC_PLANE = st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])
KEY = st.text(BASIC_PLANE, min_size=1, max_size=6)
SCALAR = st.one_of(
    st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False), st.text(BASIC_PLANE, max_size=20)
)


def inline(value) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{quoted(key)} = {inline(child)}" for key, child in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",\n # ] comment\n".join(inline(child) for child in value) + "]"
    return json.dumps(value)


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=True).replace("\x7f", "\\u007f")


def paths(value, path=()) -> set:
    found = {path} if path else set()
    if isinstance(value, dict):
        for key, child in value.items():
            found |= paths(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            found |= paths(child, (*path, index))
    return found


VALUES = st.recursive(
    SCALAR, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEY, inner, max_size=3), max_leaves=6
)


@pytest.mark.slow
@given(st.dictionaries(KEY, VALUES, max_size=5))
def test_every_value_that_tomllib_finds_has_a_line(values):
    text = "\n\n".join(f"{quoted(key)} = {inline(value)}" for key, value in values.items())
    parsed = tomllib.loads(text)
    lines = key_lines(text)
    assert set(lines) == paths(parsed)
    line = 1
    for key, value in values.items():
        assert lines[(key,)] == line
        line += inline(value).count("\n") + 2
