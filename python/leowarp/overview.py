# SPDX-License-Identifier: Apache-2.0
"""The few numbers of a summary that a paper's table would have, in units for people; runs side by side likewise.

Which rows there are depends on the flows: what no flow of a table has (marks, timeouts, late packets where none was) is
no row. What is missing of a row that others have is None. All scalars: `leowarp metrics RUN`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any


@dataclass(frozen=True)
class Section:
    """A table of flows, or of runs: `columns` are their names, `rows` a quantity each with one text a column."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str | None, ...]], ...]


def overview(summary: dict[str, Any]) -> list[Section]:
    """Tables of one run: its TCP flows, its pings, its other probes, then the run itself.

    Parameters
    ----------
    summary : dict
        As in `summary.json`.
    """
    found = []
    for kind, (title, rows) in _KINDS.items():
        flows = [flow for flow in summary["flows"] if _kind(flow) == kind]
        if not flows:
            continue
        ways = list(dict.fromkeys(_way(flow) for flow in flows))
        same = len(ways) == 1 and ways[0] is not None
        lead = () if same else (("from, to", tuple(_way(flow) for flow in flows)),)
        table = _rows(rows, [{**summary, **flow} for flow in flows])
        names = tuple(f"flow {flow.get('flow', 0)}" for flow in flows)
        found.append(Section(f"{title}, {ways[0]}" if same else title, names, (*lead, *table)))
    return [*found, Section("Run", (summary.get("name") or "",), _rows(_RUN, [summary]))]


def compared(names: Sequence[str], summaries: Sequence[dict[str, Any]]) -> list[Section]:
    """Tables of several runs, one column a run: one of each flow's number and kind, then one of the runs themselves.

    Parameters
    ----------
    names : sequence of str
        What each run is called.
    """
    flows = [{(flow.get("flow", 0), _kind(flow)): flow for flow in summary["flows"]} for summary in summaries]
    found = []
    for number, kind in sorted({key for of_run in flows for key in of_run}):
        title, rows = _KINDS[kind]
        mine = [of_run.get((number, kind)) for of_run in flows]
        ways = {_way(flow) for flow in mine if flow is not None}
        way = f", {ways.pop()}" if len(ways) == 1 and None not in ways else ""
        of_runs = [{} if flow is None else summary | flow for summary, flow in zip(summaries, mine, strict=True)]
        found.append(Section(f"Flow {number}: {title}{way}", tuple(names), _rows(rows, of_runs)))
    return [*found, Section("Runs", tuple(names), _rows(_RUN, summaries))]


class _Shown(Enum):
    """When a quantity is a row."""

    ALWAYS = "always"
    KNOWN = "if it is known of some column"
    ANY = "if it is known of some column, and not 0"
    CHANGES = "if it is known of some column, and the path of one changed"


@dataclass(frozen=True)
class _Row:
    """A quantity: the scalars it is made of, and the text that says them; None if the first of them is missing."""

    name: str
    keys: tuple[str, ...]
    text: Callable[..., str | None]
    shown: _Shown = _Shown.ALWAYS
    unless: str | None = None
    """Not shown if this scalar is known of some column."""


def _rows(rows: Sequence[_Row], columns: Sequence[dict[str, Any]]) -> tuple[tuple[str, tuple[str | None, ...]], ...]:
    found = []
    for row in rows:
        values = [tuple(_value(column, key) for key in row.keys) for column in columns]
        if _is_shown(row, values, columns):
            found.append((row.name, tuple(row.text(*value) if value[0] is not None else None for value in values)))
    return tuple(found)


def _is_shown(row: _Row, values: list[tuple[Any, ...]], columns: Sequence[dict[str, Any]]) -> bool:
    if row.unless is not None and any(_value(column, row.unless) is not None for column in columns):
        return False
    match row.shown:
        case _Shown.ALWAYS:
            return True
        case _Shown.KNOWN:
            return any(value[0] is not None for value in values)
        case _Shown.ANY:
            return any(value[0] for value in values)
        case _Shown.CHANGES:
            known = any(value[0] is not None for value in values)
            return known and any(column.get("route_changes") for column in columns)


