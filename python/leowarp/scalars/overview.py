# SPDX-License-Identifier: Apache-2.0
"""The few numbers of a summary that a paper's table would have, in units for people; runs side by side likewise.

Which rows there are depends on the flows: what no flow of a table has (marks, timeouts, late packets where none was) is
no row. What is missing of a row that others have is None. All scalars: `leowarp show RUN --metrics`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from leowarp import scalars
from leowarp.base.flownames import FlowKey, common_name, flow_names, matched

Rows = tuple[tuple[str, tuple[str | None, ...]], ...]


@dataclass(frozen=True)
class Section:
    """A table of flows, or of runs: `columns` are their names, `rows` a quantity each with one text a column.

    Attributes
    ----------
    spread : Section, optional
        The same quantities over all flows (`SPREAD`), for where there is no room for a column each.
    ranked : tuple of int
        Places of the columns, the worst flow first; empty if nothing ranks them.
    ranked_by : str
        What does.
    """

    title: str
    columns: tuple[str, ...]
    rows: Rows
    spread: Section | None = None
    ranked: tuple[int, ...] = ()
    ranked_by: str = ""

    def of(self, title: str, places: Sequence[int]) -> Section:
        """The same rows of some of the columns."""
        rows = tuple((name, tuple(values[place] for place in places)) for name, values in self.rows)
        return Section(title, tuple(self.columns[place] for place in places), rows)


SPREAD: dict[str, float | None] = {"all": None, "smallest": 0, "10 %": 0.1, "median": 0.5, "90 %": 0.9, "largest": 1}
"""Columns of a table over flows: sums, and the flow's value at which so great a share of the flows lies below."""


def overview(summary: dict[str, Any]) -> list[Section]:
    """Tables of one run: its TCP flows, its pings, its other probes, then the run itself.

    Parameters
    ----------
    summary : dict
        As in `summary.json`.
    """
    sections = []
    for kind, (title, rows) in _KINDS.items():
        flows = [flow for flow in summary["flows"] if _kind(flow) == kind]
        if not flows:
            continue
        # One way for all flows stands in the title, in place of a row of equal texts.
        ways = list(dict.fromkeys(_way(flow) for flow in flows))
        same = len(ways) == 1 and ways[0] is not None
        # Numbers only where there are several flows: they are what --flow takes.
        lead = (("flow", tuple(str(flow.get("flow", 0)) for flow in flows)),) if len(summary["flows"]) > 1 else ()
        # The flow's own scalars win: both have `received_ce_pkts`, and a row of a flow is about the flow.
        of_flows = [{**summary, **flow} for flow in flows]
        table = _rows(rows, of_flows, scalars.FLOW_SCALARS)
        names = tuple(flow_names([FlowKey.of_summary(flow) for flow in flows], pairs=not same))
        title = f"{title}, {ways[0]}" if same else title
        spread = Section(title, tuple(SPREAD), _spread(rows, of_flows)) if len(flows) > 1 else None
        ranked, by = _ranked(kind, flows)
        sections.append(Section(title, names, (*lead, *table), spread, ranked, by))
    return [*sections, Section("Run", (summary.get("name") or "",), _rows(_RUN, [summary], scalars.RUN_SCALARS))]


def compared(names: Sequence[str], summaries: Sequence[dict[str, Any]]) -> list[Section]:
    """Tables of several runs, one column a run: one of each flow (`flownames.matched`), then one of the runs.

    Parameters
    ----------
    names : sequence of str
        What each run is called.

    Returns
    -------
    sections : list of Section
        A run a column. A table for each flow, up to `MOST_COMPARED` of a kind. More flows share one table of the kind,
        with the sum over the flows, the median flow and the middle 80 % of each quantity. The runs come last.
    """
    flows = _by_place(summaries)
    keys = sorted({key for of_run in flows for key in of_run})
    sections = []
    for kind, (title, rows) in _KINDS.items():
        places = [place for place, of_kind in keys if of_kind == kind]
        if len(places) > MOST_COMPARED:
            sections.append(_compared_over_flows(title, rows, kind, names, summaries))
            continue
        for place in places:
            mine = [of_run.get((place, kind)) for of_run in flows]
            of_runs = [{} if flow is None else summary | flow for summary, flow in zip(summaries, mine, strict=True)]
            heading = _compared_title(title, [flow for flow in mine if flow is not None], alone=len(places) == 1)
            sections.append(Section(heading, tuple(names), _rows(rows, of_runs, scalars.FLOW_SCALARS)))
    return [*sections, Section("Runs", tuple(names), _rows(_RUN, summaries, scalars.RUN_SCALARS))]


