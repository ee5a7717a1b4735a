# SPDX-License-Identifier: Apache-2.0
"""Reads text files of any tool as numbered lines."""

from __future__ import annotations

from pathlib import Path

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings.formats.packed import kind_of, unpacked
from leowarp.timeline.recordings.window import check_memory


def text_of(path: Path) -> str:
    """Return the text of a file. gzip and zstd files are unpacked, whatever their name.

    Raises ScenarioError if the file cannot be read, or is not text.
    """
    try:
        raw = plainfiles.read(path, plainfiles.MOST_INPUT_BYTES, links=True)
    except OSError as error:
        hint = "give the path of a file that is there"
        if "more than" in str(error.strerror):
            hint = f"take a part of it: head -n 1000000 {path} > part.txt"
        raise ScenarioError(f"reading a measurement: {path}: {error.strerror}", hint) from error
    text = raw
    try:
        # utf-8-sig: spreadsheets begin a CSV file with a byte order mark, which would otherwise be a part of the first
        # column's name.
        text = unpacked(path, raw)
        check_memory(path, len(text))
        return text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # PowerShell's `>` writes UTF-16. The two bytes below are the byte order marks of UTF-16.
        if text[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise ScenarioError(
                f"reading a measurement: {path} is text in UTF-16", f"iconv -f UTF-16 -t UTF-8 {path} > trace.txt"
            ) from error
        raise ScenarioError(
            f"reading a measurement: {path} is not a text file (byte {error.start})", FORMATS_HINT
        ) from error


def numbered(text: str) -> list[tuple[int, str]]:
    """Return the lines without surrounding blanks, each with its number. Blank lines and comments (#) are left out."""
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), 1))
    return [(number, line) for number, line in lines if line and not line.startswith("#")]


def end_notes(text: str, line: int) -> tuple[str, ...]:
    """If the text does not end with a line end, return a note for the user that its last line may be incomplete."""
    return () if text.endswith("\n") else (f"line {line} has no end, so it may be cut short; it is read as it stands",)


def without_line(path: Path, line: int) -> str:
    """Return the shell command that writes a copy of a file without one of its lines. A packed file is unpacked."""
    kind = kind_of(path)
    return f"sed {line}d {path} > whole.txt" if kind is None else f"{kind} -dc {path} | sed {line}d > whole.txt"


RECORD_HINT = "record a path into it, for instance: ping -D -i 0.01 HOST > trace.txt"

FORMATS_HINT = (
    "say what its columns are (--columns t_s,seq,rtt_ms), or what wrote it (--format csv, irtt, ping, leoreplayer, "
    "iperf3 or mahimahi); any of these may be packed by gzip or zstd"
)
