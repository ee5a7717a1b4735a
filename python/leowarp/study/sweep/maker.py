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
    """Makes runs of a study inside a worker's process.

    A maker reaches a worker pickled, through a pipe on this machine or through Dask to others. The maker's class must
    therefore be importable by the worker, and the maker must hold nothing that exists in one process only. A maker is
    hashable: a worker remembers the makers whose checksums it has compared.
    """

    def make(self, plans: Sequence[Plan], scratch: Path, *, out: Sequence[Path | None]) -> Iterator[Made]:
        """Yield each run as it is made: its place in `plans`, and its directory in `out` unless that is None.

        plans: Plans of one kernel; the files that they name are beside them.
        scratch: Directory for temporary files.
        out: Directory or None per plan.
        Yields: A failed run is yielded with its error, not raised.
        """

    def image_sha256(
        self,
        kernel: str,
        on_message: Callable[[str], None] = lambda text: None,
        on_progress: Callable[[BuildProgress], None] = silent,
    ) -> tuple[str, str]:
        """Checksums of the guest's kernel and its agent, which are built if missing.

        kernel: `guest.kernel` of a plan: "default", or a file.
        on_message, on_progress: Called during a build, which takes minutes.
        Returns: Hexadecimal.
        """

    def declared(
        self,
        plan: Plan,
        on_message: Callable[[str], None] = lambda text: None,
        on_progress: Callable[[BuildProgress], None] = silent,
    ) -> Declared:
        """Parameters of all modules in a plan's guest; missing modules are built and compiled.

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
        """See `Maker`; building the kernel takes minutes, and the build reports its steps."""
        image = guest_image(kernel, on_message=on_message, on_progress=on_progress)
        # Content is hashed instead of comparing version numbers, because two builds of one version may differ, and the
        # run id must identify what ran.
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
"""Default maker of runs."""
