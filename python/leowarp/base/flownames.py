# SPDX-License-Identifier: Apache-2.0
"""The names of flows in all outputs. A flow without a name in the scenario is named by its stations and its congestion
control, or by its kind.

If two flows would have the same name, the flow's number is appended.

>>> flow_names([FlowKey(0, "Madrid", "Tokyo", "tcp", "cubic"), FlowKey(1, "Madrid", "Tokyo", "tcp", "bbr")])
['Madrid to Tokyo, cubic', 'Madrid to Tokyo, bbr']
>>> flow_names([FlowKey(0, "Madrid", "Tokyo", "tcp", "cubic", "upload")])
['upload']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, NamedTuple

from leowarp.base.spelling import guess

_MOST_NAMES = 8
"""A message lists at most this number of flow names."""


class FlowKey(NamedTuple):
    """The fields of a flow that together identify it within a run. None means unknown or absent."""

    number: int
    source: str | None
    destination: str | None
    kind: str | None
    congestion_control: str | None
    name: str | None = None

    @classmethod
    def of_summary(cls, flow: Mapping[str, Any]) -> FlowKey:
        ends = flow.get("source"), flow.get("destination")
        return cls(flow.get("flow", 0), *ends, flow.get("kind"), flow.get("congestion_control"), flow.get("name"))

    @classmethod
    def of_plan(cls, number: int, flow: Any) -> FlowKey:
        """Return the `FlowKey` of a flow in a plan (`scenario.Flow`)."""
        control = flow.congestion_control if flow.kind == "tcp" else None
        return cls(number, flow.source, flow.destination, flow.kind, control, flow.name)

    @property
    def pair(self) -> str | None:
        """The flow's source and destination as text, or None if one of them is unknown."""
        return None if None in (self.source, self.destination) else f"{self.source} to {self.destination}"

    @property
    def sort(self) -> str | None:
        """The congestion control if the flow is a TCP flow, otherwise the flow's kind."""
        return self.congestion_control or self.kind


def named(flow: FlowKey) -> str:
    """Return the name and number of a flow, for example "Madrid to Tokyo, cubic (flow 3)" or "upload (flow 3)"."""
    return _numbered(flow, plain_name(flow))


def common_name(flows: Sequence[FlowKey], *, alone: bool) -> str:
    """Return a name for a flow that several runs have. The name contains each of these that is equal in all runs: the
    flow's name, pair and congestion control.

    flows: The flow's key in each run. There is at least one run.
    alone: Whether this is the only flow of its kind. If so, its name and its pair of stations identify the flow.

    >>> common_name([FlowKey(2, "A", "B", "tcp", "cubic"), FlowKey(2, "A", "B", "tcp", "reno")], alone=False)
    'A to B (flow 2)'
    """
    parts = [{flow.name for flow in flows}, {flow.pair for flow in flows}]
    parts += [] if alone else [{flow.congestion_control for flow in flows}]
    same = [texts.pop() for texts in parts if len(texts) == 1]
    words = ", ".join(text for text in same if text is not None)
    return words if alone or len({flow.number for flow in flows}) > 1 else _numbered(flows[0], words)


def matched(runs: Sequence[Sequence[FlowKey]]) -> list[list[int]]:
    """Return indexes that say which flows of several runs are compared. Flows with the same index are compared.

    If an earlier run has a flow with the same name, the flow gets the index of that flow. If no earlier run has this
    name, the index is the flow's number. If another flow already has this index, a new index is used.

    Returns: For each run, one index for each flow. The flows of a run have different indexes.

    >>> up, down = FlowKey(0, "A", "B", "tcp", "cubic", "up"), FlowKey(1, "B", "A", "tcp", "cubic", "down")
    >>> matched([[up, down], [down._replace(number=0), up._replace(number=1)]])
    [[0, 1], [1, 0]]
    """
    names: dict[int, str] = {}
    new = count(1 + max((flow.number for flows in runs for flow in flows), default=0))
    placed = []
    for flows in runs:
        mine: dict[int, int] = {}
        by_name = {name: place for place, name in names.items()}
        taken: set[int] = set()
        # Flows whose name already has an index are handled first. Otherwise, a flow without a name could take the index
        # of such a flow.
        for flow in sorted(flows, key=lambda flow: (flow.name not in by_name, flow.number)):
            place = flow.number if flow.name is None else by_name.get(flow.name, flow.number)
            if place in taken or (flow.name is not None and names.get(place, flow.name) != flow.name):
                place = next(new)
            mine[flow.number] = place
            taken.add(place)
            if flow.name is not None:
                names[place] = flow.name
        placed.append([mine[flow.number] for flow in flows])
    return placed


def flow_names(flows: Sequence[FlowKey], *, pairs: bool = True) -> list[str]:
    """Return a name for each flow of a run, for example "Madrid to Tokyo, cubic". "(flow 3)" is appended if another
    flow has this name.

    flows: All flows of the run, even if only some are shown. A flow always has the same name.
    pairs: Whether names contain the pair of stations. If a title already contains the pair, names need not contain it.
    """
    plain = [plain_name(flow, pairs=pairs) for flow in flows]
    times = Counter(plain)
    return [
        _numbered(flow, name) if times[name] > 1 or not name else name for name, flow in zip(plain, flows, strict=True)
    ]


def plain_name(flow: FlowKey, *, pairs: bool = True) -> str:
    """Return the name of a flow without the flow's number. For a flow without any known field, the name is ""."""
    parts = (flow.pair if pairs else None, flow.sort) if flow.name is None else (flow.name,)
    return ", ".join(part for part in parts if part is not None)


def which_flows(asked: object, names: Sequence[str | None], count: int) -> str:
    """Return a hint that lists the flows of a run. It is for a user who named a flow that does not exist.

    asked: The name or number that the user typed.
    names: The names of the flows in the plan.
    count: The number of flows in the trace: the plan's flows and the connections of programs.
    """
    known = [name for name in names if name is not None]
    have = "only flow 0" if count == 1 else f"flows 0 to {count - 1}"
    called = f"; names: {', '.join(known[:_MOST_NAMES])}" if known else ""
    more = " and so on" if len(known) > _MOST_NAMES else ""
    return f"{guess(asked, known)}the run has {have}{called}{more}"


def _numbered(flow: FlowKey, name: str) -> str:
    return f"{name} (flow {flow.number})" if name else f"flow {flow.number}"
