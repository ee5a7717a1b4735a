# SPDX-License-Identifier: Apache-2.0
"""Checks whether this machine meets the requirements of a run. Each check gives the value found, the value needed and
the remedy."""

import functools
import mmap
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from leowarp.base.errors import HostError
from leowarp.base.machine.memory import available_memory_bytes

MIB = 1 << 20
# The margin is for the kernel program, its page tables, and a gap before its heap. execve may leave such a gap
# (measured: up to 1 GiB).
ADDRESS_SPACE_MARGIN_BYTES = 2 << 30
# Space for the console, capture buffers and the records of a short run. A long run writes more records than a short
# one. If the records fill the disk, the run reports an error.
DISK_NEEDED_BYTES = 64 * MIB


@dataclass(frozen=True)
class Check:
    """The result of a check whether the machine meets a requirement.

    found, needed: The value on this machine, and the value that is required.
    mend: The text that says what to type or to change if the requirement is not met.
    """

    name: str
    ok: bool
    found: str
    needed: str
    mend: str | None = None


def demand(checks: list[Check], attempted: str) -> None:
    """If at least one check failed, raise one HostError that names all failed checks, with the remedy for each.

    attempted: The action that needs the checks, for the error message. An example is "booting the guest".
    """
    failed = [check for check in checks if not check.ok]
    if not failed:
        return
    lines = [f"{check.name}: {check.found}; needed: {check.needed}" for check in failed]
    fixes = [check.mend for check in failed if check.mend]
    listed = lines[0] if len(lines) == 1 else "".join(f"\n  - {line}" for line in lines)
    raise HostError(f"{attempted}: this machine lacks {listed}", hint="; ".join(dict.fromkeys(fixes)) or None)


def memory_directory(memory_bytes: int, others: list[Path]) -> tuple[Path | None, Check]:
    """Return the directory for the guest's memory file, and the check that reports this choice.

    The directories are tried in this order: $TMPDIR, /dev/shm, /tmp, /var/tmp, `others`. A directory is suitable if it
    is writable, allows execution and has `memory_bytes` free. The first suitable directory is chosen. A tmpfs is
    fastest, but any file system works.

    memory_bytes: The size of the guest's memory. The file is sparse, but a guest that touches more than the available
        space dies of a bus error.
    """
    tried = []
    named = os.environ.get("TMPDIR")
    # The user's choice comes first, then file systems in memory. On a disk's file system, the kernel eventually writes
    # each touched page, and this is slow.
    candidates = ([Path(named)] if named else []) + [Path("/dev/shm"), Path("/tmp"), Path("/var/tmp"), *others]
    for directory in dict.fromkeys(candidates):
        why_not = _why_not_for_memory(directory, memory_bytes)
        if why_not is None:
            return directory, Check("memory file", True, str(directory), "")
        tried.append(f"{directory} {why_not}")
    needed = f"a directory that is writable, mounted exec, with {memory_bytes // MIB} MiB free"
    fix = "set TMPDIR to such a directory (in a container: --shm-size=2g), or lower guest.memory"
    return None, Check("a place for the guest's memory", False, ", ".join(tried), needed, fix)


def _why_not_for_memory(directory: Path, memory_bytes: int) -> str | None:
    if not directory.is_dir():
        return "does not exist"
    free_bytes = free_space_bytes(directory)
    if free_bytes < memory_bytes:
        return f"has {free_bytes // MIB} MiB free"
    try:
        with tempfile.TemporaryFile(dir=directory) as file:
            file.truncate(mmap.PAGESIZE)
            # User Mode Linux maps its memory file as executable, which a file system mounted with noexec refuses.
            mmap.mmap(file.fileno(), mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_EXEC).close()
    except PermissionError as error:
        return "is mounted noexec" if os.access(directory, os.W_OK) else f"cannot be written ({error.strerror})"
    except OSError as error:
        return f"cannot be used ({error.strerror})"
    return None


def free_space_bytes(directory: Path) -> int:
    """Return the bytes that a user other than root can still write to the file system of `directory`."""
    status = os.statvfs(directory)
    return status.f_bavail * status.f_frsize


def disk(directory: Path) -> Check:
    free_bytes = free_space_bytes(directory)
    return Check(
        "space for the run",
        free_bytes >= DISK_NEEDED_BYTES,
        f"{free_bytes // MIB} MiB free in {directory}",
        f"at least {DISK_NEEDED_BYTES // MIB} MiB",
        "free some space there, or name another directory with --out",
    )


def memory(memory_bytes: int) -> Check:
    available = available_memory_bytes()
    return Check(
        "memory",
        available >= memory_bytes,
        f"{available // MIB} MiB available",
        f"{memory_bytes // MIB} MiB for the guest",
        "end other programs, or lower the guest's memory: --set 'guest.memory=\"512 MiB\"'",
    )


def limits(memory_bytes: int) -> list[Check]:
    """Return the checks of the resource limits (ulimit). The guest ends without a message if it exceeds one of two
    limits. The limits are on the file size (SIGXFSZ on the memory file) and on the address space (ENOMEM)."""
    space_bytes = memory_bytes + ADDRESS_SPACE_MARGIN_BYTES
    rules = [
        ("largest file (ulimit -f)", resource.RLIMIT_FSIZE, memory_bytes, "ulimit -f unlimited"),
        ("address space (ulimit -v)", resource.RLIMIT_AS, space_bytes, "ulimit -v unlimited"),
        ("open files (ulimit -n)", resource.RLIMIT_NOFILE, 64, "ulimit -n 1024"),
    ]
    checks = []
    for name, number, least, fix in rules:
        soft, _ = resource.getrlimit(number)
        endless = soft == resource.RLIM_INFINITY
        limit = "unlimited" if endless else str(soft)
        # The check uses the soft limit, because the kernel enforces the soft limit, not the hard limit.
        checks.append(Check(name, endless or soft >= least, limit, f"at least {least}", fix))
    return checks


@functools.cache
def ptrace() -> Check:
    """Check whether a process may trace its own child. User Mode Linux runs the guest's programs as child processes,
    which it traces."""
    # The options -I -S isolate Python, so that the answer depends only on the kernel and not on the user's settings.
    probe = Path(__file__).with_name("ptrace_probe.py")
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(probe)], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    return Check(
        "ptrace",
        done.returncode == 0,
        "allowed" if done.returncode == 0 else (done.stderr.strip().splitlines() or ["refused"])[-1],
        "a process may trace its own child",
        "outside of strace and gdb; in a container: --cap-add=SYS_PTRACE or --security-opt seccomp=unconfined; "
        "otherwise sysctl kernel.yama.ptrace_scope=1",
    )


def program(path: Path, name: str) -> Check:
    state = "not there" if not path.is_file() else "not executable" if not os.access(path, os.X_OK) else str(path)
    ok = state == str(path)
    return Check(name, ok, state if ok else f"{path} is {state}", "an executable file", "leowarp kernel build")


def tool(name: str, package: str, directories: str | None = None) -> Check:
    """Check whether a command is on the PATH. If `directories` is given, search these directories instead.
    `directories` has the form of PATH. The remedy is to install the Debian package `package`."""
    path = shutil.which(name, path=directories)
    lacking = "not on the PATH" if directories is None else f"not in {directories}"
    return Check(name, path is not None, path or lacking, f"Debian package {package}", apt([package]))


def apt(packages: list[str]) -> str:
    return f"{'' if os.geteuid() == 0 else 'sudo '}apt-get install -y --no-install-recommends {' '.join(packages)}"
