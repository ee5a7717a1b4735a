# SPDX-License-Identifier: Apache-2.0
"""From the last words of a guest to one message that says what happened and what to do.

The texts are those of Linux 6.12 (arch/um, mm/oom_kill.c, kernel/panic.c).
"""

import re
import signal
from dataclasses import dataclass
from pathlib import Path

from leowarp.errors import GuestError, HostError, LeowarpError
from leowarp.guest.host import MIB, free_space_bytes


@dataclass(frozen=True)
class _Sign:
    """A text on the console, the error that it means, and what to do about it."""

    pattern: str
    error: type[LeowarpError]
    meaning: str
    hint: str


_MORE_MEMORY = "give the guest more: --set 'guest.memory=\"2 GiB\"', or make the scenario smaller"
_OTHER_PLACE = "set TMPDIR to a directory with more space (in a container: --shm-size=2g), or lower guest.memory"

# Enough for a panic's reason and what led to it, little enough for a terminal
LAST_WORDS = 12
LONGEST_WORD = 200
# Lines of the agent for the host; registers, raw stack and code of a panic
_FOR_MACHINES = re.compile(
    r"^\s*$|^\s*leowarp: \{|reboot: Power down$|"
    r"^(?:\[[ \d.]+\] ?)?(?:R[A-Z0-9]{2}: [0-9a-f]{16}|Stack:|Code: | [0-9a-f]{8,16} [0-9a-f]{8,16})"
)

# The first that matches is the cause; what follows a cause on the console is its consequence.
_SIGNS = [
    _Sign(
        r"ptrace: Operation not permitted|check_ptrace : expected SIGSTOP",
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
        "guest/ptrace.c; Linux 6.13 and newer need no cure",
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
        "report it with the console's text; with a kernel of your own: is it linked with guest/rseq.c?",
    ),
    _Sign(
        r"No working init found|Unable to mount root fs|Failed to execute /init",
        GuestError,
        "the guest's init does not start",
        "leowarp kernel clean; leowarp kernel build makes kernel and agent anew",
    ),
    _Sign(
        r"RIP: [0-9a-f]+:(?P<where>\S+ \[\w+\])[\s\S]*Kernel panic - not syncing: (?P<what>.*)",
        GuestError,
        "the guest kernel panicked in a module",
        "mend the module at the function that is named; the console's text has the registers",
    ),
    _Sign(
        r"Attempted to kill init! exitcode=(?P<what>0x[0-9a-f]+)",
        GuestError,
        "the agent inside the guest died",
        "the console's last lines say why",
    ),
    _Sign(
        r"Kernel panic - not syncing: (?P<what>.*)",
        GuestError,
        "the guest kernel panicked",
        "the console's text says where",
    ),
]


def failure(
    returncode: int, console: str, agent_error: dict | None, work: Path, console_file: Path
) -> LeowarpError | None:
    """The error that a guest's end means, or None if nothing speaks against a good end.

    The agent's own words come first, then what the console says, then how the process ended: each knows less than the
    one before it.

    Parameters
    ----------
    returncode : int
        Of the kernel program; negative = the signal that ended it.
    console : str
        Its last output; the message ends with the last lines of it.
    agent_error : dict or None
        The agent's own `{"error": ..., "hint": ...}`, which knows best.
    work, console_file : Path
        The guest's directory, and where its whole output lies.

    Returns
    -------
    LeowarpError or None
        HostError where this machine is to blame, else GuestError; to be raised by the caller.
    """
    if agent_error is not None:
        hint = agent_error.get("hint")
        return with_disk(GuestError, f"the guest reports: {agent_error['error']}", hint, work, console, console_file)
    for sign in _SIGNS:
        if match := re.search(sign.pattern, console):
            groups = match.groupdict()
            what = ": ".join(text.strip() for name in ("where", "what") if (text := groups.get(name)))
            message = f"{sign.meaning} ({what})" if what else sign.meaning
            return with_disk(sign.error, message, sign.hint, work, console, console_file)
    # User Mode Linux ends with 0 after an out-of-memory kill and after a power-off alike, so the console was asked
    # first.
    if returncode == 0:
        return None
    # Nothing of ours kills a guest that is still judged: a patience that ended raises before this.
    if returncode == -signal.SIGKILL:
        return HostError(
            "the guest was killed from outside (SIGKILL); usually this is the host's out-of-memory killer",
            hint="dmesg | grep -i 'out of memory'; run fewer guests at a time (--jobs 1) or lower guest.memory",
        )
    if returncode == -signal.SIGSYS:
        return HostError(
            "the guest was ended by a seccomp filter (SIGSYS): it forbids a system call that User Mode Linux needs",
            hint="in a container use --security-opt seccomp=unconfined",
        )
    if returncode == -signal.SIGXFSZ:
        return HostError("the guest's memory file exceeds the limit on file sizes", hint="ulimit -f unlimited")
    how = f"signal {signal.Signals(-returncode).name}" if returncode < 0 else f"exit status {returncode}"
    return with_disk(GuestError, f"the guest kernel ended with {how}", None, work, console, console_file)


def with_disk(
    error: type[LeowarpError], message: str, hint: str | None, work: Path, console: str, console_file: Path
) -> LeowarpError:
    """`error`, unless the disk is full: then that is the cause. The guest's own words may be lost in that case.

    Parameters
    ----------
    error : type
        HostError or GuestError.
    message, hint : str, str or None
        What happened, and what to do.
    work, console_file : Path
        Whose file system is asked; where the whole console lies.
    console : str
        Its last output.
    """
    if free_space_bytes(work) < MIB:
        return HostError(
            f"{message}; the file system of {work} is full",
            hint="free some space there, or name another directory with --out",
        )
    return error(with_last_words(message, console, console_file), hint=hint)


def with_last_words(message: str, console: str, console_file: Path) -> str:
    """`message` with the last lines that the guest printed, and where all of them are.

    Returns
    -------
    str
        Several lines if the guest printed any for people.
    """
    words = last_words(console)
    if not words:
        return f"{message}; the guest printed nothing else ({console_file})"
    return f"{message}. The guest's last words (all of them in {console_file}):" + "".join(f"\n    {w}" for w in words)


def last_words(console: str) -> list[str]:
    """The last lines of a console, at most `LAST_WORDS`, for a person to read: without the agent's messages to the host
    and without a panic's registers, and with the first line that says a cause, wherever it stands.

    Returns
    -------
    list of str
        Each cut at `LONGEST_WORD` characters.

    Examples
    --------
    >>> last_words("Kernel panic - not syncing: x")
    ['Kernel panic - not syncing: x']
    """
    lines = [line.rstrip()[:LONGEST_WORD] for line in console.splitlines() if not _FOR_MACHINES.search(line)]
    tail = lines[-LAST_WORDS:]
    # A panic prints registers and a stack below its reason, often more lines than are shown.
    cause = next((line for line in lines if any(re.search(sign.pattern, line) for sign in _SIGNS)), None)
    return tail if cause is None or cause in tail else [cause, *tail[1:]]
