# SPDX-License-Identifier: Apache-2.0
"""What makes the runs: batches of them in one boot. A test puts a module with the same functions in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from leowarp.guest import guest_image
from leowarp.progress import BuildProgress, silent
from leowarp.scenario import Plan

if TYPE_CHECKING:
    from leowarp.running.shared_boot import Made


def make(plans: Sequence[Plan], scratch: Path, *, out: Sequence[Path | None]) -> Iterator[Made]:
    """Each run as it is made, by its place in `plans`."""
    from leowarp.running import shared_boot

    return shared_boot.make(plans, scratch, out=list(out) if any(out) else None)


def shareable(plan: Plan) -> bool:
    """Whether a plan's run may share a boot with others."""
    from leowarp.running import shared_boot

    return shared_boot.shareable(plan)


def image_sha256(
    kernel: str,
    on_message: Callable[[str], None] = lambda text: None,
    on_progress: Callable[[BuildProgress], None] = silent,
) -> tuple[str, str]:
    """Checksums of the guest's kernel and of its agent, which are built if they are not there."""
    image = guest_image(kernel, on_message=on_message, on_progress=on_progress)
    return image.kernel_facts["linux_sha256"], image.agent_facts["agent_sha256"]
