# SPDX-License-Identifier: Apache-2.0
"""The parameter sets of the land-mobile-satellite model. leowarp's own sets are in environments.toml, which names the
source of each number. A user's sets are in a TOML or JSON file of the same form."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leowarp.base import plainfiles, tomltext
from leowarp.base.errors import ScenarioError
from leowarp.base.spelling import guess, one_of
from leowarp.timeline.channel.loo import Loo

OURS = Path(__file__).with_name("environments.toml")

ROW_SUM_TOLERANCE = 5e-4
"""Published probabilities have four digits. The sum of three such probabilities is therefore off by at most 1.5e-4. The
tolerance is larger than 1.5e-4, because in some rows two probabilities have only three digits."""

STATES_MAX = 127
"""The largest number of states. A power series stores the state of each sample in one signed byte."""


@dataclass(frozen=True)
class Environment:
    """A Markov chain over states. Each state has its own Loo distribution.

    name, elevation_deg: The name of the environment, and the elevation of the satellite.
    states: The n states.
    transitions: tuple of n tuples of n floats. The probability that the chain goes from the row's state to the column's
        state in one frame. Each row sums to 1.
    correlation_m, transition_m, state_lengths_m: float, float, tuple of n floats. None means unknown. The correlation
        distance of the direct signal, the length of the slope between two states, and the shortest length of each
        state.
    source, note: The publication that gives the numbers, and doubts about these numbers.
    """

    name: str
    elevation_deg: float
    states: tuple[Loo, ...]
    transitions: tuple[tuple[float, ...], ...]
    correlation_m: float | None = None
    state_lengths_m: tuple[float, ...] | None = None
    transition_m: float | None = None
    source: str = ""
    note: str = ""

    @property
    def chain(self) -> NDArray[np.float64]:
        """`transitions` as an array of shape (n, n)."""
        return np.array(self.transitions, dtype=np.float64)

    @property
    def state_shares(self) -> NDArray[np.float64]:
        """The chain's stationary distribution, shape (n,): the share of frames in each state."""
        n = len(self.states)
        # There is one more equation (w P = w and sum w = 1) than there are unknowns. Least squares gives the exact
        # solution, except for rounding.
        equations = np.vstack([self.chain.T - np.eye(n), np.ones(n)])
        return np.linalg.lstsq(equations, np.append(np.zeros(n), 1.0), rcond=None)[0]


def environments(path: Path | None = None) -> tuple[Environment, ...]:
    """Return every parameter set in a file, or leowarp's own sets if `path` is None.

    Raises ScenarioError if the file cannot be read, or has unknown or missing keys, or rows that do not sum to 1. The
    error is also raised if a chain does not reach each state.
    """
    return _ours() if path is None else _read(path)


def environment(name: str, elevation_deg: float, path: Path | None = None) -> Environment:
    """Return an environment's parameters for exactly this elevation. Parameters are not interpolated between two
    elevations.

    Raises ScenarioError: For the same reasons as `environments`; also if there is no such set, with a list of the
        existing sets.

    >>> environment("intermediate-tree-shadowed", 40).state_lengths_m is not None
    True
    """
    known = environments(path)
    where = "the tables" if path is None else str(path)
    named = [entry for entry in known if entry.name == name]
    if not named:
        raise ScenarioError(
            f"environment {name!r} is not in {where}",
            f"{guess(name, [entry.name for entry in known])}there is: {_listed(known)}",
        )
    # Elevations are compared for exact equality: the published angles are whole degrees, and no measurement exists for
    # an angle between two of them.
    for entry in named:
        if entry.elevation_deg == elevation_deg:
            return entry
    raise ScenarioError(
        f"environment {name!r} at an elevation of {elevation_deg:g} degrees is not in {where}",
        f"there is: {_listed(known)}; a set of your own goes into a file (docs/concepts/mobile-channel.md)",
    )


def _listed(known: tuple[Environment, ...]) -> str:
    angles: dict[str, list[str]] = {}
    for entry in known:
        angles.setdefault(entry.name, []).append(f"{entry.elevation_deg:g}")
    return ", ".join(f"{name} ({'/'.join(values)} deg)" for name, values in angles.items())


@cache
def _ours() -> tuple[Environment, ...]:
    return _read(OURS)


def _read(path: Path) -> tuple[Environment, ...]:
    try:
        text = plainfiles.read(path, plainfiles.MOST_INPUT_BYTES, links=True).decode("utf-8-sig")
        document = json.loads(text) if path.suffix == ".json" else tomltext.loads(text)
    except OSError as error:
        raise ScenarioError(f"reading environments: {path}: {error.strerror}", _HINT) from error
    except (ValueError, RecursionError) as error:  # The text is not valid JSON or TOML, or its nesting is too deep.
        raise ScenarioError(f"reading environments: {path}: {error}", _HINT) from error
    entries = document.get("environments") if isinstance(document, dict) else None
    if not isinstance(entries, list) or not entries:
        raise ScenarioError(f"{path}: no list `environments`", _HINT)
    several: list[Environment] = []
    for number, entry in enumerate(entries, 1):
        one = _Entry(entry, f"{path}: environment {number}").environment()
        if any((one.name, one.elevation_deg) == (other.name, other.elevation_deg) for other in several):
            raise ScenarioError(f"{path}: {one.name!r} at {one.elevation_deg:g} degrees is there twice", _HINT)
        several.append(one)
    return tuple(several)


