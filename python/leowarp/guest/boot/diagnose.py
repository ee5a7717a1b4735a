# SPDX-License-Identifier: Apache-2.0
"""Makes one message from the last output of a guest. The message says what happened and what to do.

The texts are from Linux 6.12 (arch/um, mm/oom_kill.c, kernel/panic.c).
"""

import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from leowarp.base.errors import GuestError, HostError, LeowarpError
from leowarp.guest.boot.places import fault_in, with_loaded
from leowarp.guest.machine.host import MIB, free_space_bytes


@dataclass(frozen=True)
class _Sign:
    """A text on the console, the error that the text indicates, and the remedy."""

    pattern: str
    error: type[LeowarpError]
    meaning: str
    hint: str


_MORE_MEMORY = "give the guest more: --set 'guest.memory=\"2 GiB\"', or make the scenario smaller"
_OTHER_PLACE = "set TMPDIR to a directory with more space (in a container: --shm-size=2g), or lower guest.memory"

_KILLED = "the guest was killed from outside (SIGKILL); usually this is the host's out-of-memory killer"
_LESS_MEMORY = "dmesg | grep -i 'out of memory'; run fewer guests at a time (--jobs 1) or lower guest.memory"

# A message quotes at most this number of lines: enough for a panic's reason and its context, few enough for a terminal.
LAST_WORDS = 12
LONGEST_WORD = 200
# Lines that do not help a user: the agent's lines for the host, and the registers, raw stack, code and call traces of a
# panic.
_FOR_MACHINES = re.compile(
    r"^\s*$|^\s*leowarp: \{|reboot: Power down$|^(?:\[[ \d.]+\] ?)?"
    r"(?:\s*$|R[A-Z0-9]{2}: [0-9a-f]{16}|Stack:|Code: | [0-9a-f]{8,16} [0-9a-f]{8,16}|Call Trace:|\s*\[<[0-9a-f]+>\] )"
)

