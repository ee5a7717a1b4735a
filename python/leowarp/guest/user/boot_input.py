# SPDX-License-Identifier: Apache-2.0
"""Boots a guest for one plan, with all files that it needs: its input, compiled modules, and links to the roots of
programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from leowarp.base.layout import CONSOLE, GUEST
from leowarp.guest.boot.consoles import Consoles
from leowarp.guest.boot.drive import GuestProgress, GuestResult, drive
from leowarp.guest.setup.input import ByHand, write_input
from leowarp.guest.user.modules import compile_modules, put_modules
from leowarp.guest.user.programs import put_roots

if TYPE_CHECKING:
    import pyarrow as pa

    from leowarp.guest.building.image import GuestImage
    from leowarp.scenario import Plan


def put_input(
    image: GuestImage, plan: Plan, timeline: pa.Table, directory: Path, by_hand: ByHand | None = None
) -> None:
    """Fill the guest's input directory `in/`.

    Raises ScenarioError or HostError for the same reasons as `write_input` and `compile_modules`.
    """
    write_input(plan, timeline, directory, by_hand)
    put_modules(compile_modules(plan, image), directory)
    put_roots(plan, directory)


def run(
    image: GuestImage,
    plan: Plan,
    timeline: pa.Table,
    run_dir: Path,
    on_progress: Callable[[GuestProgress], None] = lambda progress: None,
    by_hand: ByHand | None = None,
    consoles: Consoles | None = None,
    on_warning: Callable[[str], None] = lambda text: None,
) -> GuestResult:
    """Run `plan` in a guest on `timeline`, and return the guest's result.

    timeline: A table with the columns of `leowarp.timeline.schema`.
    run_dir: The run directory. The guest works in its subdirectory `.guest` (with `in/` and `out/`), which
        `GuestResult.discard` removes. The guest's console output remains in `guest-console.txt` of the run directory.
    by_hand: As in `write_input`.
    on_progress, consoles, on_warning: As in `drive`.
    Raises ScenarioError, HostError or GuestError for the same reasons as `put_input` and `drive`.
    """
    directory = run_dir / GUEST
    put_input(image, plan, timeline, directory / "in", by_hand)
    return drive(
        image, directory, run_dir / CONSOLE, duration_ns=plan.run.duration_ns, seed=plan.run.seed,
        memory_bytes=plan.guest.memory_bytes, on_progress=on_progress, consoles=consoles, on_warning=on_warning,
    )  # fmt: skip
