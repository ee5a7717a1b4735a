# SPDX-License-Identifier: Apache-2.0
"""The largest numbers of stations and flows in a text. Stations and flows are counted before the text is parsed,
because parsing takes 0.2 ms per element."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leowarp.base.errors import ScenarioError

MOST_FLOWS = 20_000
"""The maximum number of flows in a text. Flow n has the ports 10000 + n and 30000 + n
(crates/agent/src/packets/frame.rs). If there were more flows than this, the two ranges of ports would overlap. A plan
lists every flow, and the text of a plan may have at most 8 MiB (`plainfiles`)."""

MOST_STATIONS = 5_000
"""The maximum number of stations in a text. A plan lists every host with its sysctls, 1.2 kB each, and its text may
have at most 8 MiB."""

MOST_LISTED = {"flows": MOST_FLOWS, "stations": MOST_STATIONS}

_WAY_OUT = {
    "flows": "make several runs, each of a part of the flows, or let [traffic] draw them (leowarp init MINE --from "
    "city-traffic)",
    "stations": "write fewer [[stations]]: only those that some flow names are needed",
}

_HEADER = re.compile(r"^[ \t]*+\[\[[ \t]*+(flows|stations)[ \t]*+\]\]", re.M)


def check_headers(path: Path, text: str) -> None:
    """Reject a text with too many ``[[flows]]`` or ``[[stations]]``. Only headers are counted. For a text of 8 MiB,
    this takes 20 ms.

    Raises ScenarioError if there are too many.
    """
    found = Counter(match[1] for match in _HEADER.finditer(text))
    for name in MOST_LISTED:
        _check(path, name, found[name])


def check_lists(path: Path, values: Mapping[str, Any]) -> None:
    """Reject parsed values with too many flows or stations. A list without headers can be written in one line.
    `check_headers` does not count the entries of such a list.

    Raises ScenarioError if there are too many.
    """
    for name in MOST_LISTED:
        listed = values.get(name)
        _check(path, name, len(listed) if isinstance(listed, list) else 0)


def _check(path: Path, name: str, count: int) -> None:
    if count > MOST_LISTED[name]:
        raise ScenarioError(f"{path}: {count:,} {name}, and at most {MOST_LISTED[name]:,} are possible", _WAY_OUT[name])
