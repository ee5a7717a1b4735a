# SPDX-License-Identifier: Apache-2.0
"""A claim of a study, its test and its outcome.

Each test is written down before its result is known, and printed with the result: series, window, threshold. A result
that depends on a threshold is given for two thresholds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from leowarp.base.errors import TraceError

Verdict = Literal["holds", "partly", "does not hold", "cannot be told"]
"""A claim with several parts may hold partly. "Cannot be told" does not count against the study."""

Sample = Mapping[str, Any]
"""One sample: either runs by slug (`RunView`), or data sets by name for a study of many runs."""


@dataclass(frozen=True)
class Outcome:
    """Result of a test.

    Attributes
    ----------
    verdict : str
        "cannot be told" if the runs lack something that the test needs.
    measured : str
        The measured result in words, with the numbers that decided.
    numbers : dict
        The measured numbers for programs; the names include the units.
    cause : str
        Reason why a claim holds only partly or not at all, from counts in the trace. Empty if the claim holds.
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
        Number as in the list of claims, e.g. "1.4".
    says : str
        Statement of the paper.
    figure : str
        Figure of the paper that the claim is about.
    test : str
        Series, window and thresholds of the test.
    runs : tuple of str
        Slugs of the runs, or names of the data sets, that the test looks at.
    evaluate : callable
        `evaluate(sample) -> Outcome`.
    by_construction : bool
        True if the test compares a value with its own source: a library with the definitions that it implements, or a
        profile with the numbers set in it. Verdicts of such claims are counted separately.
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
    """The claim's figure in words.

    >>> in_words("4"), in_words("3, 4"), in_words("II"), in_words("text")
    ('figure 4', 'figures 3, 4', 'section II', 'text')
    """
    if re.fullmatch(r"\d+\w?(, \d+\w?)*", figure):
        return f"figure{'s' if ',' in figure else ''} {figure}"
    return f"section {figure}" if re.fullmatch(r"[IVX]+", figure) else figure


def judged(claim: Claim, samples: Sequence[tuple[str, Sample]]) -> dict[str, Any]:
    """Evaluate a claim in its first sample; the other samples that have its runs show the spread.

    Raises TraceError if no sample has all runs that the test needs.
    samples: sequence of (name, sample). The study's own sample comes first.
    Returns: A row of `claims.json`: `ROW_KEYS` and `runs`; `verdict`, `measured`, `numbers` and `cause` of the first
        sample that has the claim's runs; `samples`, the same four values for each sample, with its name as `sample`.
    """
    outcomes: list[tuple[str, Outcome]] = []
    for name, sample in samples:
        # Further samples have only the study's own runs, so claims about other runs are checked in the first sample. A
        # claim that needs no run is the same in each sample.
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
    # The first sample is the study's own; further samples show how much of the result is chance.
    row |= {"runs": list(claim.runs)} | asdict(outcomes[0][1])
    row["samples"] = [{"sample": name} | asdict(outcome) for name, outcome in outcomes]
    return row


def holds_if(parts: Mapping[str, bool]) -> Verdict:
    """Verdict over the parts of a claim. All are true: holds; some are true: partly; none is true: does not hold.

    >>> holds_if({"lowest mean": True, "largest shortfall": False})
    'partly'
    """
    passed = sum(bool(value) for value in parts.values())
    # The parts have no weights, because deciding afterwards which part matters more would be biased.
    if passed == len(parts):
        return "holds"
    return "partly" if passed else "does not hold"


def not_so(parts: Mapping[str, bool]) -> str:
    """Parts of a claim that do not hold, as text for its cause; empty if all hold.

    >>> not_so({"late": False, "lost": True, "long": False}), not_so({"late": True})
    ('not so: late, long', '')
    """
    failed = [name for name, good in parts.items() if not good]
    return f"not so: {', '.join(failed)}" if failed else ""
