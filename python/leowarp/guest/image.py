# SPDX-License-Identifier: Apache-2.0
"""A guest that can be booted: a kernel and an agent."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from leowarp.guest.agent import agent
from leowarp.guest.kernel import kernel


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
    kernel_choice: str | Path = "default",
    *,
    on_message: Callable[[str], None] = lambda text: None,
    on_progress: Callable[[int, int], None] = lambda done, expected: None,
) -> GuestImage:
    """Kernel and agent for a run, built if they are not there yet.

    Parameters
    ----------
    kernel_choice : str or Path
        "default", a kernel tree, or a kernel binary.
    on_message, on_progress : callable
        A line of text; (steps done, steps expected) while the kernel is built.

    Raises
    ------
    HostError
        If something that a build needs is missing, or a build fails.
    ScenarioError
        If `kernel_choice` is not a kernel.
    """
    # The agent first: it takes seconds, and what it lacks is then known before the kernel's minutes.
    built_agent = agent(on_message=on_message)
    built_kernel = kernel(kernel_choice, on_message=on_message, on_progress=on_progress)
    return GuestImage(
        built_kernel.program, built_agent.program, built_kernel.symbols, built_kernel.facts, built_agent.facts
    )
