# SPDX-License-Identifier: Apache-2.0
"""Memory that this process may use, limited by the machine, its control groups and its own limit."""

from __future__ import annotations

import resource
from pathlib import Path

from leowarp.base.machine.cgroups import memory_left_bytes


def available_memory_bytes() -> int:
    """Memory that a new process may use: MemAvailable, or the rest under the limits of our cgroup and its parents if
    that is less."""
    available = next(
        int(line.split()[1]) * 1024
        for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        if line.startswith("MemAvailable:")
    )
    # In a container, MemAvailable is that of the whole machine, but the out-of-memory killer acts at the cgroup's
    # limit.
    left = memory_left_bytes()
    return available if left is None else min(available, left)


def usable_memory_bytes() -> int:
    """Memory that this process itself may use: `available_memory_bytes`, or its address space (ulimit -v) if that is
    less."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    available = available_memory_bytes()
    return available if soft == resource.RLIM_INFINITY else min(available, soft)
