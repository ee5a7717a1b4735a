# SPDX-License-Identifier: Apache-2.0
"""A guest that can be booted: a kernel and an agent."""

from dataclasses import dataclass, field
from pathlib import Path


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