def _by_place(summaries: Sequence[dict[str, Any]]) -> list[dict[tuple[int, str], dict[str, Any]]]:
    """The flows of each run by place in the comparison and kind."""
    places = matched([[FlowKey.of_summary(flow) for flow in summary["flows"]] for summary in summaries])
    return [
        {(place, _kind(flow)): flow for place, flow in zip(of_run, summary["flows"], strict=True)}
        for of_run, summary in zip(places, summaries, strict=True)
    ]


MOST_COMPARED = 4
"""Flows of a kind that have a table each where runs are compared: with more, nobody would find the last one."""


def _compared_title(title: str, flows: Sequence[dict[str, Any]], *, alone: bool) -> str:
    """The heading of a flow in all runs, such as "TCP, A to B, cubic (flow 2)"; without what differs."""
    words = common_name([FlowKey.of_summary(flow) for flow in flows], alone=alone)
    return f"{title}, {words}" if words else title


def _compared_over_flows(
    title: str, rows: Sequence[_Row], kind: str, names: Sequence[str], summaries: Sequence[dict[str, Any]]
) -> Section:
    """Each quantity over the flows of a kind, a run a column: the sum where there is one, median, middle 80 %."""
    columns = []
    for summary in summaries:
        flows = [{**summary, **flow} for flow in summary["flows"] if _kind(flow) == kind]
        columns.append((len(flows), dict(_spread(rows, flows))))
    at = {name: place for place, name in enumerate(SPREAD)}
    lines: list[tuple[str, tuple[str | None, ...]]] = [("flows", tuple(f"{count:,}" for count, _ in columns))]
    nothing = (None,) * len(SPREAD)
    for label in dict.fromkeys(label for _, spread in columns for label in spread):
        mine = [spread.get(label, nothing) for _, spread in columns]
        totals = tuple(of_run[at["all"]] for of_run in mine)
        medians = tuple(of_run[at["median"]] for of_run in mine)
        # Delays and shares have no sum: their first row is the median's.
        has_sum = any(text is not None for text in totals)
        lines.append((label, totals) if has_sum else (f"{label}, median flow", medians))
        for words, texts in (
            ("median flow", list(medians) if has_sum else []),
            ("10 % to 90 % of the flows", [_middle(of_run[at["10 %"]], of_run[at["90 %"]]) for of_run in mine]),
        ):
            # Of what is 0 in sum no flow has any.
            if any(text is not None for text in texts) and set(totals) - {"0", None} | set(texts) - {"0", None}:
                lines.append((f"    {words}", tuple(texts)))
    return Section(
        f"{title}, the sum over the flows, then the median flow of each quantity", tuple(names), tuple(lines)
    )


def _middle(low: str | None, high: str | None) -> str | None:
    if low is None or high is None or low == high:
        return low if high is not None else None
    (least, _, unit), (_, _, same) = low.partition(" "), high.partition(" ")
    # "(2.2 %)" is no unit.
    return f"{least} to {high}" if unit == same and "(" not in unit else f"{low} to {high}"


@dataclass(frozen=True)
class Quantity:
    """A quantity of several runs, a value a run: numbers in the unit of the scalar, words, or None where unknown.

    Attributes
    ----------
    label : str
        What the overview calls it.
    text : callable
        Says one value, with its unit.
    values : tuple
    """

    label: str
    text: Callable[[Any], str]
    values: tuple[Any, ...]


def quantities(summaries: Sequence[dict[str, Any]]) -> list[tuple[str, list[Quantity]]]:
    """The titles of `compared`, each with its quantities as values, so that others may be computed of them."""
    flows = _by_place(summaries)
    keys = sorted({key for of_run in flows for key in of_run})
    found = []
    for place, kind in keys:
        title, rows = _KINDS[kind]
        mine = [of_run.get((place, kind)) for of_run in flows]
        of_runs = [{} if flow is None else summary | flow for summary, flow in zip(summaries, mine, strict=True)]
        heading = _compared_title(title, [flow for flow in mine if flow is not None], alone=len(keys) == 1)
        found.append((heading, _values(rows, of_runs, scalars.FLOW_SCALARS)))
    return [*found, ("Runs", _values(_RUN, summaries, scalars.RUN_SCALARS))]


