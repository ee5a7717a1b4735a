# SPDX-License-Identifier: Apache-2.0
"""Names of the files and directories of a run, and the default directory of a run."""

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
"""Signature files of ssh-keygen and minisign for a manifest: no manifest can list them."""
INCOMPLETE = "INCOMPLETE"
STUDY_LOCK = "study.lock"
GUEST = ".guest"
CONSOLE = "guest-console.txt"
# Names begin with numbers in the order of the stages, so that a listing shows files in the order in which they were
# made.
ARTEFACTS = (
    PLAN, INPUTS, ROUTES, TIMELINE, TRACE, PROGRAMS, METRICS, REPORT, SUMMARY, MANIFEST, GUEST, CONSOLE, INCOMPLETE,
)  # fmt: skip
"""All files that a run directory may hold: a file with another name is not leowarp's, and is never changed."""


def default_directory(name: str, plan_text: str) -> Path:
    """`runs/<name>-<first digits of the plan's sha256>`: the same plan always gets the same directory.

    Ten hexadecimal digits are 40 bits: among a thousand plans of one name, two share a directory with a probability of
        5e-7.
    """
    return Path("runs") / f"{name}-{hashlib.sha256(plan_text.encode()).hexdigest()[:10]}"


def directory_names(paths: Sequence[Path]) -> list[str]:
    """Names of several directories: their own names, or as many parts of the paths as distinguish them.

    >>> directory_names([Path("a/cubic"), Path("b/cubic")])
    ['a/cubic', 'b/cubic']
    """
    # Paths are resolved, since "." has no name of its own.
    parts = [path.resolve().parts for path in paths]
    depth = 1
    # A directory that occurs twice has the same name both times.
    while len({part[-depth:] for part in parts}) < len(set(parts)):
        depth += 1
    return [str(Path(*part[-depth:])) for part in parts]
