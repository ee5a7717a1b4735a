# SPDX-License-Identifier: Apache-2.0
"""Tables of the most important scalars of a summary, in convenient units, as in a paper. Several runs are shown side by
side.

A quantity has a row only if a flow of the table has it. Examples are marks, timeouts and late packets. A missing value
in a row is None. `leowarp show RUN --metrics` prints all scalars.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leowarp import scalars
from leowarp.base.flownames import FlowKey, common_name, flow_names, matched
from leowarp.scalars.overview_rows import (
    KINDS,
    RUN_ROWS,
    Row,
    Shown,
    between_text,
    changes_text,
    recovery_text,
    speed_text,
)
from leowarp.scalars.texts import TEXTS, plainly

Rows = tuple[tuple[str, tuple[str | None, ...]], ...]


@dataclass(frozen=True)
class Section:
    """A table of flows or runs. `columns` are the names of the flows or runs. Each of `rows` is a quantity with one
    text per column.

    spread: The quantities over all flows, with the columns `SPREAD`. These quantities are given if there are too many
        flows to show each flow.
    ranked: The indices in `columns`, in the order of the ranking, beginning with the worst flow. The tuple is empty if
        the columns are not ranked.
    ranked_by: The criterion of the ranking.
    """

    title: str
    columns: tuple[str, ...]
    rows: Rows
    spread: Section | None = None
    ranked: tuple[int, ...] = ()
    ranked_by: str = ""

    def of(self, title: str, places: Sequence[int]) -> Section:
        """Return a copy of the table with only the columns at `places`, and with a new title."""
        rows = tuple((name, tuple(values[place] for place in places)) for name, values in self.rows)
        return Section(title, tuple(self.columns[place] for place in places), rows)

    def ends(self) -> Section:
        """Return the table of only the three worst and the three best flows. The worst flows come first, because a
        reader of ninety flows looks for problems."""
        places = [*self.ranked[:3], *self.ranked[: -3 - 1 : -1]]
        return self.of(f"{self.title}: worst 3, then best 3 by {self.ranked_by}", places)


SPREAD: dict[str, float | None] = {"all": None, "smallest": 0, "10 %": 0.1, "median": 0.5, "90 %": 0.9, "largest": 1}
"""The columns of a table over all flows. All columns except the sum are quantiles. A quantile is the value that this
share of the flows does not exceed."""


def overview(summary: dict[str, Any]) -> list[Section]:
    """Return the tables of one run: its TCP flows, its pings, its other probes, and the run itself."""
    sections = []
    for kind, (title, rows) in KINDS.items():
        flows = [flow for flow in summary["flows"] if _kind(flow) == kind]
        if not flows:
            continue
        # If all flows have the same direction, it is shown in the title. If directions differ, the name of each column
        # contains the flow's direction.
        ways = list(dict.fromkeys(FlowKey.of_summary(flow).pair for flow in flows))
        same = len(ways) == 1 and ways[0] is not None
        # Flows are numbered only if there are several flows; this number is the argument of `--flow`.
        lead = (("flow", tuple(str(flow.get("flow", 0)) for flow in flows)),) if len(summary["flows"]) > 1 else ()
        # If flow and run have a scalar of the same name (`received_ce_pkts`), the flow's scalar is shown, because the
        # table is about flows.
        of_flows = [{**summary, **flow} for flow in flows]
        table = _rows(rows, of_flows, scalars.FLOW_SCALARS)
        names = tuple(flow_names([FlowKey.of_summary(flow) for flow in flows], pairs=not same))
        title = f"{title}, {ways[0]}" if same else title
        spread = Section(title, tuple(SPREAD), _spread(rows, of_flows)) if len(flows) > 1 else None
        ranked, by = _ranked(kind, flows)
        sections.append(Section(title, names, (*lead, *table), spread, ranked, by))
    return [*sections, Section("Run", (summary.get("name") or "",), _rows(RUN_ROWS, [summary], scalars.RUN_SCALARS))]


def compared(names: Sequence[str], summaries: Sequence[dict[str, Any]]) -> list[Section]:
    """Return the tables of several runs, with one column per run.

    Returns: First the tables of the flows (`flownames.matched`), and last a table of the runs' own scalars. A kind with
        at most `MOST_COMPARED` flows has one table per flow. A kind with more flows has only one table. It contains the
        sum, the median and the middle 80 % of each quantity.
    """
    flows = _by_place(summaries)
    keys = sorted({key for of_run in flows for key in of_run})
    sections = []
    for kind, (title, rows) in KINDS.items():
        places = [place for place, of_kind in keys if of_kind == kind]
        if len(places) > MOST_COMPARED:
            sections.append(_compared_over_flows(title, rows, kind, names, summaries))
            continue
        for place in places:
            heading, of_runs = _compared(place, kind, flows, summaries, alone=len(places) == 1)
            sections.append(Section(heading, tuple(names), _rows(rows, of_runs, scalars.FLOW_SCALARS)))
    return [*sections, Section("Runs", tuple(names), _rows(RUN_ROWS, summaries, scalars.RUN_SCALARS))]


def _by_place(summaries: Sequence[dict[str, Any]]) -> list[dict[tuple[int, str], dict[str, Any]]]:
    """Return the flows of each run by their index in the comparison and their kind."""
    places = matched([[FlowKey.of_summary(flow) for flow in summary["flows"]] for summary in summaries])
    return [
        {(place, _kind(flow)): flow for place, flow in zip(of_run, summary["flows"], strict=True)}
        for of_run, summary in zip(places, summaries, strict=True)
    ]


MOST_COMPARED = 4
"""A comparison has a table per flow only if there are at most this many flows of a kind."""


def _compared(
    place: int, kind: str, flows: Sequence[dict[tuple[int, str], dict[str, Any]]], summaries: Sequence[dict[str, Any]],
    *, alone: bool,
) -> tuple[str, list[dict[str, Any]]]:  # fmt: skip
    """Return the heading of a compared flow's table, for example "TCP, A to B, cubic (flow 2)", and the scalars of each
    run and its flow. The flow's name omits the parts that differ between the runs."""
    mine = [of_run.get((place, kind)) for of_run in flows]
    words = common_name([FlowKey.of_summary(flow) for flow in mine if flow is not None], alone=alone)
    of_runs = [{} if flow is None else summary | flow for summary, flow in zip(summaries, mine, strict=True)]
    return f"{KINDS[kind][0]}, {words}" if words else KINDS[kind][0], of_runs


