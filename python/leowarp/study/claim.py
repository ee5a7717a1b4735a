# SPDX-License-Identifier: Apache-2.0
"""A claim of a published study, the test that checks the claim, and the outcome of the test.

Each test (series, window, threshold) is written down before its result is known. If an outcome depends on a threshold,
the claim gives the outcomes for two thresholds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from leowarp.base.errors import TraceError

Verdict = Literal["holds", "partly", "does not hold", "cannot be told"]
"""The possible results of a claim's test. "partly" is for a claim with several parts of which only some hold. "Cannot
be told" means that runs are missing, which does not count against the published study."""

Sample = Mapping[str, Any]
"""The data for one check of all claims. The data are a mapping from the name of a run to its `Run`. In a study with
many runs, it maps the name of a data set to the data set."""


@dataclass(frozen=True)
class Outcome:
    """The result of a claim's test.

    Attributes
    ----------
    verdict : str
        One of `Verdict`. The verdict is "cannot be told" if the runs lack something that the test needs.
    measured : str
        The measured result in words, with the numbers that decided it.
    numbers : dict
        The measured numbers, for programs. Each name contains the unit.
    cause : str
        The reason why a claim holds only partly or not at all, based on counts in the trace. The text is empty if the
        claim holds.
    """

    verdict: Verdict
    measured: str
    numbers: dict[str, Any] = field(default_factory=dict)
    cause: str = ""


@dataclass(frozen=True)
class Claim:
    """A claim of a study.

    Attributes
    ----------
    number : str
        The number in the list of claims, for example "1.4".
    says : str
        The paper's statement.
    figure : str
        The figure of the paper to which the claim refers.
    test : str
        The text that describes the test: its series, window and thresholds.
    runs : tuple of str
        The names of the runs or data sets that the test needs.
    evaluate : callable
        The function `evaluate(sample) -> Outcome`.
    by_construction : bool
        True if the test compares a value with the source of this value. For example, a library is compared with the
        definitions that it implements, or a profile with its published numbers. Such claims hold by construction, and
        their verdicts are counted separately.
    """

    number: str
    says: str
    figure: str
    test: str
    runs: tuple[str, ...]
    evaluate: Callable[[Sample], Outcome]
    by_construction: bool = False


ROW_KEYS = ("number", "says", "figure", "test", "by_construction")
"""The fields that the row of a claim in `claims.json` takes from the claim."""


def in_words(figure: str) -> str:
    """Return the words that name the figure to which a claim refers.

    >>> in_words("4"), in_words("3, 4"), in_words("II"), in_words("text")
    ('figure 4', 'figures 3, 4', 'section II', 'text')
    """
    if re.fullmatch(r"\d+\w?(, \d+\w?)*", figure):
        return f"figure{'s' if ',' in figure else ''} {figure}"
    return f"section {figure}" if re.fullmatch(r"[IVX]+", figure) else figure


def judged(claim: Claim, samples: Sequence[tuple[str, Sample]]) -> dict[str, Any]:
    """Check a claim on each sample that has the claim's runs. The first checked sample, which has the study's own runs,
    decides the verdict. The remaining samples show how much the result depends on chance.

    Raises TraceError if no sample has all runs that the test needs.
    samples: A sequence of (name, sample).
    Returns: A row of `claims.json`. The row has `ROW_KEYS` and `runs`. The `verdict`, `measured`, `numbers` and `cause`
        are those of the first usable sample. `samples` has one entry per sample: these four values, and the sample's
        name as `sample`.
    """
    outcomes: list[tuple[str, Outcome]] = []
    for name, sample in samples:
        # A claim that needs no run would have the same outcome on each sample, so it is checked only on the first.
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
    row |= {"runs": list(claim.runs)} | asdict(outcomes[0][1])
    row["samples"] = [{"sample": name} | asdict(outcome) for name, outcome in outcomes]
    return row


def holds_if(parts: Mapping[str, bool]) -> Verdict:
    """Return the verdict on a claim. `parts` says for each part of the claim whether it is true. The verdict is "holds"
    if all parts are true, "partly" if only some are, and "does not hold" if none is.

    >>> holds_if({"lowest mean": True, "largest shortfall": False})
    'partly'
    """
    passed = sum(bool(value) for value in parts.values())
    # The parts have no weights, because weights chosen after the result is known would be biased.
    if passed == len(parts):
        return "holds"
    return "partly" if passed else "does not hold"


def not_so(parts: Mapping[str, bool]) -> str:
    """Return the parts of a claim that do not hold, as text for its cause.

    >>> not_so({"late": False, "lost": True, "long": False}), not_so({"late": True})
    ('not so: late, long', '')
    """
    failed = [name for name, good in parts.items() if not good]
    return f"not so: {', '.join(failed)}" if failed else ""