class _Entry:
    """A table of the file, in which each key is checked."""

    def __init__(self, entry: Any, where: str) -> None:
        if not isinstance(entry, dict):
            raise ScenarioError(f"{where} is not a table", _HINT)
        self.entry, self.where = entry, where
        self._only(entry, _KEYS, where)

    def environment(self) -> Environment:
        """Return the environment that this table of the file describes."""
        name = self._text("name")
        self.where = f"{self.where} ({name})"
        states = self._states()
        lengths = self.entry.get("state_lengths_m")
        return Environment(
            name=name,
            elevation_deg=self._number(self.entry, "elevation_deg", 0, 90),
            states=states,
            transitions=self._transitions(len(states)),
            correlation_m=self._length("correlation_m", 1e-3),
            state_lengths_m=None if lengths is None else self._lengths(lengths, len(states)),
            # A slope of 0 m is a step; every other length must be positive.
            transition_m=self._length("transition_m", 0),
            source=self._text("source", ""),
            note=self._text("note", ""),
        )

    def _states(self) -> tuple[Loo, ...]:
        rows = self.entry.get("states")
        if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
            raise ScenarioError(f"{self.where}: `states` is not a list of tables", _HINT)
        if len(rows) > STATES_MAX:
            raise ScenarioError(f"{self.where}: {len(rows)} states, more than {STATES_MAX}", "fewer states")
        states = []
        for number, row in enumerate(rows, 1):
            self._only(row, _STATE_KEYS, f"{self.where}: state {number}")
            name = row.get("name", f"state {number}")
            if not isinstance(name, str):
                raise ScenarioError(f"{self.where}: the name of state {number} is not a text", _HINT)
            levels = {key: self._number(row, key, *bounds) for key, bounds in _LEVELS_DB.items()}
            states.append(Loo(name=name, **levels))
        return tuple(states)

    def _transitions(self, n: int) -> tuple[tuple[float, ...], ...]:
        rows = self.entry.get("transitions")
        if not isinstance(rows, list) or len(rows) != n or any(not isinstance(r, list) or len(r) != n for r in rows):
            raise ScenarioError(
                f"{self.where}: `transitions` is not {n} rows of {n} numbers, one for each state", _HINT
            )
        # The code below divides each row by its sum. The stationary distribution is defined only for rows that sum to
        # 1, and the sum of a row of printed digits may differ slightly from 1.
        shares = []
        for number, row in enumerate(rows, 1):
            values = [self._value(value, f"transitions, row {number}", 0, 1) for value in row]
            total = math.fsum(values)
            if abs(total - 1) > ROW_SUM_TOLERANCE:
                raise ScenarioError(
                    f"{self.where}: row {number} of `transitions` sums to {total:.6g}, not to 1",
                    "each row holds the probabilities of every next state, its own among them",
                )
            shares.append(tuple(value / total for value in values))
        # An entry of (1 + P)^n is positive if its row's state leads to its column's state in at most n steps.
        reached = np.linalg.matrix_power(np.eye(n) + np.array(shares), n) > 0
        if not reached.all():
            here, there = (int(i) + 1 for i in np.argwhere(~reached)[0])
            raise ScenarioError(
                f"{self.where}: from state {here} there is no way to state {there}, so the shares of the states are "
                "not defined by the chain",
                "leave out a state that does not occur",
            )
        return tuple(shares)

    def _lengths(self, values: Any, n: int) -> tuple[float, ...]:
        if not isinstance(values, list) or len(values) != n:
            raise ScenarioError(f"{self.where}: `state_lengths_m` is not a list of {n} lengths, one a state", _HINT)
        return tuple(self._value(value, "state_lengths_m", 1e-3, 1e6) for value in values)

    def _length(self, key: str, low: float) -> float | None:
        return None if key not in self.entry else self._number(self.entry, key, low, 1e6)

    def _text(self, key: str, default: str | None = None) -> str:
        value = self.entry.get(key, default)
        if not isinstance(value, str) or (default is None and not value):
            raise ScenarioError(f"{self.where}: `{key}` is not a text", _HINT)
        return value

    def _number(self, table: dict[str, Any], key: str, low: float, high: float) -> float:
        # Only a typing error exceeds the bounds.
        if key not in table:
            raise ScenarioError(f"{self.where}: `{key}` is missing", _HINT)
        return self._value(table[key], key, low, high)

    def _value(self, value: Any, what: str, low: float, high: float) -> float:
        # nan, and integers too large for a float, are rejected as well.
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < math.inf:
            raise ScenarioError(f"{self.where}: {what}: {value!r} is not a number", _HINT)
        if not low <= value <= high:
            raise ScenarioError(f"{self.where}: {what}: {value!r:.20} is not between {low:g} and {high:g}", _HINT)
        return float(value)

    @staticmethod
    def _only(table: dict[str, Any], keys: tuple[str, ...], where: str) -> None:
        # If a misspelt key were ignored, the key with the right spelling would seem to be missing.
        for key in table:
            if key not in keys:
                raise ScenarioError(f"{where}: unknown key {key!r}", one_of(key, keys, "the keys are"))


_KEYS = ("name", "elevation_deg", "states", "transitions", "correlation_m", "state_lengths_m", "transition_m",
         "source", "note")  # fmt: skip
# Bounds for levels of a radio link: a value outside of them is a typing error.
_LEVELS_DB = {"mean_db": (-200, 30), "deviation_db": (0, 30), "multipath_db": (-200, 30)}
_STATE_KEYS = ("name", *_LEVELS_DB)
_HINT = "the form of the file is that of our own tables: docs/concepts/mobile-channel.md"
