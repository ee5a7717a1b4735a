# SPDX-License-Identifier: Apache-2.0
"""Prints the network of a run by link direction and by satellite: `leowarp show --links`."""

from __future__ import annotations

import shlex
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from leowarp.base.errors import TraceError
from leowarp.cli.output import fitting, frame_records, print_json, print_table, say

if TYPE_CHECKING:
    import pandas as pd

    from leowarp.results.run import Run


Order = StrEnum("Order", ["bytes", "queue", "drops"])
"""The quantities by which directions and satellites can be sorted. The largest value comes first."""


def print_network(run: Run, *, top: int, by: Order, satellites: bool, json_: bool) -> None:
    """Print use, drops by cause and longest queues of `top` link directions and `top` satellites, in the order `by`.
    With `satellites`, print only the tables about satellites.

    Raises `TraceError` if only satellites are requested but no satellite forwards packets.
    """
    from leowarp.ephemeris import planned_places

    of_satellites = run.satellites()
    # If the user asks only for satellites, an empty table would not help: probably the user meant another run.
    if satellites and len(of_satellites) == 0:
        raise TraceError(
            f"{run.path} has no satellites that forward packets: {_why_none(run)}",
            hint=f"its links: leowarp show {shlex.quote(str(run.path))} --links",
        )
    of_links = run.links()
    places = planned_places(run.plan)
    grid = [] if places is None else list(places.sentences)
    if json_:
        print_json(
            {
                "run": str(run.path),
                "links": [] if satellites else frame_records(_sorted(of_links, by).head(top)),
                "satellites": frame_records(_sorted(of_satellites, by).head(top)),
                "grid": grid,
            }
        )
        return
    if not satellites:
        _print_links(run, _sorted(of_links, by), top, by)
    if len(of_satellites):
        _print_satellites(_sorted(of_satellites, by), top, by)
    say(_WORDS)
    for sentence in grid:
        say(sentence)


def _why_none(run: Run) -> str:
    name = type(run.plan.medium).NAME
    if run.plan.constellation is not None and run.plan.constellation is run.plan.medium:
        return "no packet reached one"
    return f"its medium is [{name}], and a satellite in it is no node of the network"


def _sorted(frame: pd.DataFrame, by: Order) -> pd.DataFrame:
    """Sort the rows of the frame by `by`, with the largest value first. Rows with equal values are always in the same
    order."""
    if by is Order.drops:
        # netem does not report the causes of drops. With min_count, the sum of a row with unknown causes is missing
        # instead of 0, and this row comes last.
        keys = frame[[f"dropped_{cause}_pkts" for cause in ("queue", "loss", "down")]].sum(axis=1, min_count=1)
    else:
        # Runs of older versions have the longest queue in packets, but not in bytes.
        names = {Order.bytes: ("delivered_bytes",), Order.queue: ("queue_max_bytes", "queue_max_pkts")}[by]
        keys = frame[next((name for name in names if frame[name].notna().any()), names[0])]
    # Unknown values become -1, so that their rows come last. The sort is stable and then reversed, so equal values have
    # the same order in every call.
    return frame.iloc[keys.astype("Float64").fillna(-1).argsort(kind="stable")[::-1]] if len(frame) else frame


def _print_links(run: Run, frame: pd.DataFrame, top: int, by: Order) -> None:
    few = frame.head(top)
    names = [f"{row.a} > {row.b}" for row in few.itertuples(index=False)]
    title = f"{run.path}: {_part(len(few), len(frame), 'directions of links')} that carried packets, {_BY[by]}"
    use = {
        "delivered, MB": _numbers(few["delivered_bytes"], 1e6, 1),
        "up, s": _numbers(few["up_ns"], 1e9, 1),
        "use, %": _numbers(few["utilisation_ratio"], 0.01, 1),
        "on a path, s": _numbers(few["on_path_ns"], 1e9, 1),
        "use then, %": _numbers(few["use_on_path_ratio"], 0.01, 1),
    }
    _print_parts(title, "direction", names, [use, _drops(few), _longest(few)])


def _print_satellites(frame: pd.DataFrame, top: int, by: Order) -> None:
    few = frame.head(top)
    title = f"{_part(len(few), len(frame), 'satellites')} that forwarded packets, {_BY[by]}"
    use = {
        "delivered, MB": _numbers(few["delivered_bytes"], 1e6, 1),
        "on a path, s": _numbers(few["on_path_ns"], 1e9, 1),
        "links": _numbers(few["directions"], 1, 0),
    }
    _print_parts(title, "satellite", list(few["satellite"]), [use | _drops(few), _longest(few)])


def _drops(few: pd.DataFrame) -> dict[str, list[str | None]]:
    names = {"queue": "dropped: queue full", "loss": "lost on the link", "down": "lost: link down"}
    return {name: _numbers(few[f"dropped_{cause}_pkts"], 1, 0) for cause, name in names.items()}


def _longest(few: pd.DataFrame) -> dict[str, list[str | None]]:
    return {
        "longest queue, packets": _numbers(few["queue_max_pkts"], 1, 0),
        "first at, s": _numbers(few["queue_max_pkts_at_ns"], 1e9, 3),
        "longest queue, bytes": _numbers(few["queue_max_bytes"], 1, 0),
        "that at, s": _numbers(few["queue_max_bytes_at_ns"], 1e9, 3),
    }


def _print_parts(title: str, head: str, names: list[str], parts: list[dict[str, list[str | None]]]) -> None:
    """Print as few tables as fit the terminal, one below another."""
    while parts:
        columns = dict(parts[0])
        taken = 1
        for part in parts[1:]:
            wider = columns | part
            # The columns of one part stay in one table, because they are read side by side. Examples are drops by
            # cause, and a longest queue with its time.
            if fitting(names, list(wider), list(wider.values())) < len(wider):
                break
            columns, taken = wider, taken + 1
        print_table(title, (head, *columns), list(zip(names, *columns.values(), strict=True)))
        parts = parts[taken:]


def _numbers(column: pd.Series, size: float, digits: int) -> list[str | None]:
    import pandas as pd

    values: list[Any] = list(column)
    return [None if pd.isna(value) else f"{value / size:,.{digits}f}" for value in values]


def _part(shown: int, all_: int, what: str) -> str:
    return f"all {all_} {what}" if shown == all_ else f"{shown} of {all_} {what}"


_BY = {
    Order.bytes: "most bytes first",
    Order.queue: "longest queue in bytes first",
    Order.drops: "most drops first",
}

_WORDS = (
    "Use: delivered bits over what the rate carries while the link is up; then over the time for which a path of the "
    "flows led over it (above 100 % by what an abandoned link still delivers). Longest queues are counted packet by "
    "packet; the instant is the first at which the queue was so long."
)
