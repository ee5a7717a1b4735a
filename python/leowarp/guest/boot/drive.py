# SPDX-License-Identifier: Apache-2.0
"""Boots the guest kernel on a timeline, watches it, and collects its output.

The guest must not see anything that differs between machines, users or days. The guest's command line, its environment
and the names of its files are constants. The guest's directory is always named `/proc/self/cwd`, because hostfs does
not accept a relative name.
"""

import json
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from leowarp.base.errors import GuestError
from leowarp.guest.boot import diagnose
from leowarp.guest.boot.child import Child
from leowarp.guest.boot.complaints import Complaints
from leowarp.guest.boot.consoles import Consoles
from leowarp.guest.boot.places import fault_in
from leowarp.guest.boot.standstill import (
    Patience,
    Sample,
    Standstill,
    make_kernel_tell,
    message_and_hint_of_kernel,
)
from leowarp.guest.boot.watch import (
    CONSOLE_BYTES_PER_VIRTUAL_S,
    CONSOLE_LIMIT_BYTES,
    Console,
    GuestMemory,
    Usage,
    members_of_session,
)
from leowarp.guest.building.image import GuestImage, initramfs
from leowarp.guest.machine import host
from leowarp.guest.machine.processor import Processor
from leowarp.guest.machine.system_calls import polling
from leowarp.guest.setup.input import MODULES

# The guest's wall clock at boot: 2000-01-01T00:00:00Z in ns. With a constant wall clock at boot, results do not depend
# on the host's time.
GUEST_EPOCH_NS = 946_684_800_000_000_000
# Kernel parameters that fix the sizes of the kernel's hash tables. By default the kernel derives the sizes of its
# tables from MemTotal, which varies with the host's address layout. Over several boots with mem=300M, MemTotal was 278
# to 293 MB.
TABLE_SIZES = (
    "thash_entries=4096 uhash_entries=1024 dhash_entries=16384 "
    "ihash_entries=8192 mhash_entries=1024 mphash_entries=1024"
)


@dataclass(frozen=True)
class GuestProgress:
    """The progress of a guest.

    virtual_ns: The virtual time since the run's start. None means that the network is being built.
    cpu_s, wall_s: The processor time and the real time since boot.
    """

    virtual_ns: int | None
    cpu_s: float
    wall_s: float


@dataclass(frozen=True)
class GuestResult:
    """The results of a guest that ran to the end of the run.

    out_dir: The directory of the record files (design/interfaces.md, section 5).
    end: The content of the guest's `end.json`.
    cpu_s: The processor time of the kernel program and the guest's processes.
    wall_s: The real time from launch to end.
    peak_memory_bytes: The largest resident size of the kernel program, with the memory of the guest's programs.
    kernel_warnings: The complaints of the guest's kernel, one sentence each (module `complaints`).
    """

    out_dir: Path
    end: dict
    cpu_s: float
    wall_s: float
    peak_memory_bytes: int
    kernel_warnings: tuple[str, ...]

    def discard(self) -> None:
        """Remove the guest's directory. The caller must first convert the records to Parquet."""
        shutil.rmtree(self.out_dir.parent)


def check(image: GuestImage, directory: Path, memory_bytes: int) -> list[host.Check]:
    """Check all requirements of a run in `directory` on this machine."""
    _, place = host.memory_directory(memory_bytes, [directory])
    return [
        host.program(image.kernel, "the guest kernel"),
        host.program(image.agent, "the agent"),
        host.ptrace(),
        place,
        host.memory(memory_bytes),
        host.disk(directory),
        *host.limits(memory_bytes),
    ]


def drive(
    image: GuestImage,
    directory: Path,
    console: Path,
    *,
    duration_ns: int,
    seed: int,
    memory_bytes: int,
    on_progress: Callable[[GuestProgress], None] = lambda progress: None,
    patience: Patience | None = None,
    consoles: Consoles | None = None,
    on_warning: Callable[[str], None] = lambda text: None,
) -> GuestResult:
    """Boot `image` with the input in `directory`/in, and wait until the guest ends.

    directory: A directory that contains `in/` with `setup.json` and `events.bin`. The guest sees only this directory of
        the host, and writes to its subdirectory `out/`.
    console: The file for everything that the guest prints.
    duration_ns, seed, memory_bytes: The values of the plan.
    consoles: An object that connects all the guest's consoles except the first to this machine. By default, these
        consoles are unconnected.
    on_warning: A function that is called at the end, once for each of the result's `kernel_warnings`. It is also called
        if the user ends the guest.
    Raises HostError if the machine does not meet a requirement. One message names all failed requirements.
    Raises GuestError if the guest panics, runs out of memory, hangs, or ends without `end.json`.
    """
    directory = _prepared(image, directory, memory_bytes)
    watched = _Watched(image, directory, console.resolve(), duration_ns, on_progress, patience or Patience(), consoles)
    try:
        result = watched.run(seed, memory_bytes)
    except KeyboardInterrupt:
        watched.tell(on_warning)
        raise
    watched.tell(on_warning)
    return result


