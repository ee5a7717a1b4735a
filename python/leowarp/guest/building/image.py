# SPDX-License-Identifier: Apache-2.0
"""A bootable guest: a kernel and an agent."""

import functools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from leowarp.base.progress import BuildProgress, silent
from leowarp.guest.building.agent import Agent, agent
from leowarp.guest.building.kernel import kernel
from leowarp.guest.building.trust import Code, demand_code
from leowarp.scenario import is_kernel_name

if TYPE_CHECKING:
    from leowarp.scenario.schema import Guest

# Modes of entries of the initramfs (inode(7)).
_DIRECTORY, _PROGRAM, _CHARACTER_DEVICE = 0o040755, 0o100755, 0o020600


@dataclass(frozen=True)
class GuestImage:
    """A kernel and an agent, as files.

    symbols: The addresses of the kernel's variables that leowarp reads while the guest runs. The dict may be empty.
    kernel_facts, agent_facts: The origin of kernel and agent, as recorded in the manifest.
    """

    kernel: Path
    agent: Path
    symbols: dict[str, int] = field(default_factory=dict)
    kernel_facts: dict = field(default_factory=dict)
    agent_facts: dict = field(default_factory=dict)


def guest_image(
    kernel_choice: "str | Path | Guest" = "default",
    *,
    on_message: Callable[[str], None] = lambda text: None,
    on_progress: Callable[[BuildProgress], None] = silent,
) -> GuestImage:
    """Return the kernel and the agent for a run. If both are missing, they are built in parallel. After an error in one
    build, or after Ctrl-C, both builds end and no process remains.

    kernel_choice: A str or Path is the user's choice: a name on the shelf, a kernel tree, or a kernel binary. A `Guest`
        is the section of a plan, which also says whether a file or the user chose the kernel.
    on_message, on_progress: Functions that are called with a line of text, from two threads, and with the progress of
        the kernel build.
    Raises HostError if a requirement of a build is missing, or a build fails.
    Raises ScenarioError if `kernel_choice` is not a kernel, or if a file names it and the user never accepted it
        (`trust`).
    """
    named_in: Path | None = None
    if isinstance(kernel_choice, str | Path):
        named: str | Path = kernel_choice
    else:
        named, named_in = kernel_choice.kernel, kernel_choice.kernel_named_in
    if not (isinstance(named, str) and is_kernel_name(named)):
        demand_code([Code("guest.kernel", Path(named).expanduser(), named_in)], on_message)
    failed, abandoned = threading.Event(), threading.Event()

    def build_agent() -> Agent:
        try:
            return agent(on_message=on_message, on_wait=lambda: _end_if(abandoned))
        except BaseException:
            failed.set()
            raise

    def progress(at: BuildProgress) -> None:
        _end_if(failed)
        on_progress(at)

    # The kernel is built in this thread, which receives Ctrl-C; the agent's build checks ten times per second whether
    # it has to end.
    with ThreadPoolExecutor(1, "leowarp-agent") as beside:
        future = beside.submit(build_agent)
        try:
            built_kernel = kernel(named, on_message=on_message, on_progress=progress)
            built_agent = future.result()
        except _EndedByOther:
            future.result()  # Raises the agent's error.
            raise
        finally:
            abandoned.set()
    return GuestImage(
        built_kernel.program, built_agent.program, built_kernel.symbols, built_kernel.facts, built_agent.facts
    )


class _EndedByOther(Exception):
    """If the build of the kernel fails, this error is raised in the build of the agent to end it."""


def _end_if(event: threading.Event) -> None:
    if event.is_set():
        raise _EndedByOther


@functools.lru_cache(maxsize=1)
def initramfs(init: Path, changed_ns: int) -> bytes:
    """Return the guest's complete userland: a newc cpio archive with `/init`, `/dev/console`, `/dev/null` and empty
    directories, on which the agent mounts file systems.

    The format is described in Documentation/driver-api/early-userspace/buffer-format.rst of Linux. Dates, owners and
    inode numbers are constant, because the guest must not see anything of the host.

    init: A static program, because the archive contains no libraries.
    changed_ns: The modification time of `init`, by which the archive is cached for all runs of a process.
    """
    entries = [("dev", _DIRECTORY, b"", 0, 0), ("dev/console", _CHARACTER_DEVICE, b"", 5, 1)]
    # Device numbers are those of Documentation/admin-guide/devices.txt. The kernel opens /dev/console for `/init`.
    entries += [("dev/null", _CHARACTER_DEVICE, b"", 1, 3)]
    entries += [(name, _DIRECTORY, b"", 0, 0) for name in ("proc", "sys", "host", "run", "tmp")]
    entries += [("init", _PROGRAM, init.read_bytes(), 0, 0)]
    archive = b"".join(_entry(number, *entry) for number, entry in enumerate(entries, start=1))
    archive += _entry(0, "TRAILER!!!", 0, b"", 0, 0)
    return archive + b"\0" * (-len(archive) % 512)


def _entry(inode: int, name: str, mode: int, content: bytes, major: int, minor: int) -> bytes:
    encoded = name.encode() + b"\0"
    # uid, gid and date are 0 and the number of links is 1, so the header is the same for every user and at every time.
    fields = (inode, mode, 0, 0, 1, 0, len(content), 0, 0, major, minor, len(encoded), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields)
    head = header + encoded
    # The header with the name, and the content, are each padded to 4 bytes.
    return head + b"\0" * (-len(head) % 4) + content + b"\0" * (-len(content) % 4)