def _value(of: dict[str, Any], key: str) -> Any:
    value: Any = of
    for part in key.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def _kind(flow: dict[str, Any]) -> str:
    if flow.get("kind", "tcp") == "tcp":
        return "tcp"
    # A ping without replies is a stream of probes one way, as udp is.
    return "ping" if flow["kind"] == "ping" and flow.get("replies_pkts") is not None else "probe"


def _way(flow: dict[str, Any]) -> str | None:
    ends = flow.get("source"), flow.get("destination")
    return None if None in ends else f"{ends[0]} to {ends[1]}"


def _count(value: int) -> str:
    return f"{value:,}"


def _plain(value: float) -> str:
    return f"{value:.3g}"


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.3g} %"


def _part(value: int, whole: int | None) -> str:
    return f"{value:,} ({_percent(value / whole)})" if value and whole else f"{value:,}"


def _rate(value_bps: float) -> str:
    for size, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s")):
        if value_bps >= size:
            return f"{_digits(value_bps / size)} {unit}"
    return "0 bit/s"


def _span(value_ns: float) -> str:
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns")):
        if abs(value_ns) >= size:
            return f"{_digits(value_ns / size)} {unit}"
    return "0 s"


def _span_of_us(value_us: float) -> str:
    return _span(value_us * 1e3)


def _span_of_s(value_s: float) -> str:
    return f"{value_s:,.4g} s" if value_s < 1000 else f"{value_s:,.0f} s"


