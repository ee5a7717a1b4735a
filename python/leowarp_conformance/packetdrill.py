# SPDX-License-Identifier: Apache-2.0
"""The user's sources of packetdrill, and the program compiled from them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from leowarp.base.errors import HostError
from leowarp.guest.building.cache import content_key, entry_or_build
from leowarp.guest.building.kernel import first_errors
from leowarp.guest.building.recipe import first_line_of
from leowarp.guest.machine import host
from leowarp.guest.machine.session import own_session

ADDRESS = "https://github.com/google/packetdrill"
COMMIT = "8d63bbc7d6273f86e826ac16dbc3c38d4a41b129"
"""The commit of packetdrill that is used. It is seven weeks younger than Linux 6.12. Later commits have no new TCP
scripts, and their TCP_INFO is longer than that of Linux 6.12."""
VARIABLE = "PACKETDRILL"
PROGRAM = "gtests/net/packetdrill"
GOOGLES_SCRIPTS = "gtests/net"
NETNS = "in_netns.sh"

# A checkout may have been compiled before. Files that `make` left in the checkout are not copied.
_MADE = ("*.o", "*_test", "packetdrill", "Makefile", "lexer.c", "parser.c", "parser.h", "parser.output")
_TOOLS = (("make", "make"), ("gcc", "gcc"), ("flex", "flex"), ("bison", "bison"))


def how_to_get() -> str:
    """Return the commands that fetch the sources and run the tests."""
    return f"git clone {ADDRESS} && git -C packetdrill checkout {COMMIT}, then make conformance {VARIABLE}=packetdrill"


def checked(named: str | None) -> Path:
    """Return the directory with packetdrill's sources.

    named: The path that the user gave. None or empty means that the user gave no path.
    Raises HostError if no path is given, or if the path is not a checkout of packetdrill.
    """
    if not named:
        raise HostError("running conformance tests: packetdrill's sources are not named", hint=how_to_get())
    sources = Path(named).expanduser().resolve()
    if not (sources / PROGRAM / "packetdrill.c").is_file():
        raise HostError(
            f"running conformance tests: {sources} is no checkout of packetdrill: it has no {PROGRAM}/packetdrill.c",
            hint=how_to_get(),
        )
    return sources


def compiled(sources: Path, on_message: Callable[[str], None]) -> Path:
    """Compile packetdrill, and return a directory with the static program `packetdrill` and the script that runs it in
    a network namespace.

    The directory is in the cache. The contents of the sources determine its name. The user's sources are not changed.

    sources: The result of `checked`.
    on_message: The function that gets a line of text before the compilation.
    Raises HostError if a tool is missing, or if the sources do not compile.
    """
    host.demand([host.tool(name, package) for name, package in _TOOLS], "compiling packetdrill")
    top = sources / PROGRAM
    left_out = shutil.ignore_patterns(*_MADE)(str(top), [path.name for path in top.iterdir()])
    files = [path for path in sorted(top.iterdir()) if path.is_file() and path.name not in left_out]
    parts: list[tuple[str, str | bytes | Path]] = [(path.name, path) for path in files if not path.is_symlink()]

    def build(entry: Path) -> None:
        on_message(f"compiling packetdrill of {sources}")
        with tempfile.TemporaryDirectory(prefix="leowarp-packetdrill-") as scratch:
            for path in files:
                shutil.copy(path, scratch, follow_symlinks=False)
            _run(["sh", "./configure"], Path(scratch), sources)
            _run(["make", "packetdrill"], Path(scratch), sources)
            for name in ("packetdrill", NETNS):
                shutil.copy(Path(scratch) / name, entry / name)

    key = content_key([("compiler", first_line_of("gcc", "--version")), *parts])
    return entry_or_build("packetdrill", key, build, on_message=on_message)


def _run(command: list[str], directory: Path, sources: Path) -> None:
    with own_session(command, cwd=directory) as process:
        assert process.stdout is not None
        printed = process.stdout.read()
        process.wait()
    if process.returncode != 0:
        why = (first_errors(printed) or ["it printed nothing"])[0]
        raise HostError(
            f"compiling packetdrill of {sources}: `{' '.join(command)}` failed: {why}",
            hint=f"git -C {sources} status shows whether it is an unmodified checkout of {COMMIT}",
        )
