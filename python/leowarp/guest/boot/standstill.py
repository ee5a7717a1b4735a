# SPDX-License-Identifier: Apache-2.0
"""Decides when a guest counts as stuck, and finds the code at which its kernel is stuck."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from leowarp.guest.boot.child import Child
from leowarp.guest.boot.places import Fault, with_loaded
from leowarp.guest.machine.own_time import OwnTime
from leowarp.guest.machine.system_calls import Calls

LOOKS = 500
"""The maximum number of times that the instruction pointer of a stuck kernel is sampled. Sampling stops when a sampled
instruction belongs to a module. If a loop spends 1 % of its time in a module, 500 samples find the module with a
probability of 99 %."""
BETWEEN_LOOKS_S = 0.001
SIGNALS = 5
"""The maximum number of SIGSEGVs that leowarp sends to make the kernel print its position."""
ANSWER_S = 1.0
"""The kernel must print its position within this processor time (`OwnTime`), in s."""


@dataclass(frozen=True)
class Patience:
    """The limits after which a guest counts as stuck.

    frozen_cpu_s: The processor seconds that the guest may use while virtual time does not advance. With
        ``time-travel=inf-cpu``, a program that neither sleeps nor reads the clock stops virtual time for good
        (docs/concepts/virtual-time.md).
    asleep_s: The seconds during which all the guest's processes sleep. A process does not count as asleep if it waits
        for a processor or for the disk.
    silent_virtual_s: The virtual seconds without a message from the agent.
    """

    frozen_cpu_s: float = 60.0
    asleep_s: float = 300.0
    silent_virtual_s: float = 3600.0


@dataclass(frozen=True)
class Sample:
    """A sample of a guest's state.

    asleep_s, cpu_s: The time asleep and the processor time so far, in s. `Patience` defines both.
    kernel_cpu_s: The processor time of the kernel program alone.
    clock_ns: The virtual time since boot. None means unknown.
    heard_ns: The virtual time in the agent's latest message.
    calls: The system calls of the guest's programs. None means unknown.
    """

    asleep_s: float
    cpu_s: float
    kernel_cpu_s: float = 0.0
    clock_ns: int | None = None
    heard_ns: int | None = None
    calls: Calls | None = None


class Standstill:
    """Decides from samples whether a guest still makes progress.

    calls: The number of system calls at the last advance of virtual time.
    """

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._clock_ns: int | None = None
        self._cpu_at_step_s = 0.0
        self._cpu_s = -1.0
        self._asleep_at_step_s = 0.0
        self._heard_ns: int | None = None
        self._clock_at_word_ns = 0
        self._last: Sample | None = None
        self._kernel_cpu_at_life_s = 0.0
        self._is_silent = False
        self.calls: Calls | None = None

    def judge(self, now: Sample) -> str | None:
        """Return the reason why the guest counts as stuck, or None if the guest makes progress. If the virtual clock
        cannot be read from memory, the times in the agent's messages are used."""
        # A stripped kernel has no symbols, so its clock cannot be read from memory.
        clock_ns = now.clock_ns if now.clock_ns is not None else now.heard_ns
        # A live agent sends a message once per virtual second. If the agent is dead, the clock may advance, but no
        # messages come.
        if now.heard_ns != self._heard_ns:
            self._heard_ns, self._clock_at_word_ns = now.heard_ns, clock_ns or 0
        if self._last is None or clock_ns != self._clock_ns or now.calls != self._last.calls:
            self._kernel_cpu_at_life_s = now.kernel_cpu_s
        if self._last is None or clock_ns != self._clock_ns:
            self._clock_ns, self._cpu_at_step_s, self.calls = clock_ns, now.cpu_s, now.calls
        if now.cpu_s != self._cpu_s:
            self._cpu_s, self._asleep_at_step_s = now.cpu_s, now.asleep_s
        self._last = now
        at = f"at {(clock_ns or 0) / 1e9:g} s after boot"
        used_s = now.cpu_s - self._cpu_at_step_s
        if used_s > self._patience.frozen_cpu_s:
            return f"virtual time stopped {at} while it used {used_s:.0f} s of processor time"
        if now.asleep_s - self._asleep_at_step_s > self._patience.asleep_s:
            return f"it slept for {now.asleep_s - self._asleep_at_step_s:.0f} s and used no processor time, {at}"
        if clock_ns is not None and clock_ns - self._clock_at_word_ns > self._patience.silent_virtual_s * 1e9:
            self._is_silent = True
            return f"the agent has said nothing for {self._patience.silent_virtual_s:g} virtual seconds, {at}"
        return None

    @property
    def is_in_kernel(self) -> bool | None:
        """Whether the kernel itself keeps the processor busy. False means that a program computes or makes system calls
        in a loop.

        The result is None if virtual time advances, or if the kernel does not record system calls.
        """
        assert self._last is not None
        is_busy = self._last.kernel_cpu_s - self._kernel_cpu_at_life_s > self._patience.frozen_cpu_s / 2
        return None if self._is_silent or (is_busy and self._last.calls is None) else is_busy


