# SPDX-License-Identifier: Apache-2.0
"""The user's consent to code that a plan names. For each piece of code, this module records which file named it. It
also records whether the user has accepted it. The file is None if the user named the code.

A kernel (`guest.kernel`) is a program or a tree with makefiles, and modules (`guest.cc_modules`) are compiled on the
host and loaded into the kernel. A kernel and a module can do anything with the user's rights. Programs of flows can
read all files that the user can read. A user who types the code's path, or passes it in a call, consents to the code. A
path in a file may have been written by another person. Code from such a path runs if it came with leowarp. Otherwise,
the code runs only if the user has typed or accepted its exact content before. The record of accepted content works as
in direnv. There is one file per accepted content, in a directory that only the user may write to.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import stat
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from leowarp.base import ownership
from leowarp.base.errors import HostError, ScenarioError
from leowarp.guest.building import recipe
from leowarp.guest.building.cache import sha256_of_file
from leowarp.scenario import is_kernel_name

if TYPE_CHECKING:
    from leowarp.scenario import Plan
    from leowarp.scenario.schema import Flow, Guest

ARCHIVE = "module-tree.tar.xz"
"""Modules are compiled against the files in this archive. The archive is stored beside a kernel."""

# Files of a git repository that can make git run a program: settings, hooks, filters by attribute.
_GIT_FILES = ("config", "config.worktree", "commondir", "info", "hooks")

OnMessage = Callable[[str], None]


@dataclass(frozen=True)
class Commands:
    """The commands of a flow of kind program.

    words: The command lines, environment, working directory and root, in the plan's form.
    files: The files of this machine whose paths appear in the command lines.
    """

    words: tuple[str, ...]
    files: tuple[Path, ...]

    def identity(self) -> str:
        """Return a hash of 64 hexadecimal digits over the words and the contents of the `files`."""
        contents = [sha256_of_file(file) for file in self.files]
        # Commands are hashed with a prefix that files and trees do not have. Commands therefore never have the same
        # identity as files or trees.
        return hashlib.sha256(("commands\n" + repr((self.words, contents))).encode()).hexdigest()

    def described(self) -> str:
        lines = " and ".join(f"`{line}`" for line in self.words[:2] if line)
        return f"{lines}, which could read whatever you may read"


@dataclass(frozen=True)
class Code:
    """The code that a plan would run.

    path: A program, a source file, or the directory of a kernel tree.
    named_in: The file that names the code. None means that the user typed the name or passed it in a call.
    commands: If the code belongs to a flow of kind program, the flow's commands with all their files. `path` is then
        the program of the client.
    """

    key: str
    path: Path
    named_in: Path | None
    commands: Commands | None = None


def code_of(guest: Guest) -> list[Code]:
    """Return the code that a plan's section `guest` would run, besides leowarp's own kernel."""
    codes = []
    # A name on the shelf needs no consent: it means a kernel of leowarp, or one that the user added.
    if not is_kernel_name(guest.kernel):
        codes.append(Code("guest.kernel", Path(guest.kernel).expanduser(), guest.kernel_named_in))
    return codes + [Code("guest.cc_modules", file.path, file.named_in) for file in guest.cc_modules]


def commands_of(flows: Sequence[Flow]) -> list[Code]:
    return [
        Code(f"flows.{number}.client", Path(flow.client.split()[0]), flow.named_in, _commands(flow))
        for number, flow in enumerate(flows)
        if flow.kind == "program" and flow.client is not None
    ]


def _words(
    client: str | None, server: str | None, environment: Mapping[str, str] | None, directory: str | None,
    rootfs: str | None,
) -> tuple[str, ...]:  # fmt: skip
    variables = [f"{name}={value}" for name, value in sorted((environment or {}).items())]
    return (client or "", server or "", *variables, directory or "", rootfs or "")


def _commands(flow: Flow) -> Commands:
    files = []
    for word in (word for line in (flow.client, flow.server) for word in shlex.split(line or "")):
        # A word without a slash names a program that is installed on the machine. The scenario's author therefore did
        # not supply this program.
        place = Path(flow.rootfs or "/", (flow.directory or "").lstrip("/"), word.lstrip("/") if flow.rootfs else word)
        if "/" in word and place.is_file():
            files.append(place)
    words = _words(flow.client, flow.server, flow.environment, flow.directory, flow.rootfs)
    return Commands(words, tuple(files))


def demand(plan: Plan, on_message: OnMessage = lambda text: None) -> None:
    """Check that the user has named or accepted all code that a plan would run. Otherwise, raise ScenarioError. If the
    user named the code in a command or a call, this counts as consent, which is recorded."""
    demand_code([*code_of(plan.guest), *commands_of(plan.flows)], on_message)


def demand_code(codes: Iterable[Code], on_message: OnMessage = lambda text: None) -> None:
    """Check each of `codes` as `demand` checks the code of a plan. If a file is missing, this function raises no error.
    The function that reads the file reports it."""
    strange = []
    for code in codes:
        identity = _identity(code.path) if code.commands is None else code.commands.identity()
        if identity is None or identity in _shipped():
            continue
        # A path that the user typed or passed in a call implies consent. The consent is recorded, so that a later
        # `verify` of the run does not ask for it.
        if code.named_in is None:
            _remember(identity, code.path, on_message)
        elif not _is_remembered(identity):
            what = _described(code.path, identity) if code.commands is None else code.commands.described()
            strange.append(f"{code.named_in}: {code.key} names {what}")
    if strange:
        listed = strange[0] if len(strange) == 1 else "".join(f"\n  - {text}" for text in strange)
        raise ScenarioError(
            f"this would run what a file names, with all that you may do on this machine: {listed}",
            hint="look at it first; if it may run, type --trust (in Python trust=True), or name it yourself "
            "(--kernel, --cc-module). What was accepted once is not asked again while it is the same",
        )


def state_home() -> Path:
    """Return the directory of the user's decisions: $XDG_STATE_HOME/leowarp, otherwise ~/.local/state/leowarp.

    Raises HostError if there is no home directory.
    """
    if xdg := os.environ.get("XDG_STATE_HOME"):
        return Path(xdg) / "leowarp"
    try:
        return Path.home() / ".local" / "state" / "leowarp"
    except RuntimeError as error:
        raise HostError(f"looking for what you trust: {error}", hint="set XDG_STATE_HOME to a directory") from error


def _accepted() -> Path:
    return state_home() / "trusted"


def _identity(path: Path) -> str | None:
    """Return a hash of 64 hexadecimal digits of the code at `path`, or None if there is no code."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return _identity_of_tree(path)
        if not stat.S_ISREG(mode):
            return None
        sha256 = sha256_of_file(path)
        # Compiling a module runs a script from the archive beside the kernel, so the archive is part of the kernel's
        # identity.
        archive = path.parent / ARCHIVE
        if path.suffix != ".c" and archive.is_file():
            return hashlib.sha256(f"{sha256}\n{sha256_of_file(archive)}\n".encode()).hexdigest()
    except (OSError, ValueError):
        return None
    return sha256