def _values(
    rows: Sequence[_Row], columns: Sequence[dict[str, Any]], declared: dict[str, scalars.Scalar]
) -> list[Quantity]:
    found = []
    for row, label, text, values in _shown(rows, columns, declared):
        # What is made of two scalars is not the same of their medians: the first stands alone, or the row is left out.
        if text is _speed:
            continue
        name, place = (row.also[0], 1) if text is _recovery else (row.name, 0)
        if text is _changes:
            label = label.partition(" (")[0]
        if text is _between:
            label += ", least"
        says = _TEXTS.get(declared[name].unit.suffix, _plainly)
        found.append(Quantity(label, says, tuple(each[place] for each in values)))
    return found


class _Shown(Enum):
    """When a quantity is a row."""

    ALWAYS = "always"
    KNOWN = "if it is known of some column"
    ANY = "if it is known of some column, and not 0"
    CHANGES = "if it is known of some column, and the path of one changed"


@dataclass(frozen=True)
class _Row:
    """A quantity, and when it is a row.

    Attributes
    ----------
    name : str
        A declared scalar, which says what the row is called and in which unit it is.
    also : tuple of str
        Further scalars that its text says.
    text : callable, optional
        What says these scalars; by default the unit's.
    unless : str, optional
        Not shown if this scalar is known of some column.
    label : str, optional
        In place of the declared one.
    unknown : str, optional
        Why it is not known of a flow whose path changed.
    """

    name: str
    shown: _Shown = _Shown.ALWAYS
    also: tuple[str, ...] = ()
    text: Callable[..., str | None] | None = None
    unless: str | None = None
    label: str | None = None
    unknown: str | None = None


def _rows(rows: Sequence[_Row], columns: Sequence[dict[str, Any]], declared: dict[str, scalars.Scalar]) -> Rows:
    return tuple(
        (
            label,
            tuple(
                text(*value) if value[0] is not None else row.unknown if column.get("route_changes") else None
                for value, column in zip(values, columns, strict=True)
            ),
        )
        for row, label, text, values in _shown(rows, columns, declared)
    )


def _shown(
    rows: Sequence[_Row], columns: Sequence[dict[str, Any]], declared: dict[str, scalars.Scalar]
) -> list[tuple[_Row, str, Callable[..., str | None], list[tuple[Any, ...]]]]:
    """Each row that is shown: what it is called, what says its values, and these, a tuple a column."""
    shown = []
    columns = [scalars.flat(column) for column in columns]
    for row in rows:
        scalar = declared[row.name]
        label, text = row.label or scalar.overview, row.text or _TEXTS.get(scalar.unit.suffix, _plainly)
        assert label is not None, f"{row.name} is declared as none of the overview's"
        values = [tuple(column.get(key) for key in (row.name, *row.also)) for column in columns]
        if _is_shown(row, values, columns):
            shown.append((row, label, text, values))
    return shown


def _spread(rows: Sequence[_Row], flows: Sequence[dict[str, Any]]) -> Rows:
    """The rows over all flows: their sum where there is one, and values of single flows by the share of those below."""
    shown = []
    for row, label, text, values in _shown(rows, flows, scalars.FLOW_SCALARS):
        known = [value for value in values if value[0] is not None]
        if any(isinstance(value[0], str) for value in known):
            counts = Counter(value[0] for value in known)
            shown += [
                (f"{label} {name}", (f"{count:,}", *[None] * (len(SPREAD) - 1))) for name, count in counts.items()
            ]
        elif known and text is not _recovery:
            # By the first scalar alone: what stands beside it, as a share in brackets, is that flow's.
            known.sort(key=lambda value: value[0])
            total = (total_goodput_bps(flows),) if row.name == "goodput_mean_bps" else _total(row.name, known)
            total = None if total is None or total[0] is None else total
            texts = [total if at is None else known[_place(at, len(known))] for at in SPREAD.values()]
            shown.append((label, tuple(None if value is None else text(*value) for value in texts)))
    return tuple(shown)


