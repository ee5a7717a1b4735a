# SPDX-License-Identifier: Apache-2.0
"""Encodes header and arrays of a page as one compressed text, which `web/src/container.ts` decodes.

The text is zlib data (RFC 1950, which every browser's `DecompressionStream("deflate")` reads). The decompressed data
are the length of the header (uint32, little endian), the header (JSON, UTF-8), then the arrays one after another. The
header's `arrays` contains type and number of values of each; elsewhere in the header `{"$": i}` represents array i.
Bytes of equal significance of an array are stored together, which halves the compressed size.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import numpy as np

MISSING = -(1 << 31)
"""Missing value in an int32 array."""

_LEVEL = 6
"""Compression level: a page of 1.2 million packets is 2 % larger than with level 9, and made in a third of the time."""


class Arrays:
    """Collects arrays for a page; each method returns the header's reference to its array.

    Each method accepts anything that numpy can convert to an array, and returns `{"$": i}`.

    >>> arrays = Arrays()
    >>> arrays.small([1, 2, 3]), arrays.small([1, 2, 3])
    ({'$': 0}, {'$': 0})
    """

    def __init__(self) -> None:
        self._kinds: list[tuple[str, int]] = []
        self._content: list[bytes] = []
        self._known: dict[tuple[str, bytes], int] = {}

    def integers(self, values: Any) -> dict[str, int]:
        """Whole numbers within int32, with nan as missing; stored as differences modulo 2^32.

        Differences are stored because neighbouring values are similar: windows, delays and queues change in small
        steps.

        Raises ValueError if a value is beyond int32; the smallest value marks a missing one.
        """
        given = np.asarray(values)
        if given.dtype.kind == "f":
            known = np.isfinite(given)
            given = np.where(known, np.rint(np.where(known, given, 0)), MISSING)
        # The minimum of int32 means "missing"; it is allowed here because missing values have already been replaced by
        # it.
        whole = given.astype("int64")
        if len(whole) and not (whole.min() >= MISSING and whole.max() < -MISSING):
            raise ValueError(f"values from {whole.min()} to {whole.max()} do not fit into 32 bits")
        # wraps around: the sum of differences modulo 2^32 is the value
        return self._add("i32", np.diff(whole, prepend=0).astype("<i8").astype("<i4"))

    def instants(self, ticks: Any) -> dict[str, int]:
        """Times in ticks, ascending; differences fit into int32.

        Raises ValueError if two neighbours differ by more than 32 bits of ticks.
        """
        steps = np.diff(np.asarray(ticks, dtype="int64"), prepend=0)
        if len(steps) and not (steps.min() >= MISSING and steps.max() < -MISSING):
            raise ValueError(f"steps from {steps.min()} to {steps.max()} ticks do not fit into 32 bits")
        return self._add("t", steps.astype("<i4"))

    def small(self, values: Any) -> dict[str, int]:
        """Whole numbers from 0 to 255.

        For flags and causes. Values are not checked: a larger one would wrap around.
        """
        return self._add("u8", np.asarray(values).astype("u1"))

    def shorts(self, values: Any) -> dict[str, int]:
        """Whole numbers within int16, flattened.

        For positions, one coordinate after the other; values are not checked.
        """
        return self._add("i16", np.asarray(values).astype("<i2").ravel())

    def packed(self, header: dict[str, Any]) -> str:
        """The container as base64 text.

        header: JSON values and results of the other methods. NaN is an error, because JSON cannot express it.
        """
        full = header | {"arrays": self._kinds}
        text = json.dumps(full, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
        content = struct.pack("<I", len(text)) + text + b"".join(self._content)
        return base64.b64encode(zlib.compress(content, _LEVEL)).decode()

    def _add(self, kind: str, values: np.ndarray) -> dict[str, int]:
        """Store an array's bytes by significance (all first bytes, then all second ones, ...), and equal arrays only
        once."""
        # In small differences, the upper three bytes are mostly 0 or 255: stored together, they form long runs.
        planes = values.view("u1").reshape(len(values), values.itemsize).T
        content = np.ascontiguousarray(planes).tobytes()
        # Runs of one constellation share its positions.
        place = self._known.setdefault((kind, content), len(self._kinds))
        if place == len(self._kinds):
            self._kinds.append((kind, len(values)))
            self._content.append(content)
        return {"$": place}


def compressed_bytes(values: np.ndarray) -> int:
    """Approximate size of an int32 array in a page's file, base64 included.

    Called for each candidate span of packets (`packets.packets_of`), so it ignores the header and data shared by
    arrays.

    values: array of shape (n,). Whole numbers.
    """
    planes = np.ascontiguousarray(values.astype("<i4").view("u1").reshape(len(values), 4).T)
    return len(zlib.compress(planes.tobytes(), _LEVEL)) * 4 // 3
