# SPDX-License-Identifier: Apache-2.0
"""What a program measures, as lines of `measures.jsonl` in its working directory."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TextIO

FILE = "measures.jsonl"


def now_ns() -> int:
    """The clock of all measures, in ns: the real-time clock, which nobody sets in the guest."""
    return time.time_ns()


class Measures:
    """Writes lines; each is in the file when `write` returns, however the program ends."""

    def __init__(self, path: Path | str = FILE) -> None:
        # For as long as the program runs.
        self._file: TextIO = open(path, "w", buffering=1, encoding="utf-8")  # noqa: SIM115

    def write(self, kind: str, **values: int | str | None) -> None:
        """Writes one line.

        Parameters
        ----------
        kind : str
        **values
            Columns of the table `measures`; times in ns of `now_ns`. None: left out.
        """
        given = {key: value for key, value in values.items() if value is not None}
        self._file.write(json.dumps({"kind": kind, **given}) + "\n")
