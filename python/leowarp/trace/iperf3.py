# SPDX-License-Identifier: Apache-2.0
"""Read the results of iperf3's own test (the standard output of the client of `iperf3 -J`) as rows of the table
`measures`.

The beginning of an output identifies iperf3. The program's command does not identify iperf3, because the command may be
a shell that starts iperf3. The field names are from iperf 3.12 and later (`iperf_json_start`, `iperf_print_results` in
src/iperf_api.c). Results that a version of iperf3 or a protocol does not have are left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from leowarp.base import plainfiles
from leowarp.base.errors import TraceError

KIND = "iperf3"
CLIENT = 0
"""The value that the column `role` has for a client."""
MOST_BYTES = 64 << 20
_HEAD_BYTES = 1 << 16
_BEGINNING = re.compile(r'\s*\{\s*"start":\s*\{')
_VERSION = re.compile(r'"version":\s*"iperf 3')
_SECONDS = re.compile(r'"timesecs":\s*(\d+)')


def tests_of(output: Path) -> Iterator[tuple[int, Path, str]]:
    """Yield the flow, file and text of each client's standard output that is JSON of iperf3. The JSON may be cut off.

    output: The guest's `out/`, with files `programs/<flow>/client/stdout`.
    Raises TraceError if a file that begins like JSON of iperf3 cannot be read.
    """
    for path in sorted(output.glob("programs/*/client/stdout")):
        with path.open("rb") as opened:
            head = opened.read(_HEAD_BYTES).decode("utf-8", errors="replace")
        if _BEGINNING.match(head) and _VERSION.search(head):
            try:
                yield int(path.parents[1].name), path, plainfiles.read(path, MOST_BYTES).decode("utf-8", "replace")
            except OSError as error:
                raise TraceError(f"cannot read {path}: {error.strerror or error}") from error


def line_of(path: Path, text: str) -> dict[str, Any]:
    """Return the results of a test, in the form of a line of `measures.jsonl`.

    Returns: `kind`, `start_ns` (from iperf3, which gives whole seconds of the real-time clock), and the results
        `protocol`, `sent_bytes`, `received_bytes`, `sent_bps`, `received_bps`, `retransmits`, `jitter_ms`,
        `lost_packets`, `packets`, `error`. If the JSON is incomplete or has no results, `unreadable` has the reason.
    Raises TraceError if the text ends before the start time of the test.
    """
    began = _SECONDS.search(text)
    if began is None:
        raise TraceError(
            f"cannot read {path}: iperf3's JSON ends before it says when the test began",
            hint="look at what the client said on its standard error; without -J its output is kept and not read",
        )
    line: dict[str, Any] = {"kind": KIND, "start_ns": int(began[1]) * 1_000_000_000}
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        return line | {"unreadable": f"it is no JSON ({error})"}
    end = said.get("end")
    protocol = said.get("start", {}).get("test_start", {}).get("protocol")
    if not isinstance(end, dict) or not end:
        return line | {"unreadable": said.get("error") or "it has no results (`end`)"}
    known = _results(end) | {"protocol": protocol, "error": said.get("error")}
    return line | {key: value for key, value in known.items() if value is not None}


def _results(end: Mapping[str, Any]) -> dict[str, Any]:
    sent, received, both = (end.get(name, {}) for name in ("sum_sent", "sum_received", "sum"))
    return {
        "sent_bytes": sent.get("bytes"), "received_bytes": received.get("bytes"),
        "sent_bps": sent.get("bits_per_second"), "received_bps": received.get("bits_per_second"),
        "retransmits": sent.get("retransmits"), "jitter_ms": both.get("jitter_ms"),
        "lost_packets": both.get("lost_packets"), "packets": both.get("packets"),
    }  # fmt: skip