def _place(share: float, count: int) -> int:
    """Of the smallest of `count` sorted values that has at least such a share of them at or below it."""
    return max(0, math.ceil(share * count - 1e-9) - 1)


def total_goodput_bps(flows: Sequence[Mapping[str, Any]], name: str = "goodput_mean_bps") -> float | None:
    """Goodput of flows together, bit/s: their payload over the time in which at least one lived; None: unknown of one.

    Means of short flows are each over the flow's own life, and their sum is what no network ever carried.

    Parameters
    ----------
    flows : sequence of dict
        Scalars of each flow.
    name : str
        The flows' goodput; that of a flow that never lived is taken as none.
    """
    if any("start_ns" not in flow for flow in flows):
        # A summary of an older version does not say when its flows lived.
        rates = [flow.get(name) for flow in flows]
        return None if None in rates else sum(rate for rate in rates if rate is not None)
    lived = [flow for flow in flows if flow["stop_ns"] > flow["start_ns"]]
    if not lived or any(flow[name] is None for flow in lived):
        return None
    carried, length_ns, until_ns = 0.0, 0, 0
    for flow in sorted(lived, key=lambda flow: flow["start_ns"]):
        carried += flow[name] * (flow["stop_ns"] - flow["start_ns"])
        length_ns += max(0, flow["stop_ns"] - max(flow["start_ns"], until_ns))
        until_ns = max(until_ns, flow["stop_ns"])
    return carried / length_ns


def _total(name: str, known: Sequence[tuple[Any, ...]]) -> tuple[Any, ...] | None:
    """The sum of rates and of packets; None of what has none."""
    if not name.endswith(_SUMMED) or "_max_" in name or "_mean_p" in name or name.startswith("mean_"):
        return None
    # A sum of what is known of some flows would look like the sum of all.
    return tuple(sum(part) if None not in part else None for part in zip(*known, strict=True))


def _ranked(kind: str, flows: Sequence[dict[str, Any]]) -> tuple[tuple[int, ...], str]:
    """Places of the flows, the worst first, and what that means: TCP by goodput, others by loss and delay."""
    if kind == "tcp":
        return tuple(sorted(range(len(flows)), key=lambda place: flows[place].get("goodput_mean_bps") or 0)), "goodput"
    lost, delay = ("replies_lost_pkts", "rtt_p50_ns") if kind == "ping" else ("probes_lost_pkts", "owd_p50_ns")

    def badness(place: int) -> tuple[float, float]:
        flow = flows[place]
        return -(flow.get(lost) or 0) / (flow.get("probes_pkts") or 1), -(flow.get(delay) or 0)

    return tuple(sorted(range(len(flows)), key=badness)), "loss, then delay"


def _is_shown(row: _Row, values: list[tuple[Any, ...]], columns: Sequence[dict[str, Any]]) -> bool:
    if row.unless is not None and any(column.get(row.unless) is not None for column in columns):
        return False
    unknown = all(value[0] is None for value in values)
    match row.shown:
        case _Shown.ALWAYS:
            return True
        case _Shown.KNOWN:
            return not unknown
        case _Shown.ANY:
            return any(value[0] for value in values)
        case _Shown.CHANGES:
            told = not unknown or row.unknown is not None
            return told and any(column.get("route_changes") for column in columns)


def _kind(flow: dict[str, Any]) -> str:
    if flow.get("kind", "tcp") == "tcp":
        return "tcp"
    if flow["kind"] == "program":
        return "program"
    # Of runs before this scalar nobody knows whose datagrams they were.
    if flow.get("program") is not None:
        return "datagrams"
    # A ping without replies is a stream of probes one way, as udp is.
    return "ping" if flow["kind"] == "ping" and flow.get("replies_pkts") is not None else "probe"


def _way(flow: dict[str, Any]) -> str | None:
    return FlowKey.of_summary(flow).pair


def _plainly(value: float | str) -> str:
    """Counts with all digits, other numbers with three."""
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"


def ratio_text(ratio: float) -> str:
    return f"{100 * ratio:.3g} %"


def _part(value: int, whole: int | None) -> str:
    return f"{value:,} ({ratio_text(value / whole)})" if value and whole else f"{value:,}"


def rate_text(value_bps: float) -> str:
    for size, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s")):
        if value_bps >= size:
            return f"{_digits(value_bps / size)} {unit}"
    return "0 bit/s"


