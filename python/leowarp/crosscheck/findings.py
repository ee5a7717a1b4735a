# SPDX-License-Identifier: Apache-2.0
"""The results of the checks: the number of compared values, the differences, and the values that could not be
compared."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pandas as pd


@dataclass
class Findings:
    """The findings about one table.

    checked: The number of values that were compared.
    wrong: One sentence per difference.
    unknown: One sentence per value that could not be compared, with the reason.
    """

    checked: int = 0
    wrong: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)

    def compare(self, where: str, name: str, found: Any, expected: Any) -> None:
        """Compare two values. A missing value in the table is treated as None."""
        self.checked += 1
        found = None if pd.isna(found) else found
        if found != expected:
            self.wrong.append(f"{where}: {name} is {found}, and has to be {expected}")

    def within(self, where: str, name: str, found: Any, low: int, high: int) -> None:
        """Check that a value lies between two bounds. A missing value in the table counts as 0."""
        self.checked += 1
        found = 0 if pd.isna(found) else int(found)
        if not low <= found <= high:
            self.wrong.append(f"{where}: {name} is {found}, and has to be {low} to {high}")
