# SPDX-License-Identifier: Apache-2.0
"""Checks whether a requested run already exists."""

from __future__ import annotations

from pathlib import Path

from leowarp.base.layout import PLAN
from leowarp.base.recorded import read_manifest, why_incomplete
from leowarp.guest import GuestImage
from leowarp.running.many import Job
from leowarp.scenario import plan_of
from leowarp.version import VERSION


def stands(job: Job, kernel: Path | str | None, image: GuestImage) -> bool:
    """Return whether the job's run already exists. Its directory must contain a complete run with the same plan, kernel
    and agent.

    Plans are compared as text. Equal texts mean equal runs, because a plan contains all default values. If a newer
    version of leowarp adds a key, the text is different, and the existing run does not count.
    """
    if why_incomplete(Path(job.out)) is not None:
        return False
    manifest = read_manifest(Path(job.out))
    return (
        (Path(job.out) / PLAN).read_text(encoding="utf-8") == plan_of(job.scenario, job.set, kernel).to_toml()
        # For the same plan, another version or kernel may give other numbers, so a run of another version or kernel is
        # repeated.
        and manifest.get("leowarp_version") == VERSION
        and manifest.get("kernel") == image.kernel_facts
        and manifest.get("agent") == image.agent_facts
    )