def span_text(value_ns: float) -> str:
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us"), (1, "ns")):
        if abs(value_ns) >= size:
            return f"{_digits(value_ns / size)} {unit}"
    return "0 s"


def _span_of_us(value_us: float) -> str:
    return span_text(value_us * 1e3)


def _span_of_s(value_s: float) -> str:
    return f"{value_s:,.4g} s" if value_s < 1000 else f"{value_s:,.0f} s"


def _digits(value: float) -> str:
    """Four digits that count; before the point all that there are."""
    # `#` keeps trailing zeros: 1.200 and 1.234 beside each other are of one precision.
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:#.4g}".rstrip(".")


def _changes(value: int, shorter: int | None) -> str:
    return f"{value:,}" if shorter is None or not value else f"{value:,} ({shorter:,})"


def _between(least_ns: int, largest_ns: int | None) -> str:
    if largest_ns is None or largest_ns == least_ns:
        return span_text(least_ns)
    least, unit = span_text(least_ns).split()
    largest, same = span_text(largest_ns).split()
    return f"{least} to {largest} {same}" if unit == same else f"{least} {unit} to {largest} {same}"


def _recovery(recovered_ratio: float, median_ns: int | None) -> str:
    # Recovery is looked at for 5 s (`metrics.recovery`); of a half that did not come back there is no median.
    return "> 5 s" if median_ns is None else span_text(median_ns)


def _speed(cpu_s: float, virtual_s: float | None) -> str | None:
    return _plainly(virtual_s / cpu_s) if cpu_s and virtual_s is not None else None


_TEXTS: dict[str, Callable[..., str]] = {
    "_bps": rate_text, "_ns": span_text, "_us": _span_of_us, "_s": _span_of_s, "_ratio": ratio_text,
}  # fmt: skip
"""How a scalar is said, by the end of its name; all others plainly."""

_SUMMED = ("_bps", "_pkts", "_timeouts")
"""Ends of the names of scalars whose sum over flows means something."""

_LATE = (
    _Row("late_pkts", _Shown.ANY),
    _Row("reordering_extent_max_pkts", _Shown.ANY),
    _Row("mean_displacement_pkts", _Shown.ANY),
    _Row("entropy_nats", _Shown.ANY),
)

_TCP = (
    _Row("congestion_control"),
    _Row("goodput_mean_bps"),
    _Row("capacity_used_ratio", _Shown.KNOWN),
    _Row("completion_ns", _Shown.KNOWN),
    _Row("share_ratio", _Shown.KNOWN),
    _Row("rtt_p50_ns", _Shown.KNOWN),
    _Row("rtt_p99_ns", _Shown.KNOWN),
    _Row("srtt_p50_us", _Shown.KNOWN, unless="rtt_p50_ns"),
    _Row("srtt_p99_us", _Shown.KNOWN, unless="rtt_p50_ns"),
    _Row("sent_pkts", _Shown.KNOWN),
    _Row("retransmissions_pkts", _Shown.KNOWN, ("sent_pkts",), _part),
    _Row("sender_retransmissions_pkts", _Shown.KNOWN, unless="retransmissions_pkts"),
    _Row("spurious_retransmissions_pkts", _Shown.KNOWN),
    _Row("lost_queue_pkts", _Shown.KNOWN),
    _Row("lost_loss_pkts", _Shown.KNOWN),
    _Row("lost_link_down_pkts", _Shown.ANY),
    _Row("lost_no_route_pkts", _Shown.ANY),
    _Row("lost_unknown_pkts", _Shown.ANY),
    _Row("lost_near_changes_pkts", _Shown.CHANGES),
    _Row("received_ce_pkts", _Shown.ANY),
    _Row("sender_timeouts", _Shown.ANY),
    *_LATE,
    _Row("recovered_ratio", _Shown.CHANGES, ("recovery_p50_ns",), _recovery,
         label=scalars.FLOW_SCALARS["recovery_p50_ns"].overview),
    _Row("recovered_ratio", _Shown.CHANGES),
)  # fmt: skip

_PROBE = (
    _Row("probes_pkts"),
    _Row("probes_lost_pkts", also=("probes_pkts",), text=_part),
    _Row("loss_run_max_pkts", _Shown.ANY),
    _Row("owd_min_ns", _Shown.KNOWN),
    _Row("owd_p50_ns", _Shown.KNOWN),
    _Row("owd_max_ns", _Shown.KNOWN),
    *_LATE,
)

