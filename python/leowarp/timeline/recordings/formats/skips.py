# SPDX-License-Identifier: Apache-2.0
"""Parts that a reader skipped, with counts and reasons: nothing in a file is dropped silently."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Skip:
    """Records that were skipped for one reason.

    why: As a noun with its reason, in the plural: "replies without a time".
    first: Place of the first of them.
    """

    count: int
    why: str
    first: str

    def __str__(self) -> str:
        return f"{self.count} {self.why} (the first: {self.first})"


@dataclass
class Skips:
    """Counts by reason, in the order of first occurrence."""

    _counts: dict[str, tuple[int, str]] = field(default_factory=dict)

    def add(self, why: str, where: str, count: int = 1) -> None:
        """Count `count` more skipped records for a reason; `where` is the place of the first."""
        before, first = self._counts.get(why, (0, where))
        self._counts[why] = (before + count, first)

    def __len__(self) -> int:
        return sum(count for count, _ in self._counts.values())

    @property
    def found(self) -> tuple[Skip, ...]:
        """One entry per reason."""
        return tuple(Skip(count, why, first) for why, (count, first) in self._counts.items())


def skipped_note(skips: tuple[Skip, ...]) -> tuple[str, ...]:
    """One line that names all of them; none if nothing was skipped."""
    return (f"skipped {', '.join(str(skip) for skip in skips)}",) if skips else ()
