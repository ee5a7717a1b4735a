# SPDX-License-Identifier: Apache-2.0
"""The names of files and directories in a run directory, and the default name of a run directory."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

PLAN = "00-plan.toml"
INPUTS = "00-inputs"
ROUTES = "10-routes.parquet"
TIMELINE = "20-timeline.parquet"
TRACE = "30-trace"
PROGRAMS = "35-programs"
METRICS = "40-metrics.parquet"
REPORT = "50-report"
SUMMARY = "summary.json"
MANIFEST = "manifest.json"
SIGNATURES = (f"{MANIFEST}.sig", f"{MANIFEST}.minisig")
"""The signatures of a manifest, made with ssh-keygen or minisign. They are made after the manifest, so the manifest
cannot list them."""
INCOMPLETE = "INCOMPLETE"
STUDY_LOCK = "study.lock"
GUEST = ".guest"
CONSOLE = "guest-console.txt"
# The number at the beginning of a name shows in which order the files are made.
ARTEFACTS = (
    PLAN, INPUTS, ROUTES, TIMELINE, TRACE, PROGRAMS, METRICS, REPORT, SUMMARY, MANIFEST, GUEST, CONSOLE, INCOMPLETE,
)  # fmt: skip
"""The names of all entries that leowarp makes in a run directory. Entries with other names are never changed."""


def default_directory(name: str, plan_text: str) -> Path:
    """Return `runs/<name>-<first digits of the plan's sha256>`. The same plan always has the same directory.

    If a thousand plans have the same name, two of them get the same directory with a probability of 5e-7.
    """
    return Path("runs") / f"{name}-{hashlib.sha256(plan_text.encode()).hexdigest()[:10]}"


def directory_names(paths: Sequence[Path]) -> list[str]:
    """Return a short distinct name for each directory: the last part of its path, or as many parts as needed.

    >>> directory_names([Path("a/cubic"), Path("b/cubic")])
    ['a/cubic', 'b/cubic']
    """
    # Paths are resolved, because Path(".") has no parts.
    parts = [path.resolve().parts for path in paths]
    depth = 1
    # If a directory is given twice, its name is the same both times. The loop therefore counts distinct paths.
    while len({part[-depth:] for part in parts}) < len(set(parts)):
        depth += 1
    return [str(Path(*part[-depth:])) for part in parts]
