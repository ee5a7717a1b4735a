# SPDX-License-Identifier: Apache-2.0
"""Parts of a file that a reader did not use: number, reason, and place of the first."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Skipped:
    """Parts of a file that were read and not used, counted by reason.

    lines: dict of (str, str) to list of int. Description in singular and plural -> lines from 1, in the order of the
        file.
    """

    lines: dict[tuple[str, str], list[int]] = field(default_factory=dict)

    def add(self, one: str, many: str, line: int) -> None:
        """Count one part that was skipped.

        one, many: Description in singular and plural: "comment", "comments".
        line: From 1.
        """
        self.lines.setdefault((one, many), []).append(line)

    @property
    def count(self) -> int:
        """Number of skipped parts."""
        return sum(len(lines) for lines in self.lines.values())

    def sentence(self) -> str | None:
        """All of them in one line, the most frequent reason first; None: nothing was skipped.

        >>> skipped = Skipped()
        >>> skipped.add("comment", "comments", 3)
        >>> skipped.sentence()
        'skipped 1 comment (line 3)'
        """
        if not self.lines:
            return None
        found = sorted(self.lines.items(), key=lambda each: (-len(each[1]), each[1][0]))
        return "skipped " + ", ".join(
            f"{len(lines)} {one if len(lines) == 1 else many} ({_where(lines)})" for (one, many), lines in found
        )


def _where(lines: list[int]) -> str:
    """Lines in words; if there are many, the first and the last."""
    if len(lines) == 1:
        return f"line {lines[0]}"
    return f"lines {lines[0]} and {lines[1]}" if len(lines) == 2 else f"lines {lines[0]} to {lines[-1]}"
