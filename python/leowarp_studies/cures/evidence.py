# SPDX-License-Identifier: Apache-2.0
"""Numbers that the study's claims, figures and tables have in common. The effect of a cure is the difference between
two runs around the same change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from leowarp.study.statistics import Middle, middle
from leowarp_studies.cures import changes as route_changes
from leowarp_studies.cures.changes import DIRECTIONS
from leowarp_studies.cures.runs import SATURATED
from leowarp_studies.cures.variants import BOTH, BY_NAME, FROZEN, TCP_LABELS, TCPS

Frames = Mapping[str, Any]
"""A dict from name to data set of the study. A data set is missing if its runs failed or were not made."""

LINK_BPS = 100_000_000
FRAME_BITS = 1514 * 8
QUEUE_LIMIT_NS = 500 * FRAME_BITS / LINK_BPS * 1e9
"""The links' rate and the size of a full packet with overhead, as in the scenario. A full queue empties in
`QUEUE_LIMIT_NS`, which is 60.6 ms."""
KEY = ["tcp", "load", "change"]
"""The columns in which two runs must agree to be compared. Two such runs are identical until the change, except for the
effects of cures that act before the change."""


def rows(
    frames: Frames, variant: str, *, tcp: str | None = None, load: str | None = SATURATED,
    direction: str | None = None, at_sender: bool | None = None,
) -> pd.DataFrame:  # fmt: skip
    """Return the runs of a variant, one row per TCP, load and change. An argument that is None does not restrict the
    rows."""
    frame: pd.DataFrame = frames["around"]
    mine = frame["variant"] == variant
    given = {"tcp": tcp, "load": load, "direction": direction, "at_sender": at_sender}
    for column, value in given.items():
        if value is not None:
            mine &= frame[column] == value
    return frame[mine]


def total(frames: Frames, variant: str, column: str, **which: Any) -> float:
    """Return the sum of a column over the runs of a variant, or nan if there are no such runs."""
    mine = rows(frames, variant, **which)[column]
    return float(mine.sum()) if len(mine) else float("nan")


def median(frames: Frames, variant: str, column: str, **which: Any) -> Middle:
    """Return the median of a column over a variant's runs, with the confidence interval of the median."""
    return middle(rows(frames, variant, **which)[column])


def against(frames: Frames, variant: str, other: str, column: str, **which: Any) -> pd.DataFrame:
    """Return the values of a column for two variants, with one row for each change. The column `one` is for `variant`,
    and the column `other` is for `other`. The further columns are those of `KEY`."""
    one, two = (rows(frames, name, **which).set_index(KEY)[column] for name in (variant, other))
    return pd.DataFrame({"one": one, "other": two}).dropna().reset_index()


def added(frames: Frames, variant: str, other: str, column: str, **which: Any) -> Middle:
    """Return the median of `variant` minus `other` in a column. The median is taken over the route changes."""
    both = against(frames, variant, other, column, **which)
    return middle(both["one"] - both["other"])


def lost_ratio(frames: Frames, variant: str, reference: str, **which: Any) -> Middle:
    """Return the payload that the reference delivers, minus the payload that a variant delivers. The result is a share
    of the path's capacity in the `AFTER_S` seconds after the change.

    Returns
    -------
    Middle
        The median over changes, below 0 if the variant delivers more than the reference.
    """
    both = against(frames, variant, reference, "bytes", **which)
    room = rows(frames, variant, **which).set_index(KEY)["room_bytes"]
    keys = pd.MultiIndex.from_frame(both[KEY])
    return middle((both["other"] - both["one"]).to_numpy() / room.loc[keys].to_numpy())


def reference_of(variant: str) -> str:
    """Return the reference variant. The payload of `variant` is compared with the payload of the reference. The
    reference is the oracle (`hold` with `move`), or the same sender on the frozen path.

    The frozen path is the reference if the study also runs the variant on this path. This run contains the costs that
    the cure has without route changes, for example a later detection of losses.

    >>> reference_of("hold"), reference_of("pr")
    ('move-hold', 'frozen-pr')
    """
    return f"{FROZEN}-{variant}" if f"{FROZEN}-{variant}" in BY_NAME else BOTH


def per_hour(frames: Frames, variant: str, column: str, *, tcp: str, load: str = SATURATED) -> float:
    """Return the number of events per hour, averaged over the pairs of cities.

    For each pair of cities, events per route change are multiplied by route changes per hour, with the variant's
    routing. Route changes at which the sender's station switches satellites are averaged separately, because the queue
    is at this station.
    """
    margin = BY_NAME[variant].routing.get("margin")
    often = (route_changes.per_hour() if margin is None else route_changes.per_hour(margin)).set_index("pair")
    mine = rows(frames, variant, tcp=tcp, load=load)
    sums = []
    for pair, here in mine.groupby("pair"):
        at_sender = often.loc[pair, "at_sender"]
        changes = {True: at_sender, False: often.loc[pair, list(DIRECTIONS)].sum() - at_sender}
        # If routing has a margin, a path changes only when the path breaks. Some runs with a margin contain no change,
        # so the mean is divided by the share of runs with a change.
        happened = here.groupby("at_sender")["route_changes"].mean()
        hourly = 0.0
        for place, mean in here.groupby("at_sender")[column].mean().items():
            share = happened[place] if margin is not None else 1.0
            if share > 0:
                hourly += changes[bool(place)] * mean / share
        sums.append(hourly)
    return float(pd.Series(sums).mean()) if sums else float("nan")


def listed(values: Mapping[str, Any], form: str = "{}") -> str:
    """Return a text such as `Reno 1, CUBIC 2`."""
    return ", ".join(f"{name} {form.format(value)}" for name, value in values.items())


def sums_by_tcp(frames: Frames, variant: str, column: str) -> dict[str, float]:
    """Return the sum of a column over the changes at saturation, by the label of the TCP. TCPs without runs are left
    out."""
    sums = {TCP_LABELS[tcp]: total(frames, variant, column, tcp=tcp) for tcp in TCPS}
    return {name: value for name, value in sums.items() if value == value}


def present(frames: Frames, names: Sequence[str], load: str = SATURATED) -> list[str]:
    """Return those of `names` that have runs at this load, in the given order."""
    frame: pd.DataFrame = frames["around"]
    have = set(frame[frame["load"] == load]["variant"])
    return [name for name in names if name in have]
