# SPDX-License-Identifier: Apache-2.0
"""The maker of a study's runs, which boots guests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from leowarp.base.progress import BuildProgress, silent
from leowarp.guest import Declared, declared_parameters, guest_image, modules_of
from leowarp.scenario import Plan

if TYPE_CHECKING:
    from leowarp.running.summaries import Made


@dataclass(frozen=True)
class Maker:
    """A maker of a study's runs in a worker process, each in its own guest.

    A maker is sent to a worker as a pickle, so it must not contain anything that exists in only one process. The worker
    must be able to import the maker's class. A maker is hashable, because a worker remembers the makers whose checksums
    it has compared.
    """

    def make(self, plans: Sequence[Plan], scratch: Path, *, out: Sequence[Path | None]) -> Iterator[Made]:
        """Make runs with the same kernel, and yield each as soon as it is made (`leowarp.running.summaries.make`).

        The files that a plan names are in the plan's directory.
        """
        from leowarp.running import summaries

        return summaries.make(plans, scratch, out=out)

    def image_sha256(
        self,
        kernel: str,
        on_message: Callable[[str], None] = lambda text: None,
        on_progress: Callable[[BuildProgress], None] = silent,
    ) -> tuple[str, str]:
        """Return the checksums of the guest's kernel and of its agent. If they are missing, they are built, which takes
        minutes.

        kernel: The `guest.kernel` of a plan: "default", or a file.
        """
        image = guest_image(kernel, on_message=on_message, on_progress=on_progress)
        # The checksums cover the content, because two builds of one version may differ, and the run id must identify
        # the executed code.
        return image.kernel_facts["linux_sha256"], image.agent_facts["agent_sha256"]

    def declared(
        self,
        plan: Plan,
        on_message: Callable[[str], None] = lambda text: None,
        on_progress: Callable[[BuildProgress], None] = silent,
    ) -> Declared:
        """Return the parameters of all modules of a plan's guest. Modules that are missing are built or compiled.

        Raises ScenarioError if a module does not compile.
        """
        image = guest_image(plan.guest, on_message=on_message, on_progress=on_progress)
        return declared_parameters(image, modules_of(plan, image, on_message))


GUESTS = Maker()
"""The maker that is used by default."""
