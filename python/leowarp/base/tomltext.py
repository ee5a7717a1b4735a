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


def loads(text: str) -> dict[str, Any]:
    """The values of a TOML text.

    Raises ValueError if it is not TOML, or a text that could be a key has more than `MOST_PARTS` parts.
    Raises RecursionError if it is nested too deeply.
    """
    if (long_key := _LONG_KEY.search(text)) is not None:
        line = text.count("\n", 0, long_key.start()) + 1
        raise ValueError(f"a key of more than {MOST_PARTS} parts (at line {line}, column 1)")
    return tomllib.loads(text)


# The pattern is possessive and starts only where a part can start, so its time is linear for any text.
_LONG_KEY = re.compile(
    r"(?<![\w.\"'-])(?:(?:[\w-]++|\"(?:[^\"\\\n]|\\.)*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+){" + str(MOST_PARTS) + "}",
    re.ASCII,
)