_DATAGRAMS = (
    _Row("payload_mean_bps"),
    _Row("payload_back_mean_bps", _Shown.ANY),
    *_PROBE,
)

_PING = (
    _Row("probes_pkts"),
    _Row("replies_lost_pkts", also=("probes_pkts",), text=_part),
    _Row("replies_lost_near_changes_pkts", _Shown.CHANGES),
    _Row("loss_run_max_pkts", _Shown.ANY, label="  longest run"),
    _Row("rtt_min_ns", _Shown.KNOWN),
    _Row("rtt_p50_ns", _Shown.KNOWN),
    _Row("rtt_p99_ns", _Shown.KNOWN),
    _Row("rtt_step_mean_ns", _Shown.KNOWN),
    _Row("spike_p50_ns", _Shown.CHANGES, unknown="too few pings to tell"),
    *_LATE,
)

_RUN = (
    _Row("route_changes", _Shown.ANY, ("route_changes_shorter",), _changes),
    _Row("path_delay_min_ns", _Shown.KNOWN, ("path_delay_max_ns",), _between),
    _Row("no_path_s", _Shown.ANY),
    _Row("moved_pkts", _Shown.KNOWN),
    _Row("held_back_pkts", _Shown.KNOWN),
    _Row("held_back_max_bytes", _Shown.ANY),
    _Row("held_back_longest_ns", _Shown.KNOWN),
    _Row("hold_full_pkts", _Shown.ANY),
    _Row("fairness.jain_index", _Shown.KNOWN),
    _Row("virtual_s", _Shown.KNOWN),
    _Row("cpu_s", _Shown.KNOWN),
    _Row("cpu_s", _Shown.KNOWN, ("virtual_s",), _speed, label="virtual s per CPU s"),
)

_PROGRAM = (
    _Row("connections", _Shown.KNOWN),
    _Row("connections_bytes", _Shown.KNOWN),
    _Row("client_exit_code", _Shown.KNOWN),
    _Row("client_end_ns", _Shown.KNOWN),
    _Row("server_exit_code", _Shown.KNOWN),
    _Row("iperf3_received_bps", _Shown.KNOWN),
    _Row("iperf3_retransmissions_pkts", _Shown.KNOWN),
    _Row("iperf3_jitter_ns", _Shown.KNOWN),
    _Row("iperf3_lost_pkts", _Shown.KNOWN),
    _Row("transactions", _Shown.KNOWN),
    _Row("transactions_failed", _Shown.ANY),
    _Row("transaction_p50_ns", _Shown.KNOWN),
    _Row("transaction_p99_ns", _Shown.KNOWN),
    _Row("first_byte_p50_ns", _Shown.KNOWN),
    _Row("pages", _Shown.KNOWN),
    _Row("pages_failed", _Shown.ANY),
    _Row("page_load_p50_ns", _Shown.KNOWN),
    _Row("page_first_byte_p50_ns", _Shown.KNOWN),
    _Row("startup_ns", _Shown.KNOWN),
    _Row("segments", _Shown.KNOWN),
    _Row("bitrate_mean_bps", _Shown.KNOWN),
    _Row("bitrate_switches", _Shown.KNOWN),
    _Row("stalls", _Shown.KNOWN),
    _Row("stalled_ns", _Shown.KNOWN),
    _Row("stalled_ratio", _Shown.ANY),
    _Row("live_latency_p50_ns", _Shown.KNOWN),
    _Row("live_latency_max_ns", _Shown.KNOWN),
    _Row("frames", _Shown.KNOWN),
    _Row("frames_lost", _Shown.ANY),
    _Row("frame_delay_p50_ns", _Shown.KNOWN),
    _Row("frame_delay_p95_ns", _Shown.KNOWN),
    _Row("frame_delay_p99_ns", _Shown.KNOWN),
    _Row("freezes", _Shown.KNOWN),
    _Row("frozen_ns", _Shown.ANY),
)

_KINDS = {
    "tcp": ("TCP", _TCP), "ping": ("Pings", _PING), "probe": ("Probes one way", _PROBE),
    "datagrams": ("UDP of programs", _DATAGRAMS), "program": ("Programs", _PROGRAM),
}  # fmt: skip
