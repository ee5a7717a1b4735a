# SPDX-License-Identifier: Apache-2.0
"""The guest kernel, a Linux kernel that runs as a program. It is built only once for the same inputs.

The cache key is a sha256 of the source tarball, configuration, build script, leowarp's C files and the compiler's
version. `guest/build.sh` does the build. This module calls the script, and adds a cache, progress reports and error
messages.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from leowarp.base.errors import HostError, ScenarioError
from leowarp.base.ownership import make_directory
from leowarp.base.progress import silent
from leowarp.guest.building import left_out, recipe, shelf
from leowarp.guest.building.cache import (
    built_earlier,
    cache_folder,
    cache_root,
    content_key,
    demand_path_for_make,
    entry_or_build,
    faults,
    locked,
    sha256_of_file,
)
from leowarp.guest.building.course import Course, OnProgress
from leowarp.guest.building.shelf import ShelfKernel
from leowarp.guest.building.source import fetch_source, local_source, own_source, tree_sha256, tree_version, unpack
from leowarp.guest.machine import system_calls
from leowarp.guest.machine.elf import is_static_address_program, symbols
from leowarp.guest.machine.host import apt
from leowarp.guest.machine.session import output_of, own_session
from leowarp.scenario import is_kernel_name

KIND = "kernel"
_BUILDING = "building the guest kernel"
# Variables of the running kernel that leowarp reads: the clock, the record of system calls, and the variables that give
# the running program's name.
WATCHED = {"time_travel_time", "init_task", "cpu_tasks", system_calls.SYMBOL}
SHOWN_ERRORS = 5
# Matches "net/ipv4/tcp.c:12:3: error: ...", "ld: tcp.o: undefined reference to ...", and messages of build.sh.
_OF_COMPILER = re.compile(r"\b(fatal )?error: |undefined reference to|multiple definition of|No space left on device")
_OF_OTHERS = re.compile(r"\berror\b|Error |\*\*\*|not found|No such file")

OnMessage = Callable[[str], None]


@dataclass(frozen=True)
class Kernel:
    """A built kernel.

    symbols: The addresses of the variables that leowarp reads while the kernel runs. The dict is empty if the program
        is stripped.
    facts: The version, source, checksums, compiler and warnings, for the manifest.
    """

    program: Path
    symbols: dict[str, int]
    facts: dict


def kernel(
    choice: str | Path = "default",
    *,
    on_message: OnMessage = lambda text: None,
    on_progress: OnProgress = silent,
) -> Kernel:
    """Return the kernel for `choice`. This is leowarp's own kernel, a kernel that is built from the user's tree, or the
    user's binary.

    choice: A name on the shelf, or a path. A kernel tree at the path is built with leowarp's configuration and objects.
        A kernel program at the path is used unchanged.
    on_progress: A function that is called for each step of a build, and a few times per second during unpacking. If
        `on_message` or `on_progress` raises an exception, the build ends.
    Raises HostError if the machine lacks something that a build needs, or if the build fails. The message has the log's
        name and its last errors.
    Raises ScenarioError if `choice` is not a kernel.
    """
    if isinstance(choice, str) and is_kernel_name(choice):
        if choice == shelf.DEFAULT and (ready := _packaged() or _built_earlier(on_message)):
            return ready
        return _from_shelf(shelf.kernel_of(choice), on_message, on_progress)
    path = Path(choice).expanduser()
    if path.is_dir():
        return _from_tree(path.resolve(), on_message, on_progress)
    return _from_binary(path)


def is_built(shelved: ShelfKernel) -> bool:
    """Return whether the cache has a build of a kernel of the shelf. The compiler and the version of the kernel's
    source do not matter."""
    return built_earlier(KIND, shelved.recipe_sha256(recipe.demand_guest_sources(_BUILDING))) is not None


def default_built() -> Path | None:
    """Return the cache entry of a default kernel that was built from this installation's recipe, or None."""
    directory = recipe.guest_sources()
    return None if directory is None else built_earlier(KIND, shelf.kernel_of(shelf.DEFAULT).recipe_sha256(directory))


