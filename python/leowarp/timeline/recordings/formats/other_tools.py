# SPDX-License-Identifier: Apache-2.0
"""Some tools measure delays, but leowarp cannot read their output. This module recognises such tools by their lines, so
that the error can suggest another command."""

from __future__ import annotations

import re
from pathlib import Path

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings.formats.documents import IPERF3_HINT

_PING = "LC_ALL=C ping -D -i 0.01 HOST > trace.txt"
_FPING = re.compile(r"^(?:\[[\d.]+\] )?(\S+) +: \[\d+\], (?:\d+ bytes, )?[\d.]+ ms\b", re.MULTILINE)
_WINDOWS = re.compile(r"[=<] ?\d+ ?m\w{0,4} TTL=\d+")
_IPERF3 = re.compile(r"^\[ ID\] Interval +Transfer +B", re.MULTILINE)
_MTR = re.compile(r"^HOST: .*Loss%\s+Snt\b", re.MULTILINE)


def refused_tool(path: Path, text: str) -> ScenarioError | None:
    """Return the error for the output of another tool, such as fping, iperf3 or mtr. None means that no tool is
    recognised."""
    beginning = text[:10_000]
    if _FPING.search(beginning):
        hosts = [*dict.fromkeys(_FPING.findall(beginning))]
        several = f" for {len(hosts)} hosts or more" if len(hosts) > 1 else ""
        # The output columns do not contain a host, so the command selects the replies of one host.
        host = re.escape(hosts[0])
        columns = rf"s/^\[([0-9.]+)\] {host} +: \[([0-9]+)\], ([0-9]+ bytes, )?([0-9.]+) ms.*/\1 \2 \4/p"
        return ScenarioError(
            f"{path}: the output of fping{several}, which is not read",
            f"measure with: {_PING}; or make columns of what fping -D wrote: sed -nE '{columns}' {path} > columns.txt, "
            "and type: --columns t_s,seq,rtt_ms",
        )
    if _WINDOWS.search(beginning):
        return ScenarioError(
            f"{path}: the ping of Windows: it numbers no probes, so that nothing tells which were lost",
            "measure with a ping that does, or with irtt: irtt client -i 10ms -d 5m -o trace.json SERVER",
        )
    if _IPERF3.search(beginning):
        return ScenarioError(f"{path}: what iperf3 prints for people, and not its JSON", IPERF3_HINT)
    if _MTR.search(beginning):
        return ScenarioError(f"{path}: mtr's report has sums of probes, and no probe", f"measure with: {_PING}")
    return None