def _compared_over_flows(
    title: str, rows: Sequence[Row], kind: str, names: Sequence[str], summaries: Sequence[dict[str, Any]]
) -> Section:
    """Return a table over the flows of one kind, with one column per run. The rows of a quantity are the sum (if the
    quantity can be summed), the median, and the middle 80 %."""
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
        # Delays and shares cannot be summed, so the first row of such a scalar shows the median.
        has_sum = any(text is not None for text in totals)
        lines.append((label, totals) if has_sum else (f"{label}, median flow", medians))
        for words, texts in (
            ("median flow", list(medians) if has_sum else []),
            ("10 % to 90 % of the flows", [_middle(of_run[at["10 %"]], of_run[at["90 %"]]) for of_run in mine]),
        ):
            # A row with only zeros is left out; if the sum over flows is 0, the value of every flow is 0.
            if any(text is not None for text in texts) and set(totals) - {"0", None} | set(texts) - {"0", None}:
                lines.append((f"    {words}", tuple(texts)))
    return Section(
        f"{title}, the sum over the flows, then the median flow of each quantity", tuple(names), tuple(lines)
    )


def _middle(low: str | None, high: str | None) -> str | None:
    if low is None or high is None or low == high:
        return low if high is not None else None
    (least, _, unit), (_, _, same) = low.partition(" "), high.partition(" ")
    # A text may end in a share such as "(2.2 %)", which is not a unit.
    return f"{least} to {high}" if unit == same and "(" not in unit else f"{low} to {high}"


@dataclass(frozen=True)
class Quantity:
    """A scalar with one value per run: a number in the scalar's unit, a text, or None if it is unknown. `text` formats
    one value with its unit."""

    label: str
    text: Callable[[Any], str]
    values: tuple[Any, ...]


def quantities(summaries: Sequence[dict[str, Any]]) -> list[tuple[str, list[Quantity]]]:
    """Return the titles of the tables of `compared`, each with its quantities as values."""
    flows = _by_place(summaries)
    keys = sorted({key for of_run in flows for key in of_run})
    found = []
    for place, kind in keys:
        heading, of_runs = _compared(place, kind, flows, summaries, alone=len(keys) == 1)
        found.append((heading, _values(KINDS[kind][1], of_runs, scalars.FLOW_SCALARS)))
    return [*found, ("Runs", _values(RUN_ROWS, summaries, scalars.RUN_SCALARS))]


def _values(
    rows: Sequence[Row], columns: Sequence[dict[str, Any]], declared: dict[str, scalars.Scalar]
) -> list[Quantity]:
    found = []
    for row, label, text, values in _shown(rows, columns, declared):
        # The medians of two scalars may come from different runs. A text that shows two scalars therefore cannot be
        # made from these medians. A row whose text shows two scalars is reduced to the first scalar or left out.
        if text is speed_text:
            continue
        name, place = (row.also[0], 1) if text is recovery_text else (row.name, 0)
        if text is changes_text:
            label = label.partition(" (")[0]
        if text is between_text:
            label += ", least"
        says = TEXTS.get(declared[name].unit.suffix, plainly)
        found.append(Quantity(label, says, tuple(each[place] for each in values)))
    return found


