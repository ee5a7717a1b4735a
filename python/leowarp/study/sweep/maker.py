# SPDX-License-Identifier: Apache-2.0
"""Makers of the runs of a study: `Maker`, and the one that boots guests."""

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
    """Makes the runs of a study, in the process of a worker.

    It reaches a worker pickled, on this machine through a pipe and on others through Dask. So it is an object of a
    class that the worker can import, and holds nothing that lives in one process alone. It is hashable: a worker
    remembers for which makers it has compared the checksums.
    """

    def make(self, plans: Sequence[Plan], scratch: Path, *, out: Sequence[Path | None]) -> Iterator[Made]:
        """Each run as it is made, by its place in `plans`, with its directory in `out` if that is not None.

        plans: Of one kernel; their files lie beside them.
        scratch: For what is written meanwhile.
        out: A place for each plan.
        Yields: A run that fails is yielded with its error, not raised.
        """

    def image_sha256(
        self,
        kernel: str,
        on_message: Callable[[str], None] = lambda text: None,
        on_progress: Callable[[BuildProgress], None] = silent,
    ) -> tuple[str, str]:
        """Checksums of the guest's kernel and of its agent, which are built if they are not there.

        kernel: `guest.kernel` of a plan: "default", or a file.
        on_message, on_progress: Told of a build, which takes minutes.
        Returns: Hexadecimal.
        """

    def declared(
        self,
        plan: Plan,
        on_message: Callable[[str], None] = lambda text: None,
        on_progress: Callable[[BuildProgress], None] = silent,
    ) -> Declared:
        """The parameters of all modules that a plan's guest has, which are built and compiled if they are not there.

        Raises ScenarioError if a module does not compile.
        """


@dataclass(frozen=True)
class GuestMaker:
    """Boots a guest for each run (`leowarp.running.summaries`)."""

    def make(self, plans: Sequence[Plan], scratch: Path, *, out: Sequence[Path | None]) -> Iterator[Made]:
        """See `Maker`."""
        from leowarp.running import summaries

        return summaries.make(plans, scratch, out=out)

    def image_sha256(
        self,
        kernel: str,
        on_message: Callable[[str], None] = lambda text: None,
        on_progress: Callable[[BuildProgress], None] = silent,
    ) -> tuple[str, str]:
        """See `Maker`; a build of the kernel takes minutes, and tells of its steps."""
        image = guest_image(kernel, on_message=on_message, on_progress=on_progress)
        # Content and not version numbers: two builds of one version may differ, and a run's identity follows what ran.
        return image.kernel_facts["linux_sha256"], image.agent_facts["agent_sha256"]

    def declared(
        self,
        plan: Plan,
        on_message: Callable[[str], None] = lambda text: None,
        on_progress: Callable[[BuildProgress], None] = silent,
    ) -> Declared:
        """See `Maker`; compiles the plan's modules."""
        image = guest_image(plan.guest, on_message=on_message, on_progress=on_progress)
        return declared_parameters(image, modules_of(plan, image, on_message))


GUESTS = GuestMaker()
"""The default maker of runs."""
