# SPDX-License-Identifier: Apache-2.0
"""The measures, with the names that the rules of cases use. A measure is a function of a run. Some measures also need a
control run."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from leowarp.base import units
from leowarp.base.errors import ScenarioError
from leowarp.base.spelling import one_of
from leowarp.exam.measures import goodput, losses, sharing
from leowarp.exam.measures.reading import Measured
from leowarp.results.run import Run


@dataclass(frozen=True)
class Measure:
    """A measure of the exam.

    function: The function `function(run, **arguments) -> Measured`. A function with an argument `control` compares the
        run with the control run.
    quantity: The limit of a case may have any unit of this quantity. `Measured.value` has its base unit.
    """

    function: Callable[..., Measured]
    quantity: units.Quantity

    @property
    def has_control(self) -> bool:
        return "control" in inspect.signature(self.function).parameters

    @property
    def arguments(self) -> dict[str, str]:
        """Return the arguments' names in the function (`from_ns`) by their names in a case (`from`)."""
        names = [name for name in inspect.signature(self.function).parameters if name not in ("run", "control")]
        return {name.removesuffix("_ns").removesuffix("_ratio"): name for name in names}

    @property
    def about(self) -> str:
        """Return the first line of the function's docstring, which describes the measure."""
        return (inspect.getdoc(self.function) or "").splitlines()[0]

    def of(self, run: Run, control: Run | None, arguments: Mapping[str, Any]) -> Measured:
        """Measure a run, with arguments from `parsed`."""
        return self.function(run, **arguments, **({"control": control} if self.has_control else {}))

    def parsed(self, written: Mapping[str, Any]) -> dict[str, Any]:
        """Convert the arguments from the text of a case's rule to the function's types.

        Raises ScenarioError if an argument is missing, unknown or has the wrong unit.
        """
        names = self.arguments
        for key in written:
            if key not in names:
                raise ScenarioError(f"there is no argument {key!r}", hint=one_of(key, names))
        for key in names:
            if key not in written:
                raise ScenarioError(f"the argument {key!r} is missing", hint=f"it takes {', '.join(names)}")
        return {names[key]: _argument(names[key], value) for key, value in written.items()}


def _argument(name: str, value: Any) -> Any:
    if name.endswith("_ns"):
        return units.TIME.parse(value)
    return units.RATIO.parse(value) if name.endswith("_ratio") else value


MEASURES: Mapping[str, Measure] = {
    "used": Measure(goodput.used, units.RATIO),
    "worst_second": Measure(goodput.worst_second, units.RATIO),
    "offered": Measure(goodput.offered, units.RATIO),
    "time_to": Measure(goodput.time_to, units.TIME),
    "silence": Measure(goodput.silence, units.TIME),
    "delay_beside": Measure(sharing.delay_beside, units.TIME),
    "lost": Measure(losses.lost, units.RATIO),
    "spurious": Measure(losses.spurious, units.RATIO),
    "sent_rate": Measure(losses.sent_rate, units.PACKET_RATE),
    "least_share": Measure(sharing.least_share, units.RATIO),
    "kept": Measure(sharing.kept, units.RATIO),
    "completion": Measure(sharing.completion, units.TIME),
    "completion_beside": Measure(sharing.completion_beside, units.RATIO),
}
"""All measures by name."""


def in_words(quantity: units.Quantity, value: float | None) -> str:
    """Return a measured value with its unit as text. The value has three digits, or four digits for packets per second.

    >>> in_words(units.RATIO, 0.83123), in_words(units.TIME, 38_843_200.0), in_words(units.TIME, 3.25e9)
    ('83.1 %', '38.8 ms', '3.25 s')
    """
    if value is None:
        return "never"
    if quantity is units.RATIO:
        return f"{value * 100:.3g} %" if value < 10 else f"{value * 100:,.0f} %"
    if quantity is units.TIME:
        return f"{value / 1e9:.3g} s" if value >= 1e9 else f"{value / 1e6:.3g} ms"
    return f"{value:,.4g} pkts/s"
