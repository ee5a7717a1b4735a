# SPDX-License-Identifier: Apache-2.0
"""Write a leowarp timeline as the text that `path.cc` simulates in ns-3. A timeline that `path.cc` cannot simulate is
rejected."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from leowarp.base.errors import ScenarioError

_HINT = "ns-3 plays links with a FIFO of packets, one rate, no loss, in_flight = drain: compare another scenario"


def path_text(timeline: pa.Table, source: str, destination: str, buffer_bytes: int) -> str:
    """Return the input of `path.cc`. It has a line for each node, link, rate, delay and route, and one line for the
    flow.

    A host's wire has no rate and no delay, so the host is merged with the node at its other end. ns-3 therefore
    simulates two hops less than leowarp.

    timeline: The events of `20-timeline.parquet`.
    source, destination: The names of the transfer's stations in the scenario.
    buffer_bytes: The buffer of each socket in bytes.
    Raises ScenarioError if `path.cc` cannot simulate the timeline. It cannot simulate:
        loss, jitter, tables of capacity or delay, queues other than a FIFO of packets, a rate that changes, a link that
        goes down, and paths that packets keep. Paths that packets keep are not rejected, because the function ignores
        rows of the kind `path`.
    """
    rows = timeline.to_pylist()
    place = {row["a"]: row["b"] for row in rows if row["event"] == "link" and row["kind"] == "wire"}
    lines: dict[str, dict[str, None]] = {kind: {} for kind in ("node", "link", "rate", "delay", "route")}
    for row in rows:
        if row["event"] == "path" or place.get(row["a"]) or place.get(row["node"]) or row["next_hop"] in place:
            continue
        line = _line(row, place)
        lines[line.split()[0]][line] = None
    rated = [line.split()[1:3] for line in lines["rate"]]
    changed = next((way for way in rated if rated.count(way) > 1), None)
    if changed:
        raise ScenarioError(f"the rate from {changed[0]} to {changed[1]} changes", _HINT)
    ends = [place.get(f"host:{name}", name) for name in (source, destination)]
    for end in ends:
        if f"node {end}" not in lines["node"]:
            raise ScenarioError(f"the timeline has no node {end}", "name both stations as the scenario does")
    text = [line for kind in lines.values() for line in kind]
    return "\n".join([*text, f"flow {ends[0]} {ends[1]} {buffer_bytes}"]) + "\n"


def _line(row: dict[str, Any], place: dict[str, str]) -> str:
    match row["event"]:
        case "node":
            return f"node {row['a']}"
        case "link":
            wrong = _unplayable(row)
            if wrong:
                raise ScenarioError(f"the link between {row['a']} and {row['b']} {wrong}", _HINT)
            return f"link {row['a']} {row['b']} {row['limit_pkts']} {row['overhead_bytes']}"
        case "rate" if row["rate_bps"] is not None:
            return f"rate {row['a']} {row['b']} {row['rate_bps']}"
        case "delay":
            return f"delay {row['t_ns']} {row['a']} {row['b']} {row['delay_ns']}"
        case "route" if row["next_hop"] is not None:
            destination = place.get(row["destination"], row["destination"])
            return f"route {row['t_ns']} {row['node']} {destination} {row['next_hop']}"
    raise ScenarioError(f"at {row['t_ns']} ns the timeline has a {row['event']} that ns-3 does not play here", _HINT)


def _unplayable(link: dict[str, Any]) -> str | None:
    """Return the reason why `path.cc` cannot simulate a link. The text is the end of a sentence. None means that
    `path.cc` can simulate it."""
    if not link["up"]:
        return "goes down"
    if link["limit_pkts"] is None or link["limit_bytes"] is not None:
        return "has no limit in packets"
    if link["discipline"] != "leolink" or link["in_order"] is False:
        return f"is no FIFO with a delay line ({link['discipline']})"
    return None
