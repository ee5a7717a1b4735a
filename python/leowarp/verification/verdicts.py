# SPDX-License-Identifier: Apache-2.0
"""The verdicts that a comparison gives to files and to stages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """The verdict on a file. Only `DIFFERS` makes the exit status of `leowarp verify` 1."""

    IDENTICAL = "identical"
    SAME_VALUES = "same values"
    DIFFERS = "differs"
    OF_ANOTHER_VERSION = "differs, of another version"
    NOT_REPEATABLE = "differs, need not repeat"
    NOT_COMPARED = "not compared"


MEANINGS = {
    Verdict.IDENTICAL: "every byte that is compared is the same",
    Verdict.SAME_VALUES: "a table has other bytes and the same values, because another version of pyarrow wrote it",
    Verdict.DIFFERS: "the exit status is 1",
    Verdict.OF_ANOTHER_VERSION: "another version of leowarp made the file: only reported",
    Verdict.NOT_REPEATABLE: "the file is no result: only reported",
    Verdict.NOT_COMPARED: "the reason is printed: only reported",
}


@dataclass(frozen=True)
class Found:
    """The verdict on a file of a run directory. `why` has the differences, or the reason why it was not compared."""

    file: str
    verdict: Verdict
    why: tuple[str, ...] = ()


@dataclass(frozen=True)
class StageFound:
    """The verdicts on the files of a stage."""

    stage: str
    files: tuple[Found, ...]

    @property
    def verdict(self) -> Verdict:
        """The most severe verdict on the files of the stage."""
        return max((found.verdict for found in self.files), key=_GRAVITY.index)

    @property
    def why(self) -> list[str]:
        """The differences, each with the names of its files, sorted by severity."""
        files: dict[str, list[str]] = {}
        for found in sorted(self.files, key=lambda found: -_GRAVITY.index(found.verdict)):
            for why in found.why:
                files.setdefault(why, []).append(found.file)
        return [f"{_joined(names)}: {why}" for why, names in files.items()]


def first_difference(stages: Iterable[StageFound]) -> StageFound | None:
    """Return the first stage whose verdict is DIFFERS, or None."""
    return next((stage for stage in stages if stage.verdict is Verdict.DIFFERS), None)


def unconfirmed(stages: Iterable[StageFound]) -> list[StageFound]:
    """Return the stages whose verdict is not definite."""
    return [stage for stage in stages if stage.verdict in _UNCONFIRMED]


def _joined(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


_MOST_NAMES = 4
_UNCONFIRMED = (Verdict.NOT_COMPARED, Verdict.NOT_REPEATABLE, Verdict.OF_ANOTHER_VERSION)
_GRAVITY: Sequence[Verdict] = (Verdict.IDENTICAL, Verdict.SAME_VALUES, *_UNCONFIRMED, Verdict.DIFFERS)
