# SPDX-License-Identifier: Apache-2.0
"""Unpacks gzip and zstd files, up to a size limit."""

from __future__ import annotations

import gzip
import io
import zlib
from pathlib import Path

import pyarrow as pa

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError

_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""The first bytes of a packed file, from RFC 1952, 2.3.1, and RFC 8878, 3.1.1."""

_PIECE_BYTES = 1 << 20


def unpacked(path: Path, raw: bytes) -> bytes:
    """Return the content of a packed file. The name of the file does not matter. If the file is not packed, the bytes
    are returned unchanged.

    Raises ScenarioError if the file is damaged, or unpacks to more than `plainfiles.MOST_INPUT_BYTES`.
    """
    kind = _kind(raw)
    if kind is None:
        return raw
    found = io.BytesIO()
    try:
        with _unpacking(kind, raw) as unpacking:
            # The file is unpacked in pieces: a gzip bomb packs 1 GB into 1 MB, and is rejected before all of it is in
            # memory (`test_bombs_are_refused_before_they_are_unpacked`).
            while piece := unpacking.read(_PIECE_BYTES):
                found.write(piece)
                if found.tell() > plainfiles.MOST_INPUT_BYTES:
                    raise ScenarioError(
                        f"reading a measurement: {path} unpacks to more than {plainfiles.MOST_INPUT_BYTES >> 20} MiB",
                        "take a part of it",
                    )
    except (OSError, EOFError, zlib.error) as error:
        raise ScenarioError(
            f"reading a measurement: {path} is damaged {kind}: {str(error).splitlines()[0]}",
            # For a damaged file, gzip and zstd write everything up to the damage before they fail. The last line of the
            # output may be incomplete, so the command in the hint removes it.
            f"take the part that is whole: {kind} -dc {path} | head -n -1 > whole.txt",
        ) from error
    return found.getvalue()


def kind_of(path: Path) -> str | None:
    """Return gzip or zstd, or None for a file that is not packed."""
    with path.open("rb") as file:
        return _kind(file.read(max(map(len, _MAGIC))))


def _kind(raw: bytes) -> str | None:
    # The first bytes of the file determine its kind. The name is not used, because a download may have lost its suffix.
    return next((kind for magic, kind in _MAGIC.items() if raw.startswith(magic)), None)


def _unpacking(kind: str, raw: bytes) -> gzip.GzipFile | pa.CompressedInputStream:
    if kind == "gzip":
        return gzip.open(io.BytesIO(raw))
    return pa.CompressedInputStream(pa.BufferReader(raw), "zstd")
