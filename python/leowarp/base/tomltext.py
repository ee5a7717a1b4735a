# SPDX-License-Identifier: Apache-2.0
"""Reads TOML texts that may be malicious. Unlike `tomllib`, it refuses a key of thousands of parts.

The time that tomllib needs grows with the square of the number of parts in a dotted key. For a key `x.x.x...` of 40 kB,
tomllib needs a minute. For a key of 1 MB, it would practically never end (Python 3.11). Nested brackets do no harm,
because they raise RecursionError at once.
"""

from __future__ import annotations

import re
import tomllib
from typing import Any

MOST_PARTS = 64
"""The largest number of parts in a key. The longest key of a plan has 6 parts: hosts.NAME.sysctl.net.ipv4.tcp_sack."""

MOST_VALUES = 400_000
"""The largest number of keys, tables and items in a text, because each takes up to 1 kB of memory. For comparison, a
plan of 2,000 flows has 25,000 lines."""


def loads(text: str) -> dict[str, Any]:
    """Return the values of a TOML text.

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


# The pattern's quantifiers are possessive, and it matches only where a part of a key can start. The search time
# therefore grows linearly with the length of the text.
_LONG_KEY = re.compile(
    r"(?<![\w.\"'-])(?:(?:[\w-]++|\"(?:[^\"\\\n]|\\.)*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+){" + str(MOST_PARTS) + "}",
    re.ASCII,
)