def _identity_of_tree(tree: Path) -> str:
    """Return the identity of a kernel tree: a hash over name, length, inode and times of each file. A hash over the 1.5
    GB of contents would take a minute instead of a second.

    A changed file is detected by its `ctime`, which only root can set to an older time. A copy of the tree counts as
    another tree, because it has other inodes and times. The function does not use git, because the tree's settings
    could make git run programs.
    """
    # Hashes of trees and files begin with different prefixes, so that a tree and a file never have the same identity.
    total = hashlib.sha256(b"a tree\n")
    waiting = [tree.resolve()]
    while waiting:
        directory = waiting.pop()
        entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        # git's objects and index are left out: they change with each git command, and cannot cause a program to run.
        if directory.name == ".git":
            entries = [entry for entry in entries if entry.name in _GIT_FILES]
        for entry in entries:
            status = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                waiting.append(Path(entry.path))
                continue
            facts = (status.st_mode, status.st_size, status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
            total.update(os.fsencode(entry.path) + b"\0" + repr(facts).encode())
    return total.hexdigest()


def _shipped() -> frozenset[str]:
    """Return the identities of the modules and commands in leowarp's own examples."""
    folders = (recipe.CHECKOUT / "examples", recipe.PACKAGED.parent / "examples")
    modules = frozenset(sha256_of_file(file) for folder in folders for file in sorted(folder.glob("*.c")))
    scenarios = (file.read_text(encoding="utf-8") for folder in folders for file in sorted(folder.glob("*.toml")))
    return modules | {identity for text in scenarios for identity in _identities_of_commands(text)}


def _identities_of_commands(text: str) -> Iterable[str]:
    for flow in tomllib.loads(text).get("flows", ()):
        if flow.get("kind") == "program":
            keys = ("client", "server", "environment", "directory", "rootfs")
            yield Commands(_words(*(flow.get(key) for key in keys)), ()).identity()


def _described(path: Path, identity: str) -> str:
    if path.is_dir():
        return f"the kernel tree {path.resolve()}, whose makefiles would run"
    what = "the C file" if path.suffix == ".c" else "the program"
    return f"{what} {path.resolve()} ({path.stat().st_size:,} bytes, sha256 {identity[:12]}...)"


def _is_remembered(identity: str) -> bool:
    directory = _accepted()
    try:
        demand_own(directory)
        return stat.S_ISREG((directory / identity).lstat().st_mode)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise HostError(f"looking for what you trust in {directory}: {error.strerror}") from error


def _remember(identity: str, path: Path, on_message: OnMessage) -> None:
    try:
        directory = _accepted()
        ownership.make_directory(directory, 0o700)
        demand_own(directory)
        # With O_EXCL and O_NOFOLLOW, open fails if a file or a link exists, and does not overwrite it.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(directory / identity, flags, 0o600), "wb") as file:
            file.write(os.fsencode(path.resolve()) + b"\n")
    except FileExistsError:
        pass  # If a record exists, the user accepted the same content earlier.
    except (OSError, HostError) as error:
        # The user requested this run, so it continues even if the consent cannot be recorded. If a file names the same
        # code in a later run, the user must consent again.
        on_message(f"that {path} may run is not remembered: {error}")


def demand_own(directory: Path) -> None:
    """Raise HostError if other users may write to the directory of the user's decisions."""
    status = directory.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise HostError(
            f"looking for what you trust: {directory} is not a directory that only you can write to",
            hint=f"take it away, or: chmod 700 {directory}",
        )
    # Anyone who can replace a directory above `directory` can replace the record of decisions.
    ownership.demand_own(directory, "looking for what you trust", "let only yourself write there (chmod go-w)")