# The first match is the cause; later messages on the console are its consequences.
_SIGNS = [
    _Sign(
        # If ptrace fails only for one request (EPERM or ENOSYS), a seccomp filter probably forbids this request.
        r"ptrace: Operation not permitted|check_ptrace : expected SIGSTOP|"
        r"ptrace (set|get|continue)\b[^\n]*failed,[^\n]*errno = (1|38)\b",
        HostError,
        "this machine forbids ptrace, which User Mode Linux runs on",
        "leave strace or gdb; in a container use --cap-add=SYS_PTRACE or --security-opt seccomp=unconfined; "
        "otherwise sysctl kernel.yama.ptrace_scope=1",
    ),
    _Sign(
        r"ptrace set fp regs failed, errno = 14",
        GuestError,
        "this kernel was built without the cure for processors whose registers take more than the 2,696 bytes that "
        "Linux up to 6.12 keeps of them (AMX: Intel's servers since 2023)",
        "use leowarp's own kernel, or give --kernel the tree instead of a binary: then it is linked with "
        "guest/host/registers.c; Linux 6.13 and newer need no cure",
    ),
    # ESRCH of ptrace(2), or a wait status of signal 9, means that the process is gone. When the guest's kernel ends a
    # process itself, neither ESRCH nor signal 9 is reported.
    _Sign(
        r"ptrace (set|get|continue)\b[^\n]*failed,[^\n]*errno = 3\b|"
        r"wait_stub_done : failed to wait for SIGTRAP,[^\n]*status = 0x9\b",
        HostError,
        _KILLED,
        _LESS_MEMORY,
    ),
    _Sign(
        r"must be not mounted noexec|must be mounted exec",
        HostError,
        "the directory for the guest's memory is mounted noexec",
        "set TMPDIR to a directory that is mounted exec",
    ),
    _Sign(
        r"likely just ran out of space",
        HostError,
        "the file system of the guest's memory ran out of space",
        _OTHER_PLACE,
    ),
    _Sign(r"Failed to mkdir|make_uml_dir", HostError, "the run directory cannot be written", "check its permissions"),
    _Sign(r"Too few physical memory", GuestError, "the guest's memory is too small to boot in", _MORE_MEMORY),
    _Sign(
        r"setup_physmem - mapping \d+ bytes",
        HostError,
        "the guest's memory cannot be mapped: the address space is limited",
        "ulimit -v unlimited",
    ),
    _Sign(
        r"Out of memory: Killed process \d+ \((?P<what>[^)]*)\)|System is deadlocked on memory|"
        r"Out of memory and no killable processes",
        GuestError,
        "the guest ran out of memory",
        _MORE_MEMORY,
    ),
    _Sign(
        r"wait_stub_done : failed to wait for SIGTRAP",
        GuestError,
        "User Mode Linux lost one of its own processes (a fault between this kernel and the host's)",
        "report it with the console's text; with a kernel of your own: is it linked with guest/host/rseq.c?",
    ),
    _Sign(
        r"No working init found|Unable to mount root fs|Failed to execute /init",
        GuestError,
        "the guest's init does not start",
        "leowarp kernel clean; leowarp kernel build makes kernel and agent anew",
    ),
    _Sign(
        r"Attempted to kill init! exitcode=(?P<what>0x[0-9a-f]+)",
        GuestError,
        "the agent inside the guest died",
        "the console's last lines say why",
    ),
]
_PANIC = re.compile(r"Kernel panic - not syncing: (?P<what>.*)")
_OVERWRITTEN = (
    "look for a stack that overflows (a function that calls itself, large local arrays), or memory that your module "
    "writes beyond its end"
)
# Known texts of panics, each with a readable explanation.
_REASONS = (
    (r"Kernel mode signal 8\b", "a division by zero, or a quotient that does not fit"),
    (
        r"Kernel mode signal 4\b",
        "an invalid instruction, which a compiler puts where no code can go on, as after a division by a constant 0",
    ),
    (r"Kernel mode fault at addr 0x[0-9a-f]{1,3}\b", "a null pointer"),
    (r"Segfault with no mm|Kernel mode fault at addr|Kernel tried to access user memory", "a bad pointer"),
    (r"Kernel stack is corrupted|corrupted stack end", "a stack that overflowed or was overwritten"),
)


@dataclass(frozen=True)
class Words:
    """The last output of a guest, and information that helps to explain why the guest ended.

    console: The latest output of the guest. A message ends with the last lines of `console`.
    console_file: The file with the guest's complete output. None means that the file's directory will be removed.
    modules: The names of the user's modules in the guest's kernel.
    complaints: What the guest's kernel complained about earlier (module `complaints`), one sentence each.
    """

    console: str
    console_file: Path | None
    work: Path
    modules: Sequence[str] = ()
    complaints: Sequence[str] = ()


