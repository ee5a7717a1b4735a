# SPDX-License-Identifier: Apache-2.0
"""Encode the header and the arrays of a page as one compressed text, which `web/src/container.ts` decodes.

The text is base64 of zlib data (RFC 1950), which every browser can decompress with `DecompressionStream("deflate")`.
The decompressed data are: the length of the header (uint32, little endian), the header (JSON, UTF-8), and all arrays
one after another. The header's key `arrays` has the type and the number of values of each array. Elsewhere in the
header, `{"$": i}` stands for array i. Each array contains the first bytes of all values, then all second bytes, and so
on. This order of bytes halves the compressed size.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import numpy as np

MISSING = -(1 << 31)
"""The value in an int32 array that means "missing"."""

_LEVEL = 6
"""The compression level of zlib. Compared with level 9, a page of 1.2 million packets is 2 % larger, but is made in a
third of the time."""


class Arrays:
    """A collector of the arrays of a page. Each method adds anything that numpy can convert to an array. It returns a
    reference to the array for the header, `{"$": i}`.

    >>> arrays = Arrays()
    >>> arrays.small([1, 2, 3]), arrays.small([1, 2, 3])
    ({'$': 0}, {'$': 0})
    """

    def __init__(self) -> None:
        self._kinds: list[tuple[str, int]] = []
        self._content: list[bytes] = []
        self._known: dict[tuple[str, bytes], int] = {}

    def integers(self, values: Any) -> dict[str, int]:
        """Add integers that fit into int32, or nan for a missing value. Each stored value is the difference to the
        previous value, modulo 2^32.

        Raises ValueError if a value does not fit into int32. The smallest int32 is accepted and means "missing".
        """
        given = np.asarray(values)
        if given.dtype.kind == "f":
            known = np.isfinite(given)
            given = np.where(known, np.rint(np.where(known, given, 0)), MISSING)
        # The smallest int32 is accepted, because it stands for missing values here.
        whole = given.astype("int64")
        if len(whole) and not (whole.min() >= MISSING and whole.max() < -MISSING):
            raise ValueError(f"values from {whole.min()} to {whole.max()} do not fit into 32 bits")
        # Differences may wrap around; their sum modulo 2^32 still gives the right values.
        return self._add("i32", np.diff(whole, prepend=0).astype("<i8").astype("<i4"))

    def instants(self, ticks: Any) -> dict[str, int]:
        """Add times, in ticks and in ascending order.

        Raises ValueError if the difference of two neighbours needs more than 32 bits.
        """
        steps = np.diff(np.asarray(ticks, dtype="int64"), prepend=0)
        if len(steps) and not (steps.min() >= MISSING and steps.max() < -MISSING):
            raise ValueError(f"steps from {steps.min()} to {steps.max()} ticks do not fit into 32 bits")
        return self._add("t", steps.astype("<i4"))

    def small(self, values: Any) -> dict[str, int]:
        """Add integers from 0 to 255, such as flags and causes. A value above 255 would wrap around."""
        return self._add("u8", np.asarray(values).astype("u1"))

    def shorts(self, values: Any) -> dict[str, int]:
        """Add integers as a flat array of int16, for example coordinates. The caller ensures that they fit."""
        return self._add("i16", np.asarray(values).astype("<i2").ravel())

    def packed(self, header: dict[str, Any]) -> str:
        """Return the container with the header and all arrays, as base64 text. A nan in the header is an error, because
        JSON has no nan."""
        full = header | {"arrays": self._kinds}
        text = json.dumps(full, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
        content = struct.pack("<I", len(text)) + text + b"".join(self._content)
        return base64.b64encode(zlib.compress(content, _LEVEL)).decode()

    def _add(self, kind: str, values: np.ndarray) -> dict[str, int]:
        content = _planes(values)
        # Runs over the same constellation have the same positions, so this array is stored once for all of them.
        place = self._known.setdefault((kind, content), len(self._kinds))
        if place == len(self._kinds):
            self._kinds.append((kind, len(values)))
            self._content.append(content)
        return {"$": place}


def compressed_bytes(values: np.ndarray) -> int:
    """Return how many bytes whole numbers take as an int32 array in the page, approximately. The array is compressed
    and encoded as base64. The result ignores that equal arrays are stored only once."""
    return len(zlib.compress(_planes(values.astype("<i4")), _LEVEL)) * 4 // 3


def _planes(values: np.ndarray) -> bytes:
    """Return the first bytes of all values, then all second bytes, and so on."""
    # The upper three bytes of small differences are mostly 0 or 255. If all upper bytes are stored together, they form
    # long sequences of equal bytes, which compress well.
    return np.ascontiguousarray(values.view("u1").reshape(len(values), values.itemsize).T).tobytes()
