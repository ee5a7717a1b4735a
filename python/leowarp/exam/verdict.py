# SPDX-License-Identifier: Apache-2.0
"""The verdict on a case: the value, its limit, and the packet or sample on which the value is based."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from leowarp.base.errors import LeowarpError
from leowarp.exam.case import Case
from leowarp.exam.measures import in_words
from leowarp.results.run import Run

Verdict = Literal["pass", "fail", "measured"]
VERDICTS: tuple[Verdict, ...] = ("pass", "fail", "measured")


@dataclass(frozen=True)
class Judged:
    """A case with its verdict.

    verdict: "measured" if the case has no limit, but "fail" if its run failed.
    value: The value in the base unit of the measure. None means that the run never reached the value, or that there is
        no run.
    decided: The packet or sample on which the value is based, as text. For a failed run, it is the error message.
    at_ns: The time of the packet or sample, on the run's clock.
    run, control: The directories of the run and of the control run, if any.
    """

    case: Case
    verdict: Verdict
    value: float | None
    decided: str
    at_ns: int | None
    run: Path | None
    control: Path | None = None

    def row(self, folder: Path) -> dict[str, Any]:
        """Return the verdict as a row of `exam.json`. The row's paths are relative to `folder`."""
        rule = self.case.rule
        return {
            "case": self.case.key,
            "suite": self.case.suite,
            "title": self.case.title,
            "asked": self.case.asked,
            "verdict": self.verdict,
            "measure": rule.measure,
            "unit": rule.how.quantity.suffix.removeprefix("_"),
            "value": self.value,
            "value_in_words": "no run" if self.run is None else in_words(rule.how.quantity, self.value),
            "sense": rule.sense,
            "limit": rule.limit,
            "limit_in_words": rule.in_words(),
            "limit_source": rule.source,
            "decided": self.decided,
            "at_ns": self.at_ns,
            "run": None if self.run is None else str(self.run.relative_to(folder)),
            "control": None if self.control is None else str(self.control.relative_to(folder)),
        }


@lru_cache(maxsize=4)
def opened(path: Path) -> Run:
    """Return the run in a directory. Successive cases read a run only once. The cache holds only four runs, because the
    tables of a run may take a hundred megabytes."""
    return Run(path)


def judge(case: Case, made: Path | LeowarpError, control: Path | LeowarpError | None) -> Judged:
    """Decide the verdict on a case.

    made, control: The directory of the run, or its error. `control` is None if the case needs no control.
    """
    if isinstance(made, LeowarpError):
        return Judged(case, "fail", None, f"the run failed: {_why(made)}", None, None)
    if isinstance(control, LeowarpError):
        return Judged(case, "fail", None, f"the control run failed: {_why(control)}", None, made)
    try:
        measured = case.rule.how.of(opened(made), None if control is None else opened(control), case.rule.arguments)
    except LeowarpError as error:
        # The directory was damaged after the run. The exam continues, because other cases use different runs.
        return Judged(case, "fail", None, f"the run cannot be read: {_why(error)}", None, None)
    verdict: Verdict = "measured" if case.rule.limit is None else "pass" if case.rule.holds(measured.value) else "fail"
    return Judged(case, verdict, measured.value, measured.decided, measured.at_ns, made, control)


def spread_in_words(case: Case, row: Mapping[str, Any]) -> str:
    """Return the smallest and largest value over the seeds, and the number of seeds that passed: `91.2 % to 94.3 %, 5
    of 5 pass`.

    row: A row of `Exam.document` with the key `seeds`.
    """
    values, verdicts = row["seeds"]["values"], row["seeds"]["verdicts"]
    reached = [value for value in values if value is not None]
    # A value that was never reached is worse than any other, so the text names it beside the range.
    ends = [in_words(case.rule.how.quantity, end) for end in (min(reached), max(reached))] if reached else []
    words = " to ".join(dict.fromkeys(ends)) or in_words(case.rule.how.quantity, None)
    if reached and len(reached) < len(values):
        words += f", {len(values) - len(reached)} of {len(values)} never"
    return words if case.rule.limit is None else f"{words}, {verdicts.count('pass')} of {len(verdicts)} pass"


def _why(error: LeowarpError) -> str:
    """Return the first line of an error's message, without the guest's last output, which the console file contains."""
    return error.message.split("\n")[0].partition(" The guest's last words")[0]