def failure(returncode: int, agent_error: dict | None, words: Words) -> LeowarpError | None:
    """Return the error that explains why a guest ended. If the guest ended well, return None.

    If the agent reported an error, this error is the explanation. Otherwise, the explanation comes from the console. If
    the console gives no reason, the explanation comes from the exit status. The error is a HostError if this machine is
    the cause, otherwise a GuestError.

    returncode: The exit status of the kernel program, as in `Child`.
    agent_error: The agent's own `{"error": ..., "hint": ...}`.
    """
    if agent_error is not None:
        return with_disk(GuestError, f"the guest reports: {agent_error['error']}", agent_error.get("hint"), words)
    for sign in _SIGNS:
        if match := re.search(sign.pattern, words.console):
            what = match.groupdict().get("what")
            message = f"{sign.meaning} ({what.strip()})" if what else sign.meaning
            return with_disk(sign.error, message, sign.hint, words)
    if panic := _PANIC.search(words.console):
        return with_disk(GuestError, *_of_panic(panic["what"].strip(), words), words)
    # User Mode Linux has the exit status 0 after a power-off, and also after an out-of-memory kill. A panic in the
    # console's text counts as an error even if the exit status is 0.
    if returncode == 0:
        return None
    # leowarp does not kill a guest that it still watches: when a guest exceeds a limit, leowarp first raises an error.
    # If a watched guest died of SIGKILL, the signal therefore came from another process or from the host's kernel.
    if returncode == -signal.SIGKILL:
        return HostError(_KILLED, hint=_LESS_MEMORY)
    if returncode == -signal.SIGSYS:
        return HostError(
            "the guest was ended by a seccomp filter (SIGSYS): it forbids a system call that User Mode Linux needs",
            hint="in a container use --security-opt seccomp=unconfined",
        )
    if returncode == -signal.SIGXFSZ:
        return HostError("the guest's memory file exceeds the limit on file sizes", hint="ulimit -f unlimited")
    how = f"signal {signal.Signals(-returncode).name}" if returncode < 0 else f"exit status {returncode}"
    message = f"the guest kernel ended with {how}{with_loaded(words.modules)}"
    return with_disk(GuestError, message, _OVERWRITTEN if words.modules else None, words)


def _of_panic(what: str, words: Words) -> tuple[str, str]:
    fault = fault_in(words.console, words.modules)
    where = f" {fault.described(words.modules)}" if fault else with_loaded(words.modules)
    meaning = next((f"{meaning}: " for pattern, meaning in _REASONS if re.search(pattern, what)), "")
    message = f"the guest kernel panicked{where} ({meaning}{what})"
    if fault is not None and fault.culprit is not None:
        return message, f"fix the module {fault.culprit} at the function that is named; the console has the registers"
    if words.modules:
        return message, (
            "look for what your module passes to the kernel's functions or leaves behind in its structures; the "
            "console has the registers"
        )
    return message, "the console's text says where"


def with_disk(error: type[LeowarpError], message: str, hint: str | None, words: Words) -> LeowarpError:
    """Return the error that the arguments describe. If the file system of `words.work` is full, return a HostError that
    says so instead."""
    if free_space_bytes(words.work) < MIB:
        return HostError(
            f"{message}; the file system of {words.work} is full",
            hint="free some space there, or name another directory with --out",
        )
    return error(with_last_words(message, words), hint=hint)


def with_last_words(message: str, words: Words) -> str:
    """Return a text with four parts: the message, the kernel's first complaint, the guest's last lines, and the name of
    the file with all lines."""
    # Only the kernel's first complaint is named, because it may have caused the later complaints.
    before = f"; before that, {words.complaints[0]}" if words.complaints else ""
    lines = last_words(words.console)
    if not lines:
        where = "" if words.console_file is None else f" ({words.console_file})"
        return f"{message}{before}; the guest printed nothing else{where}"
    where = "" if words.console_file is None else f" (all of them in {words.console_file})"
    return f"{message}{before}. The guest's last words{where}:" + "".join(f"\n    {line}" for line in lines)


def last_words(console: str) -> list[str]:
    """Return the last lines of a console, as information for the user. There are at most `LAST_WORDS` lines. The
    agent's messages to the host and a panic's registers are left out. The first line that shows a cause is always
    included. Lines are cut at `LONGEST_WORD` characters.

    >>> last_words("Kernel panic - not syncing: x")
    ['Kernel panic - not syncing: x']
    """
    lines = [line.rstrip()[:LONGEST_WORD] for line in console.splitlines() if not _FOR_MACHINES.search(line)]
    tail = lines[-LAST_WORDS:]
    # A panic prints registers and a stack after its reason, often in more than `LAST_WORDS` lines.
    causes = [*(sign.pattern for sign in _SIGNS), _PANIC.pattern]
    cause = next((line for line in lines if any(re.search(pattern, line) for pattern in causes)), None)
    return tail if cause is None or cause in tail else [cause, *tail[1:]]