def _packaged() -> Kernel | None:
    """Return the kernel from a wheel. The result is None in a checkout, which has its own recipe."""
    program = recipe.packaged("linux")
    # In a checkout, the kernel is built from the checkout's sources, because a packaged kernel may be of another
    # version.
    if program is None or (recipe.CHECKOUT / "guest" / "build.sh").is_file():
        return None
    if wrong := faults(program.parent):
        raise HostError(
            f"using the kernel of the installed package: {'; '.join(wrong)}",
            hint="install it again: pip install --force-reinstall leowarp",
        )
    return _read_entry(program.parent)


def _built_earlier(on_message: OnMessage) -> Kernel | None:
    """Return a kernel that was built earlier, if this machine lacks the source or the compiler."""
    if recipe.guest_sources() is None or (local_source() is not None and shutil.which("gcc") is not None):
        return None
    if (entry := default_built()) is None:
        return None
    on_message(f"the kernel's source or gcc is not installed: using the kernel built earlier, {entry}")
    return _read_entry(entry)


def _from_shelf(shelved: ShelfKernel, on_message, on_progress) -> Kernel:
    tree = Path(shelved.source) if shelved.is_own and Path(shelved.source).is_dir() else None
    if tree is not None:
        facts = {"source": f"a tree of the user's own, Linux {tree_version(tree)}", "source_sha256": tree_sha256(tree)}
        source = None
    else:
        source = own_source(Path(shelved.source)) if shelved.is_own else local_source() or fetch_source(on_message)
        facts = {"source": source.version, "source_sha256": source.sha256}
    # leowarp's kernel objects fit the kernel source for which they were written. Another kernel source may lack
    # something that an object uses, so objects that do not fit that source may be left out.
    leave_out = shelved.is_own or bool(shelved.patches)
    build = _Build(facts, on_message, on_progress, shelved=shelved, leave_out=leave_out)

    def make(entry: Path) -> None:
        with _scratch(shelved.name, on_message) as scratch:
            if source is not None:
                on_message(f"unpacking {source.tarball.name} {source.version}")
                # A patch may change files that are not unpacked by default, so the whole source is unpacked.
                top = unpack(source, scratch / "source", build.course.unpacked, whole=bool(shelved.patches))
            else:
                assert tree is not None
                top = scratch / "source" / tree.name
                shutil.copytree(tree, top, symlinks=True, ignore=shutil.ignore_patterns(".git"))
            for patch in shelved.patches:
                _apply(shelf.patch_file(shelved, patch, on_message), patch.address, top, shelved.name)
            build.run(top, scratch / "build", entry)

    return _read_entry(entry_or_build(KIND, build.key, make, on_message=on_message))


