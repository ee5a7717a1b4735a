# SPDX-License-Identifier: Apache-2.0
"""The guest: a kernel and an agent, booted on a timeline and a workload, give records.

The room knows nothing of orbits: `write_input` turns a plan's workload and a timeline into files, `drive` boots the
kernel on them and returns when the guest has written its last record.
"""

from leowarp.guest.drive import GuestResult, Patience, check, drive
from leowarp.guest.image import GuestImage, guest_image
from leowarp.guest.input import write_input

__all__ = ["GuestImage", "GuestResult", "Patience", "check", "drive", "guest_image", "run", "write_input"]


def run(image, plan, timeline, directory, on_progress=lambda t_ns: None) -> GuestResult:
    """Records of `plan` on `timeline`: `write_input`, then `drive`, in `directory` (made if it is not there).

    Parameters
    ----------
    image : GuestImage
    plan : leowarp.scenario.Plan
    timeline : pyarrow.Table
        Columns of `leowarp.timeline.schema`.
    directory : Path
        Of the guest; `in/`, `out/` and `console.txt` end up in it.
    on_progress : callable
        Called with the virtual time in ns.
    """
    write_input(plan, timeline, directory / "in")
    return drive(
        image,
        directory,
        duration_ns=plan.run.duration_ns,
        seed=plan.run.seed,
        memory_bytes=plan.guest.memory_bytes,
        on_progress=on_progress,
    )
