# SPDX-License-Identifier: Apache-2.0
"""Makers of a study's runs: the interface `Maker`, and the maker that boots guests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from leowarp.base.progress import BuildProgress, silent
from leowarp.guest import Declared, declared_parameters, guest_image, modules_of
from leowarp.scenario import Plan

if TYPE_CHECKING:
    from leowarp.running.summaries import Made


class Maker(Protocol):
    """Makes runs of a study in a worker process.

    A maker is sent to a worker as a pickle: through a pipe on this machine, or through Dask to other machines. The
    worker must therefore be able to import the maker's class, and the maker must not contain anything that exists in
    only one process. A maker is hashable, because a worker remembers the makers whose checksums it has compared.
    """

    def make(self, plans: Sequence[Plan], scratch: Path, *, out: Sequence[Path | None]) -> Iterator[Made]:
        """Make runs. Yield each run as soon as it is made: its position in `plans`, and its result. If the run's entry
        in `out` is not None, the run's directory is stored there.

        plans: Plans with the same kernel. The files that these plans name are beside the plans.
        scratch: Directory for temporary files.
        out: For each plan, the directory for its run; None if the directory is not kept.
        Yields: A failed run has its error in the result; the error is not raised.
        """

    def image_sha256(
        self,
        kernel: str,
        on_message: Callable[[str], None] = lambda text: None,
        on_progress: Callable[[BuildProgress], None] = silent,
    ) -> tuple[str, str]:
        """Checksums of the guest's kernel and of its agent. Both are built if missing.

        kernel: `guest.kernel` of a plan: "default", or a file.
        on_message, on_progress: Functions that are called during a build, which takes minutes.
        Returns: The checksums in hexadecimal.
        """

    def declared(
        self,
        plan: Plan,
        on_message: Callable[[str], None] = lambda text: None,
        on_progress: Callable[[BuildProgress], None] = silent,
    ) -> Declared:
        """Parameters of all modules of a plan's guest. Modules that are missing are built or compiled.

        Raises ScenarioError if a module does not compile.
        """


@dataclass(frozen=True)
class GuestMaker:
    """Boots a guest for each run (`leowarp.running.summaries`)."""

    def make(self, plans: Sequence[Plan], scratch: Path, *, out: Sequence[Path | None]) -> Iterator[Made]:
        """See the interface `Maker`."""
        from leowarp.running import summaries

        return summaries.make(plans, scratch, out=out)

    def image_sha256(
        self,
        kernel: str,
        on_message: Callable[[str], None] = lambda text: None,
        on_progress: Callable[[BuildProgress], None] = silent,
    ) -> tuple[str, str]:
        """See the interface `Maker`. Building a kernel takes minutes; `on_progress` receives the steps of the build."""
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
        """See the interface `Maker`. This compiles the plan's modules."""
        image = guest_image(plan.guest, on_message=on_message, on_progress=on_progress)
        return declared_parameters(image, modules_of(plan, image, on_message))


GUESTS = GuestMaker()
"""The maker that is used by default."""
