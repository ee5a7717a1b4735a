# SPDX-License-Identifier: Apache-2.0
"""The number of skipped records of an input file, the reasons, and the position of the first skipped record. All
readers of an input file report skipped records with the classes of this module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Skip:
    """The records of a file that were skipped for one reason.

    Attributes
    ----------
    count : int
        The number of skipped records.
    why : str
        What the records are or what is wrong with them, for example "packets of ARP (ethertype 0x0806)" or "comment".
        `count` decides between singular and plural.
    first : str or None
        The place of the first record that was skipped. None means that the file has no line numbers or record numbers.
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
        # A key of `_counts` consists of the description in the singular and in the plural.
        self._counts: dict[tuple[str, str], tuple[int, str]] = {}

    def add(self, one: str, many: str, where: str, count: int = 1) -> None:
        """Count records that were skipped.

        one, many: What the skipped records are, or why they are wrong. The text is in the singular (`one`) and in the
            plural (`many`): "comment", "comments".
        where: The place of the first record (example: "line 3").
        """
        before, first = self._counts.get((one, many), (0, where))
        self._counts[one, many] = (before + count, first)

    def add_all(self, others: Skips) -> None:
        """Add the counts of another `Skips`."""
        for (one, many), (count, first) in others._counts.items():
            self.add(one, many, first, count)

    def __len__(self) -> int:
        return sum(count for count, _ in self._counts.values())

    @property
    def found(self) -> tuple[Skip, ...]:
        """One `Skip` for each reason, the most frequent first."""
        found = [Skip(n, one if n == 1 else many, first) for (one, many), (n, first) in self._counts.items()]
        return tuple(sorted(found, key=lambda skip: -skip.count))

    @property
    def lines(self) -> tuple[str, ...]:
        """A tuple with one line that lists all skipped records. The tuple is empty if nothing was skipped."""
        line = skipped_line(self.found)
        return () if line is None else (line,)


def skipped_line(skips: Sequence[Skip]) -> str | None:
    """Return one line that lists all skipped records, or None if nothing was skipped.

    >>> skipped_line([Skip(5, "packets of ARP (ethertype 0x0806)"), Skip(1, "packet cut to 34 bytes")])
    'skipped 5 packets of ARP (ethertype 0x0806), 1 packet cut to 34 bytes'
    """
    return f"skipped {', '.join(map(str, skips))}" if skips else None
