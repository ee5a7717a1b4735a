# SPDX-License-Identifier: Apache-2.0
"""The memory that this process may use. The limits come from the machine, its control groups and ulimit."""

from __future__ import annotations

import resource
from pathlib import Path

from leowarp.base.machine.cgroups import memory_left_bytes


def available_memory_bytes() -> int:
    """Return the memory that a new process may use, in bytes. It is MemAvailable, or less if the process's control
    group or a parent of this group allows less."""
    available = next(
        int(line.split()[1]) * 1024
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        if line.startswith("MemAvailable:")
    )
    # In a container, MemAvailable is the memory of the whole machine. The out-of-memory killer, however, acts at the
    # limit of the control group.
    left = memory_left_bytes()
    return available if left is None else min(available, left)


def usable_memory_bytes() -> int:
    """Return the memory that this process itself may use, in bytes. It is the lower of `available_memory_bytes` and the
    limit of the address space (ulimit -v)."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    available = available_memory_bytes()
    return available if soft == resource.RLIM_INFINITY else min(available, soft)
