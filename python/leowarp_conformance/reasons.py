# SPDX-License-Identifier: Apache-2.0
"""The known reasons why scripts fail, from `reasons.toml`. This module compares them with the scripts that do fail."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leowarp.base.errors import ScenarioError
from leowarp_conformance.ladder import Outcome
from leowarp_conformance.scripts import ScriptSet

FILE = Path(__file__).with_name("reasons.toml")
OURS = "ours"
KINDS = ("newer kernel", "older kernel", "missing option", "missing device feature", "driver's options", OURS)


@dataclass(frozen=True)
class Reason:
    """An entry of `reasons.toml`. It says why a script fails.

    origin: The origin of the set of scripts.
    script: The path of the script, relative to the top directory of its set.
    kind: The kind, one of `KINDS`.
    reason: The reason as a sentence.
    ips, kernels: The IP versions and kernels for which the reason applies. None means all.
    """

    origin: str
    script: str
    kind: str
    reason: str
    ips: tuple[str, ...] | None = None
    kernels: tuple[str, ...] | None = None

    def is_of(self, scripts: ScriptSet) -> bool:
        """Return true if the reason applies to this set of scripts."""
        ip_fits = self.ips is None or scripts.ip in self.ips
        return self.origin == scripts.origin and ip_fits and (self.kernels is None or scripts.kernel in self.kernels)


@dataclass(frozen=True)
class Verdict:
    """The outcomes of all scripts of a set, and the known reasons.

    outcomes: One outcome per script, in the order of the scripts.
    reasons: The reasons that apply to this set, by script.
    """

    scripts: ScriptSet
    outcomes: tuple[Outcome, ...]
    reasons: dict[str, Reason]

    def passed(self, tolerance_us: int) -> int:
        """Return the number of scripts that pass with this tolerance."""
        return sum(each.tolerance_us is not None and each.tolerance_us <= tolerance_us for each in self.outcomes)

    @property
    def failed(self) -> list[Outcome]:
        """Return the outcomes of scripts that fail with the settings of their driver."""
        return [each for each in self.outcomes if each.failure is not None]

    def faults(self) -> list[str]:
        """Return sentences about three problems: failures without a known reason, failures that leowarp causes, and
        scripts that pass although a reason is known."""
        found = []
        for each in self.failed:
            assert each.failure is not None
            reason = self.reasons.get(each.script)
            if reason is None:
                found.append(f"{self.scripts.name}: {each.script} fails without a known reason: {each.failure.why}")
            elif each.failure.hung or reason.kind == OURS:
                found.append(f"{self.scripts.name}: {each.script} fails by a fault of leowarp: {each.failure.why}")
        failing = {each.script for each in self.failed}
        for script in self.reasons.keys() - failing:
            does = "passes" if script in self.scripts.scripts else "is not there"
            found.append(f"{self.scripts.name}: {script} {does}, and {FILE.name} says that it fails")
        return found


def reasons(file: Path = FILE) -> list[Reason]:
    """Return all reasons in a file.

    Raises ScenarioError if an entry lacks a key, or has an unknown key or an unknown kind.
    """
    listed = []
    for number, entry in enumerate(tomllib.loads(file.read_text(encoding="utf-8")).get("failure", []), start=1):
        values: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in entry.items()}
        try:
            reason = Reason(**values)
        except TypeError as error:
            raise ScenarioError(f"reading {file}: entry {number}: {error}") from error
        if reason.kind not in KINDS:
            raise ScenarioError(f'reading {file}: {reason.script}: "{reason.kind}" is none of {", ".join(KINDS)}')
        listed.append(reason)
    return listed


def verdict(scripts: ScriptSet, outcomes: Iterable[Outcome], listed: Sequence[Reason]) -> Verdict:
    """Combine the outcomes of a set of scripts with the known reasons for this set."""
    own = {reason.script: reason for reason in listed if reason.is_of(scripts)}
    return Verdict(scripts, tuple(outcomes), own)
