# SPDX-License-Identifier: Apache-2.0
"""Finds the guest's own sources: in a checkout, or in an installed package, which also contains the built guest."""

import functools
import hashlib
import json
import os
import re
import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path

from leowarp.base.errors import HostError
from leowarp.guest.machine.session import output_of

PACKAGED = Path(__file__).resolve().parents[2] / "_guest"
"""The directory of the built guest and its sources in a wheel."""
CHECKOUT = Path(__file__).resolve().parents[4]
"""If this file is in a checkout, this is the top of the repository. Otherwise, it is an unrelated directory."""
LIST = "overrides.toml"
# Inputs of the kernel's build besides the source and the compiler, relative to guest/. Further inputs are the C files
# of leowarp's objects, which `KERNEL_OBJECTS` matches.
KERNEL_FILES = (
    "kernel.config", "Kconfig.top", "build.sh", "overrides.py", LIST, "module/pack.sh",
    "module/compile.sh",
)  # fmt: skip
KERNEL_OBJECTS = "*/*.[ch]"
WORDS = ("changes", "saves", "without", "asked_by", "test", "page")
"""The fields of overrides.toml that are only for readers and do not change the kernel."""
# Only the chosen kernel's entry in this file is part of the recipe. If the entry of another kernel changes, the chosen
# kernel is not built again.
SHELF = "kernels.toml"
# Some lines of leowarp's C files are compiled only if the kernel has CONFIG_IPV6. The file kernels.toml sets
# CONFIG_IPV6 for some kernels.
_ONLY_WITH = re.compile(rb"^#if IS_ENABLED\((CONFIG_IPV6)\)\n.*?^#endif\n\n?", re.MULTILINE | re.DOTALL)


def guest_sources() -> Path | None:
    """Return the directory with the inputs of the kernel build (`guest/`), or None if this installation has none."""
    for directory in (CHECKOUT / "guest", PACKAGED / "source"):
        if (directory / "build.sh").is_file():
            return directory
    return None


def demand_guest_sources(attempted: str) -> Path:
    """Return the directory with guest/build.sh, or raise a HostError that begins with `attempted`. Only a checkout and
    a wheel made by `make wheel` have this directory."""
    directory = guest_sources()
    if directory is None:
        raise HostError(
            f"{attempted}: this installation has neither a built kernel nor guest/build.sh",
            hint="install a wheel made by `make wheel`, or work in a checkout",
        )
    return directory


def agent_sources() -> Path | None:
    """Return the checkout whose `crates/` contain the agent's source, or None if leowarp was installed without a
    checkout."""
    # A checkout's own sources take precedence over a packaged agent, because the sources may have changed.
    return CHECKOUT if (CHECKOUT / "crates" / "agent" / "Cargo.toml").is_file() else None


def packaged(name: str) -> Path | None:
    """Return the path of a file of the built guest in the wheel, or None if there is no file."""
    file = PACKAGED / name
    return file if file.is_file() else None


def kernel_recipe(directory: Path) -> list[tuple[str, Path]]:
    """Return each part of the kernel's recipe, with its name and file.

    The order of the parts is the same on every machine. All C files in the folders of guest/ are part of the recipe.

    directory: The result of `guest_sources`, or a copy of this directory.
    """
    objects = sorted(path.relative_to(directory).as_posix() for path in directory.glob(KERNEL_OBJECTS))
    return [(name, directory / name) for name in (*KERNEL_FILES, *objects)]


def agent_recipe(checkout: Path) -> list[tuple[str, Path]]:
    """Return the name and file of each part of the agent's recipe. The parts are the agent's crate, and those crates of
    leowarp that it uses."""
    # The files that select toolchain and build profile are included, because they also change the program.
    tops = [checkout / name for name in ("Cargo.toml", "Cargo.lock", "rust-toolchain.toml", ".cargo/config.toml")]
    crates = _with_dependencies(checkout / "crates" / "agent")
    sources = sorted(p for c in crates for p in c.rglob("*") if p.is_file() and p.suffix in (".rs", ".toml"))
    return [(str(p.relative_to(checkout)), p) for p in [*(t for t in tops if t.is_file()), *sources]]


def _with_dependencies(crate: Path) -> set[Path]:
    crates: set[Path] = set()
    wanted = [crate]
    while wanted:
        crate = Path(os.path.normpath(wanted.pop()))
        if crate in crates:
            continue
        crates.add(crate)
        manifest = crate / "Cargo.toml"
        try:
            dependencies = tomllib.loads(manifest.read_text()).get("dependencies", {}).values()
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise HostError(
                f"looking for the agent's sources: {manifest}: {error}", hint="git status crates"
            ) from error
        wanted += [crate / entry["path"] for entry in dependencies if isinstance(entry, dict) and "path" in entry]
    return crates


def deciding(path: Path, options: Sequence[str] = ()) -> bytes:
    """Return the content of a recipe file without the parts that cannot change the build. Such parts are the `WORDS` in
    the list of overrides.

    options: The options of the kernel in addition to the options of kernel.config. If the lines of a C file are only
        for another option (see `_ONLY_WITH`), they do not change the kernel and are left out.
    """
    if path.suffix in (".c", ".h"):
        return _ONLY_WITH.sub(lambda found: found[0] if f"{found[1].decode()}=y" in options else b"", path.read_bytes())
    if path.name != LIST:
        return path.read_bytes()
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["override"]
    kept = [{key: value for key, value in entry.items() if key not in WORDS} for entry in entries]
    return json.dumps(kept, sort_keys=True).encode()


def recipe_sha256(parts: list[tuple[str, Path]], also: str = "", options: Sequence[str] = ()) -> str:
    """Return a sha256 over names and contents of a recipe, 64 hexadecimal digits. The hash depends on the order of the
    parts.

    also: A further text that is hashed (example: the name of the kernel on the shelf).
    options: The options of the kernel in addition to the options of kernel.config, as for `deciding`.
    """
    total = hashlib.sha256(also.encode())
    for name, path in parts:
        total.update(f"{name}\0{hashlib.sha256(deciding(path, options)).hexdigest()}\n".encode())
    return total.hexdigest()


def first_line_of(*command: str) -> str:
    """Return the first line that a tool prints (example: its version). A process runs a tool only once, unless the
    tool's file changes.

    Raises HostError if the tool is missing, fails, prints nothing, or does not end.
    """
    program = Path(shutil.which(command[0]) or command[0]).resolve()
    # The compiler on the PATH may be a link to `rustup`, which starts the selected compiler. The file `rustup` does not
    # change when the compiler's version changes.
    if program.name == "rustup" or not program.is_file():
        return _printed(command)
    status = program.stat()
    return _remembered(command, (str(program), status.st_ino, status.st_size, status.st_mtime_ns))


@functools.lru_cache
def _remembered(command: tuple[str, ...], stamp: tuple[str | int, ...]) -> str:
    return _printed(command)


def _printed(command: tuple[str, ...]) -> str:
    lines = output_of(*command).splitlines()
    if not lines:
        raise HostError(f"asking `{' '.join(command)}`: it prints nothing", hint="leowarp doctor")
    return lines[0]