def _prepared(image: GuestImage, directory: Path, memory_bytes: int) -> Path:
    """Check all requirements, empty `out/`, write the initramfs, and return the resolved directory."""
    directory = directory.resolve()
    host.demand(check(image, directory, memory_bytes), "booting the guest")
    out = directory / "out"
    # If the new guest wrote no records, those of an earlier guest would be mistaken for its records.
    if out.exists():
        shutil.rmtree(out)
    out.mkdir()
    (directory / "init.cpio").write_bytes(initramfs(image.agent, image.agent.stat().st_mtime_ns))
    return directory


def command_line(memory_bytes: int, modules: bool = False, consoles: Sequence[str] = ()) -> list[str]:
    """Return the guest's kernel command line, which is the same on every machine for the same plan.

    modules: Whether modules of the user are loaded. With modules, the kernel prints function names for a fault.
    consoles: The kernel options for the consoles that are connected.
    """
    memory_mib = -(-memory_bytes // host.MIB)
    return [
        f"mem={memory_mib}M",
        "initrd=init.cpio",
        # The name of the working directory is constant, because the guest must not see the run's location.
        "hostfs=/proc/self/cwd",
        # Without this option, the kernel makes a random name (mkstemp in make_umid, arch/um/os-Linux/umid.c).
        "umid=leowarp",
        # With inf-cpu, computing takes no virtual time, so the host's speed has no effect
        # (docs/concepts/virtual-time.md).
        "time-travel=inf-cpu",
        f"time-travel-start={GUEST_EPOCH_NS}",
        # By default, each console except the first would open an xterm (CON_CHAN, arch/um/drivers/Kconfig).
        "con=null",
        "con0=null,fd:1",
        *consoles,
        "loglevel=7" if modules else "quiet",
        "panic=-1",
        *TABLE_SIZES.split(),
    ]


@dataclass
class _Watched:
    """Watches one guest from boot to end.

    consoles: None means that all consoles except the first are unconnected.
    virtual_ns: The last time that the guest's agent reported.
    error: The agent's first error.
    """

    image: GuestImage
    work: Path
    console_file: Path
    duration_ns: int
    on_progress: Callable[[GuestProgress], None]
    patience: Patience
    consoles: Consoles | None
    virtual_ns: int | None = None
    error: dict | None = None

    def __post_init__(self) -> None:
        self._consoles = self.consoles or Consoles()
        self._modules = sorted(file.stem for file in (self.work / "in" / MODULES).glob("*.ko"))
        self._complaints = Complaints(self._modules)

    def run(self, seed: int, memory_bytes: int) -> GuestResult:
        began = time.monotonic()
        with self._consoles, self._boot(seed, memory_bytes) as child, closing(Console(self.console_file)) as console:
            self._consoles.attach()
            usage = self._wait(child, console, began)
            left_s = usage.left_s()
            rusage = child.reap()
            self._hear(console)
            words = self._words(console.text())
        self._consoles.check()
        assert child.returncode is not None
        # `rusage` (from wait4) counts the kernel program and all processes that it waited for, up to the last tick. The
        # kernel program did not wait for some processes. Their processor time, as of their last sample, is added
        # (`left_s`).
        cpu_s = max(rusage.ru_utime + rusage.ru_stime, usage.main_s + usage.reaped_s) + left_s
        wall_s, peak_memory_bytes = time.monotonic() - began, rusage.ru_maxrss * 1024
        end = self._ending(child.returncode, words)
        return GuestResult(self.work / "out", end, cpu_s, wall_s, peak_memory_bytes, tuple(words.complaints))

    def _boot(self, seed: int, memory_bytes: int) -> Child:
        directory, _ = host.memory_directory(memory_bytes, [self.work])
        environment = {
            # The kernel makes a directory ~/.uml/ for its own files, and aborts if it cannot. HOME is a directory of
            # the run, so that the files in ~/.uml/ do not remain elsewhere.
            "HOME": ".",
            # The kernel creates its memory file in `TMPDIR`. This file is sparse, so unused memory takes no space.
            "TMPDIR": str(directory),
            "LEOWARP_SEED": str(seed),
            # GLIBC_TUNABLES is for kernels without guest/host/rseq.c. In kernels without rseq.c, glibc would register a
            # restartable sequence (rseq), and the host would kill each guest process whose memory is unmapped.
            "GLIBC_TUNABLES": "glibc.pthread.rseq=0",
        }
        words = command_line(memory_bytes, bool(self._modules), self._consoles.words)
        descriptors = self._consoles.descriptors
        return Child([str(self.image.kernel), *words], self.work, environment, self.console_file, descriptors)

    def _wait(self, child: Child, console: Console, began: float) -> Usage:
        stuck, usage = Standstill(self.patience), Usage(child.pid)
        memory = GuestMemory(child.pid, self.image.symbols)
        # Printing takes no virtual time, so a flood of messages could fill the disk while the virtual clock does not
        # advance.
        limit_bytes = CONSOLE_LIMIT_BYTES + CONSOLE_BYTES_PER_VIRTUAL_S * self.duration_ns // 10**9
        with closing(Processor()) as processor:
            # The processor is set before the kernel starts a process of the guest, because children inherit their
            # parent's allowed processors.
            processor.keep([child.pid])
            # During its first 0.5 s a guest is sampled more often. With a longer interval, a short guest could have
            # processes that are never sampled. wait4 does not count these processes.
            while not child.has_ended(0.03 if time.monotonic() - began < 0.5 else 0.1):
                self._hear(console)
                self._consoles.check()
                now = time.monotonic()
                cpu_s = usage.sample()
                if self._consoles.is_still:
                    # While the guest waits for its user, the limits of `patience` do not apply, because a user may take
                    # any time.
                    stuck = Standstill(self.patience)
                    continue
                if processor.starved(now, cpu_s):
                    processor.keep(members_of_session(child.pid))
                self.on_progress(GuestProgress(self.virtual_ns, cpu_s, now - began))
                if console.size_bytes > limit_bytes:
                    message = f"the guest printed more than {limit_bytes >> 20} MiB"
                    raise GuestError(diagnose.with_last_words(message, self._words(console.text())))
                sample = Sample(usage.asleep_s, cpu_s, usage.main_s, memory.clock_ns(), self.virtual_ns, memory.calls())
                if why := stuck.judge(sample):
                    raise self._stood_still(why, stuck, child, memory, console)
        return usage

    def _stood_still(
        self, why: str, stuck: Standstill, child: Child, memory: GuestMemory, console: Console
    ) -> GuestError:
        # The console is read first, because `make_kernel_tell` causes a panic. The panic is not the cause of the
        # standstill.
        words = self._words(console.text())
        culprit = f"; the program on its processor: {program}" if (program := memory.running_program()) else ""
        made, hint = polling(stuck.calls, memory.calls())
        message = f"the guest stands still: {why}{culprit}{made}"
        is_in_kernel = stuck.is_in_kernel
        if is_in_kernel or (is_in_kernel is None and self._modules):
            make_kernel_tell(child, bool(self._modules))
            self._hear(console)
            fault = fault_in(console.text(), self._modules)
            if is_in_kernel or (fault is not None and fault.culprit is not None):
                message, hint = message_and_hint_of_kernel(why, fault, self._modules)
        return GuestError(diagnose.with_last_words(message, words), hint)

    def _hear(self, console: Console) -> None:
        for line in console.lines():
            if isinstance(line, str):
                self._complaints.hear(line)
                continue
            if "t_ns" in line:
                self.virtual_ns = int(line["t_ns"])
            if "start_ns" in line:
                self._complaints.start_ns = int(line["start_ns"])
            if "error" in line and self.error is None:
                self.error = line

    def _words(self, console: str) -> diagnose.Words:
        complaints = self._complaints.sentences()
        # If the caller passes its own consoles, the caller removes the guest's directory at the end. Messages must then
        # not name files in this directory.
        kept = self.console_file if self.consoles is None else None
        return diagnose.Words(console, kept, self.work, self._modules, complaints)

    def tell(self, on_warning: Callable[[str], None]) -> None:
        for sentence in self._complaints.sentences():
            on_warning(sentence)

    def _ending(self, returncode: int, words: diagnose.Words) -> dict:
        """Return the content of the guest's `end.json`, or raise the error that explains why there is none."""
        if error := diagnose.failure(returncode, self.error, words):
            raise error
        try:
            end = json.loads((self.work / "out" / "end.json").read_text())
        except FileNotFoundError as missing:
            reached = "before its start" if self.virtual_ns is None else f"after {self.virtual_ns / 1e9:g} s"
            message = f"the guest ended {reached} of {self.duration_ns / 1e9:g} s without out/end.json"
            raise diagnose.with_disk(GuestError, message, None, words) from missing
        except ValueError as broken:
            raise GuestError(f"out/end.json of the guest is not JSON: {broken}") from broken
        if end.get("ok") is not True:
            raise GuestError(f"the guest's end.json does not say ok: {json.dumps(end)[:2000]}")
        return end
