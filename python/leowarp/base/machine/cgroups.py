# SPDX-License-Identifier: Apache-2.0
"""The limits of control groups, versions 1 and 2. A process is limited by its own group and by all parents of this
group.

References: cgroups(7); Documentation/admin-guide/cgroup-v2.rst (memory.max, cpu.max), cgroup-v1/memory.rst, and
scheduler/sched-bwc.rst (cpu.cfs_quota_us) of the kernel.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

PROC = Path("/proc/self/cgroup")
ROOT = Path("/sys/fs/cgroup")


def memory_left_bytes(proc: Path = PROC, root: Path = ROOT) -> int | None:
    """Return the number of bytes that the process may still use, or None if there is no limit. Each group of the
    process, and each parent of a group, may have a limit. The result is the smallest number of bytes that any of these
    limits leaves.

    proc, root: The file that lists the control groups of the process, and the directory where control groups are
        mounted.
    """
    left = []
    for directory in _directories("memory", proc, root):
        for limit, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
            limit_bytes, used_bytes = _number(directory / limit), _number(directory / used)
            if limit_bytes is not None and used_bytes is not None:
                left.append(max(0, limit_bytes - used_bytes))
    return min(left, default=None)


def usable_cores(proc: Path = PROC, root: Path = ROOT) -> int:
    """Return the number of processors that this process may use, at least 1. The limits are the affinity of this
    process, and the quotas of its control group and the group's parents."""
    quotas = []
    for directory in _directories("cpu", proc, root):
        words = _text(directory / "cpu.max").split()
        # The file contains "max 100000", or the microseconds of processor time per period, followed by the period.
        if len(words) == 2 and words[0].isdigit() and words[1].isdigit():
            quotas.append(int(words[0]) / max(1, int(words[1])))
        quota_us, period_us = _number(directory / "cpu.cfs_quota_us"), _number(directory / "cpu.cfs_period_us")
        if quota_us is not None and period_us:
            quotas.append(quota_us / period_us)
    return max(1, int(min([len(os.sched_getaffinity(0)), *quotas])))


def _directories(controller: str, proc: Path, root: Path) -> Iterator[Path]:
    """Yield the directories of the process's cgroup and of its parents. Some of them may not exist here."""
    for line in _text(proc).splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers == "":
            mounts = [root, root / "unified"]
        elif controller in controllers.split(","):
            mounts = [root / controller, root / controllers]
        else:
            continue
        # In a container, the directory of the container's group may be mounted as the root. `path`, however, is the
        # path of this group on the host. A directory of `path` may be missing in the container. A missing directory
        # gives no limit, but its parents are still checked.
        parts = [part for part in path.split("/") if part not in ("", ".", "..")]
        for mount in mounts:
            yield from (mount.joinpath(*parts[:depth]) for depth in range(len(parts), -1, -1))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError:
        return ""


def _number(file: Path) -> int | None:
    """Return the integer in a file. None means no limit: the file contains "max" or -1 or does not exist."""
    text = _text(file).strip()
    return int(text) if text.isdigit() else None
