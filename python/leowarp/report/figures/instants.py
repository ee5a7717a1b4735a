# SPDX-License-Identifier: Apache-2.0
"""Choose the route change at which figures show several runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from leowarp.base import units
from leowarp.base.errors import ScenarioError
from leowarp.report.labels import by_run, worded
from leowarp.results.run import Run

RULE = (
    "of the instants at which a path changed in most of the runs, the one with the most late packets over all runs, "
    "then with the most lost, then the earliest"
)


def hits(run: Run) -> dict[int, tuple[int, int]]:
    """Return the late and lost packets at each route change of a view's flow, by its time in ns."""
    changes = run.changes
    # The numbers of late and lost packets are null if the run did not observe single packets (observe.truth = false).
    # When changes are compared, null is replaced by 0. No page shows this 0 as a number of packets.
    late, lost = (changes[name].fillna(0).astype("int64") for name in ("late_pkts", "lost_pkts"))
    return {int(t_ns): (int(a), int(b)) for t_ns, a, b in zip(changes["t_ns"], late, lost, strict=True)}


def hits_of_run(group: Sequence[Run]) -> dict[int, tuple[int, int]]:
    """Return the sums of `hits` over several flows."""
    sums: dict[int, tuple[int, int]] = {}
    for run in group:
        for t_ns, (late, lost) in hits(run).items():
            before = sums.get(t_ns, (0, 0))
            sums[t_ns] = before[0] + late, before[1] + lost
    return sums


def hit_hardest_first(of_instants: Mapping[int, tuple[int, int]]) -> list[int]:
    """Return the times of the changes: first the most late packets, then the most lost, then the earliest change."""
    # Late packets are compared first, because the route change causes them. Most packets that are lost near a change
    # are dropped by a full queue, independently of the change (docs/concepts/truth.md, "The table of route changes").
    return sorted(of_instants, key=lambda t_ns: (-of_instants[t_ns][0], -of_instants[t_ns][1], t_ns))


def common_instant(views: Sequence[Run]) -> int | None:
    """Return the time in ns at which a figure shows several runs side by side, or None if no path ever changed."""
    sums = hits_of_run(views)
    if not sums:
        return None
    each = [hits_of_run(group) for group in by_run(views)]
    runs = {t_ns: sum(t_ns in of_run for of_run in each) for t_ns in sums}
    # The choice is limited to the times at which the largest number of runs had a change. If only one run had a change
    # at the chosen time, the figure would show no change for other runs.
    most = max(runs.values())
    return hit_hardest_first({t_ns: both for t_ns, both in sums.items() if runs[t_ns] == most})[0]


def chosen_instant_s(views: Sequence[Run], text: str) -> float:
    """Convert the user's `text` to a time in s. The text is a time such as "150 s", or the number (from 1) of a route
    change.

    Raises ScenarioError if no change has this number, or if the time is outside of a run.
    """
    views = [view for run in views for view in _flows_of(run)]
    instants = sorted({t_ns for view in views for t_ns in hits(view)})
    if re.fullmatch(r"\s*\d+\s*", text):
        number = int(text)
        if not 1 <= number <= len(instants):
            shown = ", ".join(f"{place}: {t_ns / 1e9:g} s" for place, t_ns in enumerate(instants[:8], 1))
            more = f", and {len(instants) - 8} more" if len(instants) > 8 else ""
            raise ScenarioError(
                f"cannot show change {number} of these runs: their paths changed at {len(instants)} instants",
                hint=f"{shown}{more}; or a time: --change {'150 s'!r}" if instants else "a time: --change '150 s'",
            )
        return instants[number - 1] / 1e9
    try:
        t_ns = int(units.TIME.parse(text))
    except ScenarioError as error:
        raise ScenarioError(
            f"cannot show the runs around --change {text}: {error.message}",
            hint="the number of a change, as --change 2, or a time with its unit, as --change '150 s'",
        ) from error
    # Every figure has a panel for each run, so the time must be before the end of the shortest run.
    end_ns = min(view.end_ns for view in views)
    if not 0 <= t_ns < end_ns:
        raise ScenarioError(
            f"cannot show the runs around {t_ns / 1e9:g} s: the shortest of them lasts {end_ns / 1e9:g} s",
            hint=f"a time from 0 s to {end_ns / 1e9:g} s",
        )
    return t_ns / 1e9


def sentence(views: Sequence[Run], change_s: float | None) -> str:
    """Return a sentence that says which time the figures around route changes show. Without a change, return ""."""
    if change_s is not None:
        return f"Figures around a change show all runs at {change_s:g} s, as asked for."
    t_ns = common_instant([view for run in views for view in _flows_of(run)])
    if t_ns is None:
        return ""
    text = f"Figures around a route change show all runs at {t_ns / 1e9:g} s: {RULE} (another: --change)."
    return worded(views, text)


def _flows_of(run: Run) -> list[Run]:
    return [run] if len(run.tcp_flows) < 2 else [run.of_flow(number) for number in run.tcp_flows]
