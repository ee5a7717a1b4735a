# SPDX-License-Identifier: Apache-2.0
"""TOML texts that may be malicious: `tomllib`, except that keys of thousands of parts are refused.

The time that tomllib takes grows with the square of the number of parts in a dotted key. A key `x.x.x...` of 40 kB
takes it a minute, and one of 1 MB practically for ever (Python 3.11; nesting by brackets ends in a RecursionError at
once).
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

MOST_PARTS = 64
"""A key of a plan has at most 6 parts: hosts.NAME.sysctl.net.ipv4.tcp_sack."""

MOST_VALUES = 400_000
"""Limit on the number of keys, tables and items of a text: each takes up to 1 kB of memory. A plan of 2,000 flows has
25,000 lines."""


def loads(text: str) -> dict[str, Any]:
    """The values of a TOML text.

    Raises ValueError if the text is not TOML, may hold more than `MOST_VALUES`, or may contain a key of more than
        `MOST_PARTS` parts.
    Raises RecursionError if the text is nested too deeply.
    """
    if (long_key := _LONG_KEY.search(text)) is not None:
        line = text.count("\n", 0, long_key.start()) + 1
        raise ValueError(f"a key of more than {MOST_PARTS} parts (at line {line}, column 1)")
    if sum(map(text.count, "\n,{[.")) > MOST_VALUES:
        raise ValueError(f"it may hold more than {MOST_VALUES:,} keys and items (at line 1, column 1)")
    return tomllib.loads(text)


# The pattern is possessive and starts only where a part can start, so its time is linear for any text.
_LONG_KEY = re.compile(
    r"(?<![\w.\"'-])(?:(?:[\w-]++|\"(?:[^\"\\\n]|\\.)*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+){" + str(MOST_PARTS) + "}",
    re.ASCII,
)