def _rows(rows: Sequence[Row], columns: Sequence[dict[str, Any]], declared: dict[str, scalars.Scalar]) -> Rows:
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
    rows: Sequence[Row], columns: Sequence[dict[str, Any]], declared: dict[str, scalars.Scalar]
) -> list[tuple[Row, str, Callable[..., str | None], list[tuple[Any, ...]]]]:
    """Return the rows that are shown, each with its label, the function for its texts, and its values by column."""
    shown = []
    columns = [scalars.flat(column) for column in columns]
    for row in rows:
        scalar = declared[row.name]
        label, text = row.label or scalar.overview, row.text or TEXTS.get(scalar.unit.suffix, plainly)
        assert label is not None, f"{row.name} is declared as none of the overview's"
        values = [tuple(column.get(key) for key in (row.name, *row.also)) for column in columns]
        if _is_shown(row, values, columns):
            shown.append((row, label, text, values))
    return shown


def _spread(rows: Sequence[Row], flows: Sequence[dict[str, Any]]) -> Rows:
    """For each quantity, return a row with the quantiles over all flows, and their sum if it makes sense."""
    shown = []
    for row, label, text, values in _shown(rows, flows, scalars.FLOW_SCALARS):
        known = [value for value in values if value[0] is not None]
        if any(isinstance(value[0], str) for value in known):
            counts = Counter(value[0] for value in known)
            shown += [
                (f"{label} {name}", (f"{count:,}", *[None] * (len(SPREAD) - 1))) for name, count in counts.items()
            ]
        elif known and text is not recovery_text:
            # Flows are sorted only by the first scalar, so that the first scalar and the share in brackets belong to
            # the same flow.
            known.sort(key=lambda value: value[0])
            total = (total_goodput_bps(flows),) if row.name == "goodput_mean_bps" else _total(row.name, known)
            total = None if total is None or total[0] is None else total
            texts = [total if at is None else known[_place(at, len(known))] for at in SPREAD.values()]
            shown.append((label, tuple(None if value is None else text(*value) for value in texts)))
    return tuple(shown)


def _place(share: float, count: int) -> int:
    """Return an index into `count` sorted values. At least `share` of the values are not larger than the value at this
    index."""
    return max(0, math.ceil(share * count - 1e-9) - 1)


def total_goodput_bps(flows: Sequence[Mapping[str, Any]], name: str = "goodput_mean_bps") -> float | None:
    """Return the total goodput of several flows in bit/s. The total is the flows' payload, divided by the time during
    which at least one of the flows is alive. None means that the goodput of a flow is unknown.

    The result is not the sum of the mean goodputs, because a short flow's mean covers only its own life. The sum of the
    means could exceed the network's throughput.

    name: The name of the scalar that has a flow's goodput. A flow that never started counts as zero.
    """
    if any("start_ns" not in flow for flow in flows):
        # A summary written by an older version of leowarp does not have the starts and ends of its flows.
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


_SUMMED = ("_bps", "_pkts", "_timeouts")
"""The suffixes of scalars whose sum over flows makes sense."""


def _total(name: str, known: Sequence[tuple[Any, ...]]) -> tuple[Any, ...] | None:
    """Return the sums of a scalar's values over all flows, or None for neither a rate nor a number of packets."""
    if not name.endswith(_SUMMED) or "_max_" in name or "_mean_p" in name or name.startswith("mean_"):
        return None
    # If the value of any flow is unknown, the sum is None, because a sum of the other flows would look like the total.
    return tuple(sum(part) if None not in part else None for part in zip(*known, strict=True))


def _ranked(kind: str, flows: Sequence[dict[str, Any]]) -> tuple[tuple[int, ...], str]:
    """Return the indices of the flows, the worst flow first, and the name of the criterion."""
    if kind == "tcp":
        return tuple(sorted(range(len(flows)), key=lambda place: flows[place].get("goodput_mean_bps") or 0)), "goodput"
    lost, delay = ("replies_lost_pkts", "rtt_p50_ns") if kind == "ping" else ("probes_lost_pkts", "owd_p50_ns")

    def badness(place: int) -> tuple[float, float]:
        flow = flows[place]
        return -(flow.get(lost) or 0) / (flow.get("probes_pkts") or 1), -(flow.get(delay) or 0)

    return tuple(sorted(range(len(flows)), key=badness)), "loss, then delay"


def _is_shown(row: Row, values: list[tuple[Any, ...]], columns: Sequence[dict[str, Any]]) -> bool:
    if row.unless is not None and any(column.get(row.unless) is not None for column in columns):
        return False
    unknown = all(value[0] is None for value in values)
    match row.shown:
        case Shown.ALWAYS:
            return True
        case Shown.KNOWN:
            return not unknown
        case Shown.ANY:
            return any(value[0] for value in values)
        case Shown.CHANGES:
            told = not unknown or row.unknown is not None
            return told and any(column.get("route_changes") for column in columns)


def _kind(flow: dict[str, Any]) -> str:
    if flow.get("kind", "tcp") == "tcp":
        return "tcp"
    if flow["kind"] == "program":
        return "program"
    # If the flow has no scalar `program`, it is unknown which program sent its datagrams.
    if flow.get("program") is not None:
        return "datagrams"
    # A ping flow without any replies is shown as one-way probes, like a udp flow.
    return "ping" if flow["kind"] == "ping" and flow.get("replies_pkts") is not None else "probe"