def _apply(patch: Path, address: str, tree: Path, name: str) -> None:
    command = ["patch", "-p1", "--forward", "--batch", "--silent", "-d", str(tree), "-i", str(patch)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise HostError(f"building {name}: patch is not on the PATH", hint=apt(["patch"])) from error
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise HostError(
            f"building {name}: {address} does not apply to Linux {tree_version(tree)}: "
            + (said[0] if said else "no reason given"),
            hint="name a patch that was made for this version, or another --source",
        )


def _from_tree(tree: Path, on_message, on_progress) -> Kernel:
    """Build a kernel from the user's tree with leowarp's objects. Objects that do not compile or link with the tree are
    left out and reported (`left_out`)."""
    if not (tree / "arch" / "um").is_dir():
        raise ScenarioError(f"using the kernel tree {tree}: it has no arch/um", hint="name the top of a Linux tree")
    facts = {"source": f"a tree of the user's own, Linux {tree_version(tree)}", "source_sha256": tree_sha256(tree)}
    build = _Build(facts, on_message, on_progress, shelved=None, leave_out=True)

    def make(entry: Path) -> None:
        with _scratch(str(tree), on_message) as scratch:
            build.run(tree, scratch / "build", entry)

    return _read_entry(entry_or_build(KIND, build.key, make, on_message=on_message))


def _from_binary(path: Path) -> Kernel:
    """Check that the user's kernel program is User Mode Linux with virtual time, and return it unchanged."""
    attempted = f"using the kernel {path}"
    if not path.is_file():
        raise ScenarioError(f"{attempted}: there is no such file or directory")
    if not os.access(path, os.X_OK):
        raise ScenarioError(f"{attempted}: it is not executable", hint=f"chmod +x {path}")
    if not is_static_address_program(path):
        raise ScenarioError(
            f"{attempted}: it is not an x86-64 program at a fixed address, which a User Mode Linux kernel is",
            hint="name the file `linux` of a build with ARCH=um",
        )
    try:
        version = recipe.first_line_of(str(path), "--version")
        config = output_of(str(path), "--showconfig")
    except HostError as error:
        raise ScenarioError(f"{attempted}: it does not answer --version and --showconfig: {error}") from error
    if "CONFIG_UML_TIME_TRAVEL_SUPPORT=y" not in config:
        raise ScenarioError(
            f"{attempted}: it was built without CONFIG_UML_TIME_TRAVEL_SUPPORT, so that its clock is the host's",
            hint="build it with guest/kernel.config, or name its tree instead",
        )
    content = path.read_bytes()
    # The mark of `cures` is a text that occurs in cures/leolink_switch.c.
    marks = {"leolink": b"leolink", "loss_detection": b"loss_detection", "cures": b"a switch between links"}
    lacking = {name: "its program does not name it" for name, mark in marks.items() if mark not in content}
    warnings = []
    # guest/host/seed.c reads the environment variable LEOWARP_SEED. If a kernel program does not contain this name, it
    # was linked without seed.c.
    if b"LEOWARP_SEED" not in content:
        warnings.append(f"the kernel {path} takes its random seed from the host: no run with it repeats")
    if "leolink" in lacking:
        warnings.append(f'the kernel {path} has no leolink: only network.link_model = "netem" works')
    facts = {
        "source": "a binary of the user's own",
        "linux_version": version,
        "linux_sha256": sha256_of_file(path),
        "left_out": lacking,
        "warnings": warnings,
    }
    return Kernel(path.resolve(), symbols(path, WATCHED), facts)


def _read_entry(entry: Path) -> Kernel:
    facts = json.loads((entry / "kernel.json").read_text())
    return Kernel(entry / "linux", json.loads((entry / "symbols.json").read_text()), facts)


@contextmanager
def _scratch(of: str, on_message: OnMessage) -> Iterator[Path]:
    """Provide a directory for the source and objects of a build, and remove it at the end. The directory is in the
    cache and not in /tmp, because /tmp may be a tmpfs, which uses memory.

    of: The name of the kernel, or the path of its tree. A killed build leaves 0.7 GB (design/kernel-config.md). The
        next build of the same kernel removes them, even if its source or recipe has changed.
    """
    demand_path_for_make(_BUILDING)
    directory = cache_folder(f"{KIND}/tree-{content_key([('tree', of)])}")
    make_directory(directory.parent)
    with locked(directory.with_suffix(".lock"), "kernel tree", on_message):
        if directory.exists():
            # An earlier build was killed, so one of its object files may be truncated.
            shutil.rmtree(directory)
        directory.mkdir()
        try:
            yield directory
        finally:
            shutil.rmtree(directory)


class _Build:
    """One run of guest/build.sh. `key` is the key of the cache entry: source, recipe, compiler and linker."""

    def __init__(
        self, facts: dict, on_message: OnMessage, on_progress: OnProgress, *,
        shelved: ShelfKernel | None, leave_out: bool,
    ) -> None:  # fmt: skip
        self._directory = recipe.demand_guest_sources(_BUILDING)
        self._shelved = shelved
        self._leave_out = leave_out
        self._on_message = on_message
        self.course = Course(on_progress)
        self._facts = {
            **facts,
            **(shelved.facts() if shelved is not None else {}),
            "recipe_sha256": (shelved or shelf.kernel_of(shelf.DEFAULT)).recipe_sha256(self._directory),
            # A different version of the compiler or the linker builds a different program.
            "compiler": recipe.first_line_of("gcc", "--version"),
            "linker": recipe.first_line_of("ld", "--version"),
        }
        # For a user's tree, the key contains tree_sha256; for a tarball, it contains the tarball's hash.
        named = [(name, str(value)) for name, value in sorted(self._facts.items())]
        # If two names mean the same kernel, each has an entry, because the manifest records the name that the user
        # chose.
        self.key = content_key(named)

    def run(self, tree: Path, build: Path, entry: Path) -> None:
        log = entry / "build.log"
        # The recipe's files are copied, because the user may edit them during the minutes of a build.
        recipe_copy = build.parent / "recipe"
        for name, path in [*recipe.kernel_recipe(self._directory), (recipe.SHELF, self._directory / recipe.SHELF)]:
            (recipe_copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, recipe_copy / name)
        # The default kernel is read again, because the user may have edited kernels.toml meanwhile.
        chosen = self._shelved or shelf.kernel_of(shelf.DEFAULT)
        if chosen.recipe_sha256(recipe_copy) != self._facts["recipe_sha256"]:
            raise HostError(f"{_BUILDING}: files in {self._directory} changed meanwhile", hint="try again")
        self._on_message(f"building Linux {tree_version(tree)} as the guest kernel (log: {log})")
        choice = ["--kernel", chosen.base, *(["--leave-out"] if self._leave_out else [])]
        if chosen.is_own:
            choice += ["--options", " ".join(chosen.options)]
        build_sh = ["sh", str(recipe_copy / "build.sh"), *choice, str(tree), str(build), str(entry)]
        with log.open("w") as file, own_session(build_sh) as process:
            assert process.stdout is not None
            for line in process.stdout:
                file.write(line)
                self.course.printed(line)
            process.wait()
        if process.returncode != 0:
            raise self._failed(log)
        addresses = [line.split() for line in (entry / "symbols.txt").read_text().splitlines()]
        watched = {name: int(address, 16) for address, _, name in addresses if name in WATCHED}
        (entry / "symbols.json").write_text(json.dumps(watched, indent=1, sort_keys=True) + "\n")
        linked = (entry / "overrides.txt").read_text().split()
        lacking = left_out.not_chosen(chosen.base, linked) | left_out.read(entry)
        facts = {
            **self._facts,
            "key": self.key,
            "linux_version": tree_version(tree),
            "linux_sha256": sha256_of_file(entry / "linux"),
            "config_sha256": sha256_of_file(entry / "config"),
            "overrides": linked,
            "overrides_sha256": sha256_of_file(recipe_copy / recipe.LIST),
            "left_out": lacking,
            "warnings": left_out.warnings(lacking),
        }
        for warning in facts["warnings"]:
            self._on_message(f"warning: {warning}")
        (entry / "kernel.json").write_text(json.dumps(facts, indent=1, sort_keys=True) + "\n")

    def _failed(self, log: Path) -> HostError:
        # The cache removes the directory of a failed build, so the log is moved to another place.
        kept = cache_root() / KIND / f"failed-{self.key}.log"
        shutil.copyfile(log, kept)
        shown = "\n    ".join(first_errors(log.read_text(errors="replace")))
        hint = "leowarp doctor says whether this machine lacks something that a build needs"
        if self._leave_out:
            hint = "mend the tree; LEOWARP_JOBS=1 makes the log's lines follow one another"
        return HostError(f"{_BUILDING} failed; the log is {kept}; its first errors:\n    {shown}", hint=hint)


def first_errors(log: str) -> list[str]:
    """Return at most five lines of a build's log that explain its failure. The lines are errors of the compiler and the
    linker. If the log has no such errors, the lines are errors of make.

    The function searches only the output of the build's last step. Errors in earlier steps come from objects that the
    build left out.
    """
    lines = log.splitlines()
    steps = [number for number, line in enumerate(lines) if line.startswith("leowarp: ") and "error:" not in line]
    last = lines[steps[-1] + 1 if steps else 0 :]
    for pattern in (_OF_COMPILER, _OF_OTHERS):
        if telling := [line for line in last if pattern.search(line)]:
            return telling[:SHOWN_ERRORS]
    return lines[-SHOWN_ERRORS:]
