# SPDX-License-Identifier: Apache-2.0
"""Write a program's measurements as lines of `measures.jsonl` in its working directory."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TextIO

FILE = "measures.jsonl"


def now_ns() -> int:
    """Return the time of the clock of all measurements, in ns. This clock is the guest's real-time clock, and nothing
    in the guest sets it."""
    return time.time_ns()


class Measures:
    """A writer of measurements: `with Measures() as measures`. When `write` returns, the line is in the file, even if
    the program is killed later."""

    def __init__(self, path: Path | str = FILE) -> None:
        self._file: TextIO = open(path, "w", buffering=1, encoding="utf-8")  # noqa: SIM115 (`__exit__` closes it)

    def __enter__(self) -> Measures:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, kind: str, **values: int | str | None) -> None:
        """Write one line. The values are columns of the table `measures`. Times are in ns, as from `now_ns`."""
        given = {key: value for key, value in values.items() if value is not None}
        self._file.write(json.dumps({"kind": kind, **given}) + "\n")
