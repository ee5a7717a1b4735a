# SPDX-License-Identifier: Apache-2.0
"""The user's programs and shell: checks before a boot, and their output afterwards.

The guest mounts the host's root, or another directory, read-only (`crates/agent/src/programs/root.rs`). In the guest's
`in/`, the host makes a symbolic link to the mounted directory. The kernel command line names only this link, so the
command line is the same for every root.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.applications import LAUNCHER
from leowarp.base.errors import HostError
from leowarp.base.layout import PROGRAMS
from leowarp.base.nodes import host_node
from leowarp.base.ownership import MOST_LINKS
from leowarp.guest.machine import elf
from leowarp.guest.setup.input import PROGRAMS_ENVIRONMENT, PROGRAMS_PATH, PROGRAMS_WRITE_TO, ROOTS

if TYPE_CHECKING:
    from leowarp.scenario import Plan
    from leowarp.scenario.schema import Flow

HIDDEN = ("run", "dev", "proc", "sys")
"""The directories of the host's root that the guest replaces by its own mounts."""

_SCRIPTS_IN_SCRIPTS = 5
_LONGEST_INTERPRETER_BYTES = 256
"""Two limits of the kernel. The first is the largest number of scripts that interpret each other in a chain
(exec_binprm, fs/exec.c). The second is the number of bytes that the kernel reads of a script's first line
(BINPRM_BUF_SIZE)."""
INPUT = "stdin"
"""Without a terminal, the shell reads this file in the guest's `in/` as its standard input."""
STORAGE_BYTES = 64 << 20
"""The maximum size of the files that the shell writes. A flow of kind program has the same limit."""

# EPOCHREALTIME has six decimals (bash(1)). The agent sets LEOWARP_START_US to the value of EPOCHREALTIME at time 0 of
# the run, in us.
_BASH_CLOCK = (
    "LEOWARP_US=$((${EPOCHREALTIME/./}-LEOWARP_START_US)); "
    'printf -v LEOWARP_S "%d.%06d" $((LEOWARP_US/1000000)) $((LEOWARP_US%1000000))'
)


def check_programs(plan: Plan) -> None:
    """Check that each program of a plan exists and is built for this processor.

    Raises HostError with one message that names everything missing.
    """
    wrong = [f"flows.{number}.{text}" for number, flow in enumerate(plan.flows) for text in _wrong(flow)]
    if wrong:
        listed = wrong[0] if len(wrong) == 1 else "".join(f"\n  - {text}" for text in wrong)
        raise HostError(
            f"the programs of this plan cannot run: {listed}",
            hint="install what is missing (Debian: apt-get install iperf3), or name it by its absolute path",
        )


@dataclass(frozen=True)
class Shell:
    """The program, and the host at which it runs.

    station: The station at whose host the program runs.
    command: The program and its arguments. An empty list means bash, or `/bin/sh` if bash is missing.
    is_terminal: Whether the program runs on the user's terminal.
    stdin: All bytes of the program's standard input, if the program does not run on a terminal.
    """

    station: str
    command: tuple[str, ...] = ()
    is_terminal: bool = False
    stdin: bytes | None = None
    rootfs: str | None = None
    directory: str | None = None
    environment: Mapping[str, str] = field(default_factory=dict)

    def words(self) -> list[str]:
        if self.command:
            return list(self.command)
        # The shell starts without the user's settings. The user's settings refer to files that the guest lacks. Any
        # output of these settings would also take virtual time.
        has_bash = program_file(self, "bash") is not None
        return ["bash", "--norc"] if has_bash and self.is_terminal else ["bash"] if has_bash else ["/bin/sh"]

    def variables(self) -> dict[str, str]:
        """Return the complete environment of the program. On a terminal, the environment includes the terminal's type
        and a prompt."""
        prompt = {
            "PS1": f"{self.station} ${{LEOWARP_S:+$LEOWARP_S s}}$ ",
            "PROMPT_COMMAND": _BASH_CLOCK,
            "TERM": os.environ.get("TERM", "dumb"),
        }
        return PROGRAMS_ENVIRONMENT | (prompt if self.is_terminal else {}) | dict(self.environment)

    def described(self, host_numbers: Mapping[str, int], size: tuple[int, int] | None = None) -> dict[str, Any]:
        """Return the entry `shell` of `setup.json` (design/interfaces.md, section 4). `size` is the size of the
        terminal: rows, columns."""
        return {
            "at": host_numbers[host_node(self.station)],
            "command": self.words(),
            "environment": self.variables(),
            "root": f"/in/{ROOTS}/shell/.",
            "storage_bytes": STORAGE_BYTES,
            "terminal": None if size is None else {"rows": size[0], "columns": size[1]},
            "input": None if self.stdin is None else INPUT,
        }


def check_shell(shell: Shell) -> None:
    """Raise HostError if the shell's program is missing, or is for another processor."""
    command = shlex.join(shell.words())
    if (why := _why_not(shell, command)) is not None:
        raise HostError(f"`{command}` cannot run: {why}", hint="install what is missing, or name it by its path")


def put_roots(plan: Plan, directory: Path) -> None:
    """For each flow with a program, make a symbolic link in the guest's `in/`. The link points to the root directory of
    the flow's programs."""
    for number, flow in enumerate(plan.flows):
        if flow.kind == "program":
            (directory / ROOTS).mkdir(exist_ok=True)
            link = directory / ROOTS / str(number)
            link.unlink(missing_ok=True)
            link.symlink_to(root_of(flow))


def keep_outputs(out: Path, run_dir: Path) -> None:
    """If the programs wrote output or files, move them from the guest's `out/` into a run directory. They are in
    `programs/<flow>/<client or server>/`: `stdout`, `stderr`, `output.txt` and `files/`."""
    target = run_dir / PROGRAMS
    if target.exists():
        shutil.rmtree(target)
    if (out / "programs").is_dir():
        shutil.move(out / "programs", target)