def make_kernel_tell(child: Child, has_modules: bool) -> None:
    """Make a guest's kernel print its position with function names while it is in an endless loop. After printing, the
    kernel panics, which ends the guest.

    The function sends SIGSEGV to the guest's kernel, and sends it again if the kernel continues. User Mode Linux reacts
    as if the current instruction had accessed a bad address: it prints its registers and panics (segv,
    arch/um/kernel/trap.c). Sometimes, the kernel is writing page tables or copying from a process. The kernel then
    treats the signal as a result of this work, and continues.

    has_modules: Whether the kernel has modules. If it has modules, the function waits until an instruction of a module
        runs, because a loop of a module may spend most of its time in functions that it calls.
    """
    for _ in range(SIGNALS):
        if child.has_ended(0) or (has_modules and not _stopped_in_module(child.pid)):
            return
        os.kill(child.pid, signal.SIGSEGV)
        os.kill(child.pid, signal.SIGCONT)
        own = OwnTime([child.pid])
        while own.look() and own.total_s < ANSWER_S:
            if child.has_ended(0.01):
                return


def _stopped_in_module(pid: int) -> bool:
    """Stop the kernel, if possible at an instruction of a module. Return False if the kernel has ended."""
    for look in range(LOOKS):
        os.kill(pid, signal.SIGSTOP)
        # With WNOWAIT, `Child.reap` can still wait for a process that has ended.
        state = os.waitid(os.P_PID, pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        if state is None or state.si_code != os.CLD_STOPPED:
            return False
        if look == LOOKS - 1 or _is_in_module(pid):
            break
        os.kill(pid, signal.SIGCONT)
        time.sleep(BETWEEN_LOOKS_S)
    return True


def _is_in_module(pid: int) -> bool:
    with suppress(OSError), open(f"/proc/{pid}/syscall") as file, open(f"/proc/{pid}/maps") as maps:
        # In proc(5), the first field is the system call's number (-1 outside a system call); the last two are stack
        # pointer and program counter.
        instruction, program = int(file.read().split()[-1], 16), os.readlink(f"/proc/{pid}/exe")
        for line in maps:
            # Fields of a line: range, access, offset, device, inode, and the file's name.
            words = line.split(maxsplit=5)
            begin, end = (int(word, 16) for word in words[0].split("-"))
            if begin <= instruction < end:
                # [vdso] is code that the host maps, not a module
                return len(words) < 6 or not words[5].startswith((program, "["))
    return False


def message_and_hint_of_kernel(why: str, fault: Fault | None, modules: Sequence[str]) -> tuple[str, str]:
    """Return the message and the hint for a guest whose kernel is in an endless loop.

    fault: The position of the kernel. None means that the kernel did not print its position.
    """
    where = f"is {fault.described(modules)}" if fault else f"computes{with_loaded(modules)}"
    message = f"the guest stands still: {why}; its kernel {where}"
    if fault is not None and fault.culprit is not None:
        return message, (
            f"the module {fault.culprit} does not return from there: look for a loop without an end in it, or in what "
            "it has a function of the kernel do. The console ends with the registers"
        )
    if modules:
        return message, (
            "a function of the kernel does not return: look for what your module may have left in disorder (a list, a "
            "timer, a window of 0) or calls again and again"
        )
    return message, "a function of the kernel does not return: report it with the plan and the console's text"
