# SPDX-License-Identifier: Apache-2.0
"""What CUBIC, Reno and BBR of the default kernel get in this exam: stored, to stand beside others."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

ALGORITHMS = ("cubic", "reno", "bbr", "bbr3")
"""Stored in `stored/`, in the order of the page."""


def references() -> dict[str, dict[str, Any]]:
    """Documents of exams (`Exam.document`) by algorithm; those that are stored."""
    folder = resources.files("leowarp.exam").joinpath("stored")
    found = {}
    for name in ALGORITHMS:
        file = folder.joinpath(f"{name}.json")
        if file.is_file():
            found[name] = json.loads(file.read_text(encoding="utf-8"))
    return found
