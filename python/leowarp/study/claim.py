# SPDX-License-Identifier: Apache-2.0
"""A claim of a study, how it is tested, and what came out.

A test is written down before its result is known, and printed with it: which series, which window, which threshold.
A result that depends on a threshold is given for two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from leowarp.base.errors import TraceError

Verdict = Literal["holds", "partly", "does not hold", "cannot be told"]
"""A claim of several parts may hold partly; "cannot be told" is no verdict against the study."""

Sample = Mapping[str, Any]
"""The runs of one sample by slug (`RunView`), or the data sets of a study of many runs by name."""


@dataclass(frozen=True)
class Outcome:
    """Result of a test.

    Attributes
    ----------
    verdict : str
        "cannot be told" if a run has nothing that the test could be applied to.
    measured : str
        In words, with the numbers that decided.
    numbers : dict
        The same for machines, units in the names.
    cause : str
        For a claim that holds partly or not: why, from counts in the trace. Empty if it holds.
    """

    verdict: Verdict
    measured: str
    numbers: dict[str, Any] = field(default_factory=dict)
    cause: str = ""


@dataclass(frozen=True)
class Claim:
    """One claim.

    Attributes
    ----------
    number : str
        As in the list of claims, e.g. "1.4".
    says : str
        What the paper says.
    figure : str
        Where.
    test : str
        Series, window, thresholds.
    runs : tuple of str
        Slugs of the runs, or names of the data sets, that the test looks at.
    evaluate : callable
        `evaluate(sample) -> Outcome`.
    by_construction : bool
        The test compares something with what it was made from: a library with the definitions that it implements, a
        profile with the numbers that it was set to. Such verdicts are counted apart.
    """

    number: str
    says: str
    figure: str
    test: str
    runs: tuple[str, ...]
    evaluate: Callable[[Sample], Outcome]
    by_construction: bool = False


ROW_KEYS = ("number", "says", "figure", "test", "by_construction")
"""Fields that a row of `claims.json` copies from its claim."""


def in_words(figure: str) -> str:
    """A `Claim`'s figure in words.

    >>> in_words("4"), in_words("3, 4"), in_words("II"), in_words("text")
    ('figure 4', 'figures 3, 4', 'section II', 'text')
    """
    if re.fullmatch(r"\d+\w?(, \d+\w?)*", figure):
        return f"figure{'s' if ',' in figure else ''} {figure}"
    return f"section {figure}" if re.fullmatch(r"[IVX]+", figure) else figure


def judged(claim: Claim, samples: Sequence[tuple[str, Sample]]) -> dict[str, Any]:
    """A claim with its outcome in the first sample and, as spread, in those others that have its runs.

    Raises TraceError if no sample has all runs that the test looks at.
    samples: sequence of (name, sample). The study's own first.
    Returns: A row of `claims.json`: `ROW_KEYS`, `runs`; `verdict`, `measured`, `numbers`, `cause` of the first sample
        that has the claim's runs; `samples`, the same four of every one, with its name as `sample`.
    """
    outcomes: list[tuple[str, Outcome]] = []
    for name, sample in samples:
        # Further samples have the study's own runs alone, so claims on other runs are checked in the first. A claim
        # that needs no run is the same in each.
        if outcomes and not claim.runs:
            break
        if all(slug in sample for slug in claim.runs):
            outcomes.append((name, claim.evaluate(sample)))
    if not outcomes:
        missing = [slug for slug in claim.runs if all(slug not in sample for _, sample in samples)]
        raise TraceError(
            f"cannot judge claim {claim.number}: there is no run {', '.join(missing)}",
            hint="reproduce the study anew: the missing runs are made, the others kept",
        )
    row: dict[str, Any] = {key: getattr(claim, key) for key in ROW_KEYS}
    # The first sample is the study's own; further ones show how much of it is chance.
    row |= {"runs": list(claim.runs)} | asdict(outcomes[0][1])
    row["samples"] = [{"sample": name} | asdict(outcome) for name, outcome in outcomes]
    return row


def holds_if(parts: Mapping[str, bool]) -> Verdict:
    """All parts: holds; some: partly; none: does not hold.

    >>> holds_if({"lowest mean": True, "largest shortfall": False})
    'partly'
    """
    passed = sum(bool(value) for value in parts.values())
    # Without weights: which part matters more would be a judgement after the fact.
    if passed == len(parts):
        return "holds"
    return "partly" if passed else "does not hold"


def not_so(parts: Mapping[str, bool]) -> str:
    """Parts of a claim that do not hold, for its cause; empty if all do.

    >>> not_so({"late": False, "lost": True, "long": False}), not_so({"late": True})
    ('not so: late, long', '')
    """
    failed = [name for name, good in parts.items() if not good]
    return f"not so: {', '.join(failed)}" if failed else ""
