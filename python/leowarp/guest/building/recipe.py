# SPDX-License-Identifier: Apache-2.0
"""Where the guest's own sources are: beside a checkout, or inside an installed package with the built guest."""

import hashlib
import json
import os
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

from leowarp.base.errors import HostError
from leowarp.guest.machine.session import output_of

PACKAGED = Path(__file__).resolve().parents[2] / "_guest"
"""Where a wheel carries the built guest and its sources."""
CHECKOUT = Path(__file__).resolve().parents[4]
"""The top of the repository, if this file lies in one; else some directory of the installation."""
LIST = "overrides.toml"
# Inputs that decide how the kernel comes out, beside the source and the compiler, relative to guest/; with the
# directories of our objects.
KERNEL_FILES = (
    "kernel.config", "Kconfig.top", "build.sh", "overrides.py", LIST, "module/pack.sh",
    "module/compile.sh",
)  # fmt: skip
KERNEL_OBJECTS = "*/*.[ch]"
WORDS = ("changes", "saves", "without", "asked_by", "test", "page")
"""Fields of the list for a reader: they make no other kernel."""
# A kernel's own entry alone decides: another kernel on the shelf is no other recipe.
SHELF = "kernels.toml"
# Whole lines of our C files that only kernels with an option compile, which kernels.toml gives to some alone
_ONLY_WITH = re.compile(rb"^#if IS_ENABLED\((CONFIG_IPV6)\)\n.*?^#endif\n\n?", re.MULTILINE | re.DOTALL)


def guest_sources() -> Path | None:
    """Directory with what the kernel is built with (`guest/`), or None if this installation has none."""
    for directory in (CHECKOUT / "guest", PACKAGED / "source"):
        if (directory / "build.sh").is_file():
            return directory
    return None


def agent_sources() -> Path | None:
    """The checkout whose `crates/` hold the agent, or None if this installation has none."""
    # A checkout goes before a packaged agent, so that a change of the sources is what runs.
    return CHECKOUT if (CHECKOUT / "crates" / "agent" / "Cargo.toml").is_file() else None


def packaged(name: str) -> Path | None:
    """A file of the guest that came built with the package (in a wheel), or None."""
    file = PACKAGED / name
    return file if file.is_file() else None


def kernel_recipe(directory: Path) -> list[tuple[str, Path]]:
    """Name and file of each part of the kernel's recipe, for its content key.

    directory: `guest_sources`, or a copy of it.
    Returns: list of (str, Path). In an order that is the same everywhere. Any C file in a folder of guest/ is part of
        it.
    """
    objects = sorted(path.relative_to(directory).as_posix() for path in directory.glob(KERNEL_OBJECTS))
    return [(name, directory / name) for name in (*KERNEL_FILES, *objects)]


def agent_recipe(checkout: Path) -> list[tuple[str, Path]]:
    """Name and file of each part of the agent's recipe, for its content key: its crate, and those of ours it uses."""
    # Toolchain and profile decide what comes out as much as the sources do.
    tops = [checkout / name for name in ("Cargo.toml", "Cargo.lock", "rust-toolchain.toml", ".cargo/config.toml")]
    crates = _with_dependencies(checkout / "crates" / "agent")
    sources = sorted(p for c in crates for p in c.rglob("*") if p.is_file() and p.suffix in (".rs", ".toml"))
    return [(str(p.relative_to(checkout)), p) for p in [*(t for t in tops if t.is_file()), *sources]]


def _with_dependencies(crate: Path) -> set[Path]:
    """The directories of a crate and of all that it uses by path."""
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
    """The deciding part of a recipe's part: its bytes; for the list of overrides, all but what only a reader reads.

    options: Those of the kernel beside kernel.config. Lines of a C file that it does not compile without an option of
        another kernel (`_ONLY_WITH`) make no other kernel of it.
    """
    if path.suffix in (".c", ".h"):
        return _ONLY_WITH.sub(
            lambda found: found[0] if f"{found[1].decode()}=y" in options else b"", path.read_bytes()
        )
    if path.name != LIST:
        return path.read_bytes()
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["override"]
    kept = [{key: value for key, value in entry.items() if key not in WORDS} for entry in entries]
    return json.dumps(kept, sort_keys=True).encode()


def recipe_sha256(parts: list[tuple[str, Path]], also: str = "", options: Sequence[str] = ()) -> str:
    """sha256 over names and contents of a recipe, 64 hexadecimal digits; the order of the parts counts.

    parts: list of (str, Path)
    also: What else decides, such as which kernel of the shelf it is.
    options: As `deciding`.
    """
    total = hashlib.sha256(also.encode())
    for name, path in parts:
        total.update(f"{name}\0{hashlib.sha256(deciding(path, options)).hexdigest()}\n".encode())
    return total.hexdigest()


def first_line_of(*command: str) -> str:
    """First line that a tool prints, such as its version.

    Raises HostError if the tool is not there, fails, prints nothing, or does not end.
    """
    lines = output_of(*command).splitlines()
    if not lines:
        raise HostError(f"asking `{' '.join(command)}`: it prints nothing", hint="leowarp doctor")
    return lines[0]