def root_of(flow: Flow | Shell) -> Path:
    """Return the directory of this machine that the flow's programs see as their root."""
    return Path(flow.rootfs or "/")


def program_file(flow: Flow | Shell, command: str) -> Path | None:
    """Return the program file of a command line, or None if it does not exist.

    As in the guest, a program is searched for in the directories of PATH, below the flow's root.
    """
    name = shlex.split(command)[0]
    places = [name] if "/" in name else [f"{folder}/{name}" for folder in _path_of(flow).split(":")]
    if "/" in name and not name.startswith("/"):
        places = [f"{flow.directory or PROGRAMS_WRITE_TO}/{name}"]
    found = (_inside(root_of(flow), place) for place in places)
    return next((file for file in found if file is not None and os.path.isfile(file)), None)


def _wrong(flow: Flow) -> Iterator[str]:
    if flow.kind != "program":
        return
    root = root_of(flow)
    if not root.is_dir():
        yield f'rootfs: there is no directory "{root}"'
        return
    absent = [name for name in (*HIDDEN, "etc/hosts") if not (root / name).exists()]
    if absent:
        yield f"rootfs: {root} has no {', '.join(absent)}, in whose place the guest puts its own"
    if flow.directory is not None and not _is_hidden(flow.directory):
        place = _inside(root, flow.directory)
        if place is None or not place.is_dir():
            yield f'directory: there is no directory "{flow.directory}"' + (f" in {root}" if flow.rootfs else "")
    for key, command in (("client", flow.client), ("server", flow.server)):
        if command is not None and "{applications}" in command:
            place = _inside(root, str(LAUNCHER))
            if _is_hidden(str(LAUNCHER)) or place is None or not os.path.isfile(place):
                yield f"{key}: {{applications}} is {LAUNCHER}, which programs below {root} do not see"
        if command is not None and (why := _why_not(flow, command)) is not None:
            yield f"{key}: {why}"


def _why_not(flow: Flow | Shell, command: str) -> str | None:
    """Return the reason why a command's program cannot run. The result is None if the program can run, or if only the
    guest can check it."""
    name = shlex.split(command)[0]
    if name.startswith("{run_dir}"):
        return None
    if _is_hidden(name):
        return f'"{name}" lies where the guest has a directory of its own ({", ".join("/" + n for n in HIDDEN)})'
    file = program_file(flow, command)
    if file is None:
        where = f"in {root_of(flow)} " if flow.rootfs else ""
        return f'there is no program "{name}" {where}' + ("" if "/" in name else f"(PATH: {_path_of(flow)})")
    return _why_not_file(flow, file)


def _why_not_file(flow: Flow | Shell, file: Path, scripts: int = 0) -> str | None:
    """Check a file as `_why_not` does. A script's interpreter may itself be a script. `scripts` counts the scripts
    in the chain that leads to this file."""
    if not os.access(file, os.X_OK):
        return f'"{file}" is not executable, or not by you'
    try:
        with file.open("rb") as opened:
            head = opened.read(_LONGEST_INTERPRETER_BYTES)
    except OSError as error:
        return f'"{file}" cannot be read, and the guest can read no more than you: {error.strerror}'
    if head.startswith(b"#!"):
        return _why_not_script(flow, file, head, scripts)
    machine = elf.machine_of(head)
    if machine is None:
        return f'"{file}" is no program: neither ELF nor a script that begins with #!'
    if machine != elf.X86_64:
        other = elf.MACHINES.get(machine, f"machine number {machine}")
        return f'"{file}" is for another processor ({other}); the guest runs x86-64'
    return None


def _why_not_script(flow: Flow | Shell, file: Path, head: bytes, scripts: int) -> str | None:
    words = head.splitlines()[0][2:].decode(errors="replace").split()
    if not words:
        return f'"{file}" begins with #! and names no interpreter'
    if scripts == _SCRIPTS_IN_SCRIPTS:
        return f'"{file}" is a script for a script for another, and so on: Linux follows {_SCRIPTS_IN_SCRIPTS}'
    name = words[0]
    if _is_hidden(name):
        return f'"{file}" is a script for {name}, where the guest has a directory of its own'
    interpreter = _inside(root_of(flow), name) if name.startswith("/") else None
    if interpreter is None or not os.path.isfile(interpreter):
        return f'"{file}" is a script for {name}, which is not there' + (f" in {root_of(flow)}" if flow.rootfs else "")
    return _why_not_file(flow, interpreter, scripts + 1)


def _path_of(flow: Flow | Shell) -> str:
    return (flow.environment or {}).get("PATH", PROGRAMS_PATH)


def _is_hidden(path: str) -> bool:
    parts = Path(path).parts
    return len(parts) > 1 and parts[0] == "/" and parts[1] in HIDDEN


def _inside(root: Path, path: str) -> Path | None:
    """Return the target of a path below `root`. Symbolic links are followed as if `root` were the root directory."""
    # In the user's own root, an absolute link starts at that root, not at this machine's root.
    at, ahead, links = root, [part for part in path.split("/") if part], 0
    while ahead:
        part = ahead.pop(0)
        if part == ".":
            continue
        if part == "..":
            at = at.parent if at != root else at
            continue
        step = at / part
        try:
            if not step.is_symlink():
                at = step
                continue
            links += 1
            target = os.readlink(step)
        except OSError:
            return None
        if links > MOST_LINKS:
            return None
        if target.startswith("/"):
            at = root
        ahead = [part for part in target.split("/") if part] + ahead
    return at
