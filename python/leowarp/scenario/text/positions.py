# SPDX-License-Identifier: Apache-2.0
"""The line number of each key of a TOML text. ``tomllib`` returns values without positions.

The text must already have passed ``tomllib``. This module finds where elements begin and end, but does not validate the
text. A value that is not a string, array or table ends at the next comma, bracket, brace, comment or line end.
"""

from __future__ import annotations

import bisect
import re
import tomllib

KeyPath = tuple[str | int, ...]


def key_lines(text: str) -> dict[KeyPath, int]:
    """Return the first line (from 1) of each key, table and array element. Each dict key is the path of an entry
    (``("flows", 0, "kind")``).

    text: A valid TOML 1.0 text. An invalid text gives an undefined result, an IndexError or a ValueError.
    Returns: The paths of str (keys) and int (list indexes).

    >>> key_lines("a.b = 1")
    {('a',): 1, ('a', 'b'): 1}
    """
    return _Reader(text).lines


class _Reader:
    """A reader for a valid TOML text. For each path in the text, it records the line at which the path begins.

    `lengths` counts the elements of each array of tables so far, because `[a.b]` belongs to the last element of `a`
    (TOML 1.0, array of tables).
    """

    def __init__(self, text: str) -> None:
        # Lines end at the same characters as in tomllib, which rejects a lone CR.
        self.text = text.replace("\r\n", "\n")
        self.at = 0
        self.newlines = [match.start() for match in re.finditer("\n", self.text)]
        self.lines: dict[KeyPath, int] = {}
        self.lengths: dict[KeyPath, int] = {}  # only arrays that ``[[headers]]`` make have an entry
        self._document()

    def _document(self) -> None:
        """Read headers and pairs until the end. Each key-value pair belongs to the table of the header above it."""
        table: KeyPath = ()
        while True:
            self._skip(_BLANK_LINES)
            if self.at >= len(self.text):
                return
            start = self.at
            if self.text.startswith("[", self.at):
                double = self.text.startswith("[[", self.at)
                self.at += 2 if double else 1
                table = self._header(self._key(), start, double)
                self.at = self.text.index("]", self.at) + (2 if double else 1)
            else:
                self._pair(table)

    def _header(self, parts: list[str], start: int, double: bool) -> KeyPath:
        """Record a table and the tables around it. Return the table's path, with the list index if it is an element of
        an array."""
        path: KeyPath = ()
        for part in parts[:-1]:
            path = self._note((*path, part), start)
            if path in self.lengths:
                path = (*path, self.lengths[path] - 1)
        path = self._note((*path, parts[-1]), start)
        if double:
            index = self.lengths.get(path, 0)
            self.lengths[path] = index + 1
            path = self._note((*path, index), start)
        return path

    def _pair(self, table: KeyPath) -> None:
        """Record the paths in a pair of key and value. For ``a.b = value``, these are ``a`` and ``a.b``, then the paths
        within the value."""
        start, path = self.at, table
        for part in self._key():
            path = self._note((*path, part), start)
        self.at = self.text.index("=", self.at) + 1
        self._skip(_BLANKS)
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        """Skip a value, and record the parts of an array or an inline table."""
        opening = self.text[self.at]
        if opening in "\"'":
            self._string()
        elif opening in "[{":
            self._inside(path, "]" if opening == "[" else "}")
        else:
            self._skip(_SCALAR)

    def _inside(self, path: KeyPath, closing: str) -> None:
        """Record the line of each element of an array, or read the pairs of an inline table, until `closing`."""
        self.at += 1
        index = 0
        while True:
            self._skip(_BETWEEN)
            if self.text[self.at] == closing:
                self.at += 1
                return
            if closing == "}":
                self._pair(path)
            else:
                self._note((*path, index), self.at)
                self._value((*path, index))
                index += 1

    def _key(self) -> list[str]:
        """Read the parts of a dotted key, with quotes removed as in TOML."""
        parts = []
        while True:
            self._skip(_BLANKS)
            if self.text[self.at] in "\"'":
                start = self.at
                self._string()
                # tomllib decodes escapes such as \u0041.
                parts.append(tomllib.loads(f"key = {self.text[start : self.at]}")["key"])
            else:
                start = self.at
                self._skip(_BARE_KEY)
                parts.append(self.text[start : self.at])
            self._skip(_BLANKS)
            if self.text[self.at] != ".":
                return parts
            self.at += 1

    def _string(self) -> None:
        """Skip a string in single, double or tripled quotes."""
        quote = self.text[self.at]
        is_tripled = self.text.startswith(quote * 3, self.at)
        self._skip(_UP_TO_TRIPLE[quote] if is_tripled else _UP_TO_SINGLE[quote])

    def _skip(self, pattern: re.Pattern[str]) -> None:
        """Skip the text at the current position that matches `pattern`, if any."""
        match = pattern.match(self.text, self.at)
        if match is not None:
            self.at = match.end()

    def _note(self, path: KeyPath, start: int) -> KeyPath:
        """Record the line where a path first appears. Dotted keys may extend a table later. The table then keeps its
        first line."""
        # A binary search among line ends finds the line; counting lines would take quadratic time.
        self.lines.setdefault(path, bisect.bisect_left(self.newlines, start) + 1)
        return path


_BLANKS = re.compile(r"[ \t]*")
_BLANK_LINES = re.compile(r"(?:[ \t\n]++|#[^\n]*+)*+")
# The text between two elements of an array, or between two pairs of an inline table.
_BETWEEN = re.compile(r"(?:[ \t\n,]++|#[^\n]*+)*+")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_SCALAR = re.compile(r"[^,\]}#\n]*")
# The patterns are possessive: otherwise the regular expression engine would store 130 bytes for each character of a
# string, in case it must backtrack.
_UP_TO_SINGLE = {'"': re.compile(r'"(?:[^"\\]++|\\.)*+"'), "'": re.compile(r"'[^']*'")}
# Before the closing three quotes, a string may contain one or two quotes. Only these strings may contain line ends.
_UP_TO_TRIPLE = {
    '"': re.compile(r'"""(?:[^"\\]++|\\.|"(?!""))*+"""(?:""|"(?!"))?', re.DOTALL),
    "'": re.compile(r"'''.*?'''(?:''|'(?!'))?", re.DOTALL),
}
