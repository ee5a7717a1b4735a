# SPDX-License-Identifier: Apache-2.0
"""Whether a run that is asked for has been made already."""

from __future__ import annotations

from pathlib import Path

from leowarp.base.layout import PLAN
from leowarp.base.recorded import read_manifest, why_incomplete
from leowarp.guest import GuestImage
from leowarp.running.many import Job
from leowarp.scenario import plan_of
from leowarp.version import VERSION


def stands(job: Job, kernel: Path | str | None, image: GuestImage) -> bool:
    """Whether the job's directory holds a complete run of the very plan, kernel and agent that it asks for.

    Plans are compared as text: a plan has every default written out, so that equal texts are equal runs, and a default
    that a newer version added makes another text.
    """
    if why_incomplete(Path(job.out)) is not None:
        return False
    manifest = read_manifest(Path(job.out))
    return (
        (Path(job.out) / PLAN).read_text(encoding="utf-8") == plan_of(job.scenario, job.set, kernel).to_toml()
        # Another version or kernel may give other numbers for the same plan; a comparison wants all runs by one.
        and manifest.get("leowarp_version") == VERSION
        and manifest.get("kernel") == image.kernel_facts
        and manifest.get("agent") == image.agent_facts
    )