def _digits(value: float) -> str:
    """Four digits that count; before the point all that there are."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:#.4g}".rstrip(".")


def _changes(value: int, shorter: int | None) -> str:
    return f"{value:,}" if shorter is None or not value else f"{value:,} ({shorter:,})"


def _between(least_ns: int, largest_ns: int | None) -> str:
    if largest_ns is None or largest_ns == least_ns:
        return _span(least_ns)
    least, unit = _span(least_ns).split()
    largest, same = _span(largest_ns).split()
    return f"{least} to {largest} {same}" if unit == same else f"{least} {unit} to {largest} {same}"


def _recovery(recovered_ratio: float, median_ns: int | None) -> str:
    # Recovery is looked at for 5 s (`metrics.recovery`); of a half that did not come back there is no median.
    return "> 5 s" if median_ns is None else _span(median_ns)


def _speed(cpu_s: float, virtual_s: float | None) -> str | None:
    return _plain(virtual_s / cpu_s) if cpu_s and virtual_s is not None else None


_LATE = (
    _Row("late packets (overtaken)", ("late_pkts",), _count, _Shown.ANY),
    _Row("largest reordering extent", ("reordering_extent_max_pkts",), _count, _Shown.ANY),
    _Row("mean displacement", ("mean_displacement_pkts",), _plain, _Shown.ANY),
    _Row("reordering entropy", ("entropy_nats",), _plain, _Shown.ANY),
)

_TCP = (
    _Row("congestion control", ("congestion_control",), str),
    _Row("goodput", ("goodput_mean_bps",), _rate),
    _Row("  of what its path could carry", ("capacity_used_ratio",), _percent, _Shown.KNOWN),
    _Row("time to completion", ("completion_ns",), _span, _Shown.KNOWN),
    _Row("share of the flows' goodput", ("share_ratio",), _percent, _Shown.KNOWN),
    _Row("RTT, median", ("rtt_p50_ns",), _span, _Shown.KNOWN),
    _Row("RTT, 99th percentile", ("rtt_p99_ns",), _span, _Shown.KNOWN),
    _Row("smoothed RTT, median", ("srtt_p50_us",), _span_of_us, _Shown.KNOWN, unless="rtt_p50_ns"),
    _Row("smoothed RTT, 99th percentile", ("srtt_p99_us",), _span_of_us, _Shown.KNOWN, unless="rtt_p50_ns"),
    _Row("data packets sent", ("sent_pkts",), _count, _Shown.KNOWN),
    _Row("retransmissions", ("retransmissions_pkts", "sent_pkts"), _part, _Shown.KNOWN),
    _Row("retransmissions", ("sender_retransmissions_pkts",), _count, _Shown.KNOWN, unless="retransmissions_pkts"),
    _Row("  of them in vain", ("spurious_retransmissions_pkts",), _count, _Shown.KNOWN),
    _Row("lost at full queues", ("lost_queue_pkts",), _count, _Shown.KNOWN),
    _Row("lost on links", ("lost_loss_pkts",), _count, _Shown.KNOWN),
    _Row("lost with a link that went down", ("lost_link_down_pkts",), _count, _Shown.ANY),
    _Row("lost without a route", ("lost_no_route_pkts",), _count, _Shown.ANY),
    _Row("lost, cause unknown", ("lost_unknown_pkts",), _count, _Shown.ANY),
    _Row("lost within 1 s of a change", ("lost_near_changes_pkts",), _count, _Shown.CHANGES),
    _Row("marked for congestion", ("received_ce_pkts",), _count, _Shown.ANY),
    _Row("timeouts", ("sender_timeouts",), _count, _Shown.ANY),
    *_LATE,
    _Row("recovery from a change, median", ("recovered_ratio", "recovery_p50_ns"), _recovery, _Shown.CHANGES),
    _Row("  recovered within 5 s", ("recovered_ratio",), _percent, _Shown.CHANGES),
)

_PROBE = (
    _Row("sent", ("probes_pkts",), _count),
    _Row("lost", ("probes_lost_pkts", "probes_pkts"), _part),
    _Row("longest run of losses", ("loss_run_max_pkts",), _count, _Shown.ANY),
    _Row("one-way delay, least", ("owd_min_ns",), _span, _Shown.KNOWN),
    _Row("one-way delay, median", ("owd_p50_ns",), _span, _Shown.KNOWN),
    _Row("one-way delay, largest", ("owd_max_ns",), _span, _Shown.KNOWN),
    *_LATE,
)

_PING = (
    _Row("sent", ("probes_pkts",), _count),
    _Row("without a reply", ("replies_lost_pkts", "probes_pkts"), _part),
    _Row("  within 1 s of a change", ("replies_lost_near_changes_pkts",), _count, _Shown.CHANGES),
    _Row("  longest run", ("loss_run_max_pkts",), _count, _Shown.ANY),
    _Row("RTT, least", ("rtt_min_ns",), _span, _Shown.KNOWN),
    _Row("RTT, median", ("rtt_p50_ns",), _span, _Shown.KNOWN),
    _Row("RTT, 99th percentile", ("rtt_p99_ns",), _span, _Shown.KNOWN),
    _Row("RTT, mean step from reply to reply", ("rtt_step_mean_ns",), _span, _Shown.KNOWN),
    _Row("spike at a change, median", ("spike_p50_ns",), _span, _Shown.CHANGES),
    *_LATE,
)

_RUN = (
    _Row("path changes (to a shorter)", ("route_changes", "route_changes_shorter"), _changes, _Shown.ANY),
    _Row("path delay, one way", ("path_delay_min_ns", "path_delay_max_ns"), _between, _Shown.KNOWN),
    _Row("time without a path", ("no_path_s",), _span_of_s, _Shown.ANY),
    _Row("Jain's index", ("fairness.jain_index",), _plain, _Shown.KNOWN),
    _Row("virtual time", ("virtual_s",), _span_of_s, _Shown.KNOWN),
    _Row("CPU time", ("cpu_s",), _span_of_s, _Shown.KNOWN),
    _Row("virtual s per CPU s", ("cpu_s", "virtual_s"), _speed, _Shown.KNOWN),
)

_KINDS = {"tcp": ("TCP", _TCP), "ping": ("Pings", _PING), "probe": ("Probes one way", _PROBE)}
