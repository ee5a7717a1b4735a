# SPDX-License-Identifier: Apache-2.0
"""Records of a file that a reader skipped: how many, why, and where the first is. Every reader tells them so."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Skip:
    """Records of a file that were skipped for one reason.

    Attributes
    ----------
    count : int
        How many.
    why : str
        What they are and what is wrong, in the number that fits: "packets of ARP (ethertype 0x0806)", "comment".
    first : str or None
        Where the first of them is; None: the file has no lines or numbers for it.
    """

    count: int
    why: str
    first: str | None = None

    def __str__(self) -> str:
        """
        >>> str(Skip(1, "comment", "line 3")), str(Skip(5, "packets of ARP (ethertype 0x0806)"))
        ('1 comment (line 3)', '5 packets of ARP (ethertype 0x0806)')
        """
        where = f" ({'' if self.count == 1 else 'the first: '}{self.first})" if self.first else ""
        return f"{self.count} {self.why}{where}"


class Skips:
    """Counts skipped records by reason."""

    def __init__(self) -> None:
        # In the singular and the plural.
        self._counts: dict[tuple[str, str], tuple[int, str]] = {}

    def add(self, one: str, many: str, where: str, count: int = 1) -> None:
        """Count more records that are skipped.

        one, many: What a record is and what is wrong, in the singular and the plural: "comment", "comments".
        where: Place of the first of these: "line 3".
        """
        before, first = self._counts.get((one, many), (0, where))
        self._counts[one, many] = (before + count, first)

    def add_all(self, others: Skips) -> None:
        """Count what another one has counted."""
        for (one, many), (count, first) in others._counts.items():
            self.add(one, many, first, count)

    def __len__(self) -> int:
        return sum(count for count, _ in self._counts.values())

    @property
    def found(self) -> tuple[Skip, ...]:
        """One for each reason, the most frequent first."""
        found = [Skip(n, one if n == 1 else many, first) for (one, many), (n, first) in self._counts.items()]
        return tuple(sorted(found, key=lambda skip: -skip.count))

    @property
    def lines(self) -> tuple[str, ...]:
        """All that was skipped, in one line; none if nothing was."""
        line = skipped_line(self.found)
        return () if line is None else (line,)


def skipped_line(skips: Sequence[Skip]) -> str | None:
    """All that was skipped, in one line; None if nothing was.

    >>> skipped_line([Skip(5, "packets of ARP (ethertype 0x0806)"), Skip(1, "packet cut to 34 bytes")])
    'skipped 5 packets of ARP (ethertype 0x0806), 1 packet cut to 34 bytes'
    """
    return f"skipped {', '.join(map(str, skips))}" if skips else None
