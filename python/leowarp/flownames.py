# SPDX-License-Identifier: Apache-2.0
"""What a flow is called, everywhere: by its pair, its kind or congestion control, and its number where these are equal.

>>> flow_names([FlowKey(0, "Madrid", "Tokyo", "tcp", "cubic"), FlowKey(1, "Madrid", "Tokyo", "tcp", "bbr")])
['Madrid to Tokyo, cubic', 'Madrid to Tokyo, bbr']
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class FlowKey(NamedTuple):
    """What tells a flow from the others of its run; None: unknown, or it has none."""

    number: int
    source: str | None
    destination: str | None
    kind: str | None
    congestion_control: str | None

    @classmethod
    def of_summary(cls, flow: Mapping[str, Any]) -> FlowKey:
        """Of a flow as `summary.json` has it."""
        ends = flow.get("source"), flow.get("destination")
        return cls(flow.get("flow", 0), *ends, flow.get("kind"), flow.get("congestion_control"))

    @property
    def pair(self) -> str | None:
        """From where to where."""
        return None if None in (self.source, self.destination) else f"{self.source} to {self.destination}"

    @property
    def sort(self) -> str | None:
        """The congestion control of a TCP flow, else the kind."""
        return self.congestion_control or self.kind


def named(flow: FlowKey) -> str:
    """One flow by all that tells it from others, such as "Madrid to Tokyo, cubic (flow 3)".

    Returns
    -------
    name : str
        With the number, by which `--flow` and the tables of a trace know it.
    """
    words = ", ".join(part for part in (flow.pair, flow.sort) if part is not None)
    return f"{words} (flow {flow.number})" if words else f"flow {flow.number}"


def flow_names(flows: Sequence[FlowKey], *, pairs: bool = True) -> list[str]:
    """A name for each flow of a run, such as "Madrid to Tokyo, cubic"; with "(flow 3)" where others are called so, too.

    Parameters
    ----------
    flows : sequence of FlowKey
        All of the run's: a flow has one name, whichever of them are shown.
    pairs : bool
        Without, the pair is left out: where a title says it.
    """
    parts = [(flow.pair if pairs else None, flow.sort) for flow in flows]
    plain = [", ".join(part for part in both if part is not None) for both in parts]
    count = Counter(plain)
    return [
        (f"{name} (flow {flow.number})" if name else f"flow {flow.number}") if count[name] > 1 or not name else name
        for name, flow in zip(plain, flows, strict=True)
    ]
