# SPDX-License-Identifier: Apache-2.0
"""A guest that can be booted: a kernel and an agent."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from leowarp.guest.agent import agent
from leowarp.guest.kernel import kernel
from leowarp.guest.trust import Code, code_of, demand_code

if TYPE_CHECKING:
    from leowarp.scenario.schema import Guest


@dataclass(frozen=True)
class GuestImage:
    """Kernel and agent, as files.

    Parameters
    ----------
    kernel : Path
        The kernel program (User Mode Linux).
    agent : Path
        The guest's init, a static program.
    symbols : dict of str to int
        Addresses of the kernel's variables that are read from outside; may be empty.
    kernel_facts, agent_facts : dict
        What they were built from, for the manifest.
    """

    kernel: Path
    agent: Path
    symbols: dict[str, int] = field(default_factory=dict)
    kernel_facts: dict = field(default_factory=dict)
    agent_facts: dict = field(default_factory=dict)

    @property
    def warnings(self) -> list[str]:
        """What a user's own kernel cannot do, for the manifest and the report."""
        return list(self.kernel_facts.get("warnings", []))


def guest_image(
    kernel_choice: "str | Path | Guest" = "default",
    *,
    on_message: Callable[[str], None] = lambda text: None,
    on_progress: Callable[[int, int], None] = lambda done, expected: None,
) -> GuestImage:
    """Kernel and agent for a run, built if they are not there yet.

    Parameters
    ----------
    kernel_choice : str, Path or Guest
        "default", a kernel tree, or a kernel binary, as the user named it; or what a plan says of its guest: that
        knows who named the kernel.
    on_message, on_progress : callable
        A line of text; (steps done, steps expected) while the kernel is built.

    Raises
    ------
    HostError
        If something that a build needs is missing, or a build fails.
    ScenarioError
        If `kernel_choice` is not a kernel, or a file names it and the user never accepted it (`trust`).
    """
    if isinstance(kernel_choice, str | Path):
        named, code = kernel_choice, [Code("guest.kernel", Path(kernel_choice).expanduser(), None)]
    else:
        named, code = kernel_choice.kernel, code_of(kernel_choice)[:1] if kernel_choice.kernel != "default" else []
    if str(named) != "default":
        demand_code(code, on_message)
    # The agent first: it takes seconds, and what it lacks is then known before the kernel's minutes.
    built_agent = agent(on_message=on_message)
    built_kernel = kernel(named, on_message=on_message, on_progress=on_progress)
    return GuestImage(
        built_kernel.program, built_agent.program, built_kernel.symbols, built_kernel.facts, built_agent.facts
    )
