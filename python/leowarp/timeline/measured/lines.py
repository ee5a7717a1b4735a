# SPDX-License-Identifier: Apache-2.0
"""Text files as lines with numbers, whoever wrote them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from leowarp import plainfiles
from leowarp.errors import ScenarioError
from leowarp.timeline.measured.packed import unpacked


def text_of(path: Path) -> str:
    """A file's text; what gzip or zstd packed is unpacked, whatever the file is called.

    Raises
    ------
    ScenarioError
        If it cannot be read, or is not text.
    """
    try:
        raw = plainfiles.read(path, plainfiles.MOST_INPUT_BYTES, links=True)
    except OSError as error:
        raise ScenarioError(
            f"reading a measurement: {path}: {error.strerror}", "give the path of a file that is there"
        ) from error
    try:
        return unpacked(path, raw).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ScenarioError(
            f"reading a measurement: {path} is not a text file (byte {error.start})", FORMATS_HINT
        ) from error


def numbered(text: str) -> list[tuple[int, str]]:
    """Lines with their numbers, stripped; blank ones and comments (#) left out."""
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return [(number, line) for number, line in lines if line and not line.startswith("#")]


def whole_numbers(path: Path, what: str, hint: str, highest: int) -> tuple[NDArray[np.int64], list[tuple[int, str]]]:
    """A file of one whole number a line, from 0 on; and its lines, as `numbered`.

    Raises
    ------
    ScenarioError
        With file and line; if there is no line.
    """
    lines = numbered(text_of(path))
    if not lines:
        raise ScenarioError(f"{path} is empty", hint)
    for line, text in lines:
        if not (text.isascii() and text.isdigit()) or len(text) > 18 or int(text) > highest:
            raise ScenarioError(f"{path}:{line}: {text[:40]!r} is not {what} (a whole number up to {highest})", hint)
    return np.array([int(text) for _, text in lines], dtype=np.int64), lines


FORMATS_HINT = (
    "what can be read, also packed by gzip or zstd: CSV, irtt's JSON, the output of ping -D, three columns (time, "
    "sequence number, round trip), LeoReplayer's delays, iperf3's JSON, and as capacity CSV and Mahimahi's traces; "
    "columns without a header with --columns"
)
