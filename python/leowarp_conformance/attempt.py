# SPDX-License-Identifier: Apache-2.0
"""One attempt to run one packetdrill script. The attempt boots a guest, in which packetdrill runs as root with all
capabilities."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from leowarp.base.errors import GuestError, HostError
from leowarp.guest import GuestImage, drive
from leowarp.guest.building.cache import content_key, entry_or_build
from leowarp.guest.building.kernel import Kernel
from leowarp.guest.building.recipe import first_line_of
from leowarp.guest.machine import host
from leowarp_conformance.scripts import ScriptSet

INIT = Path(__file__).with_name("init.c")
MEMORY_BYTES = 256 << 20
LIMIT_S = 180
"""The maximum virtual time of a script in s, as in packetdrill's run_all.py."""
SEED = 1

# The PATH that init.c sets in the guest, by which scripts and packetdrill find programs.
_PATH = os.pathsep.join(f"{top}{name}" for top in ("/usr/local/", "/usr/", "/") for name in ("sbin", "bin"))
_STARTED = (
    ("bash", "bash"), ("ip", "iproute2"), ("tc", "iproute2"), ("sysctl", "procps"), ("python3", "python3"),
    ("ifconfig", "net-tools"), ("ethtool", "ethtool"), ("unshare", "util-linux"),
)  # fmt: skip
# The pattern matches a line such as "script.pkt:47: error handling packet: ...", or the line of an error in Python.
_TELLING = re.compile(r"^(\S+\.pkt:\d+: (?!error in Python)|\w*Error\b)")


@dataclass(frozen=True)
class Laboratory:
    """The programs and kernels that all attempts use.

    program: The directory with packetdrill (the result of `packetdrill.compiled`).
    init: The program compiled from `init.c`.
    kernels: The kernels by name, as `leowarp kernel list` shows them.
    """

    program: Path
    init: Path
    kernels: dict[str, Kernel] = field(default_factory=dict)


@dataclass(frozen=True)
class Attempt:
    """The result of an attempt.

    why: The reason of the failure in one line, or empty if the script passed.
    printed: The output of packetdrill and of the script's commands.
    hung: True if the guest stopped making progress, or if the script needed more than `LIMIT_S`.
    """

    passed: bool
    why: str
    printed: str
    hung: bool = False


def check_host() -> None:
    """Check that this machine has the programs that scripts start.

    Raises HostError if programs are missing. The message lists all missing programs.
    """
    host.demand([host.tool(name, package, _PATH) for name, package in _STARTED], "running conformance tests")


def init_program(on_message: Callable[[str], None]) -> Path:
    """Return the program compiled from `init.c`, from the cache if possible.

    Raises HostError if `init.c` does not compile.
    """

    def build(entry: Path) -> None:
        command = ["gcc", "-O1", "-static", "-Wall", "-Wextra", "-Werror", "-o", str(entry / "init"), str(INIT)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise HostError(f"compiling {INIT.name}: {done.stderr.strip()[:500]}", hint=host.apt(["gcc", "libc6-dev"]))

    key = content_key([("compiler", first_line_of("gcc", "--version")), ("source", INIT)])
    return entry_or_build("conformance", key, build, on_message=on_message) / "init"


def attempt(laboratory: Laboratory, scripts: ScriptSet, script: str, tolerance_us: int | None = None) -> Attempt:
    """Run one script of a set in a guest.

    script: A path of `scripts.scripts`.
    tolerance_us: packetdrill's ``--tolerance_usecs``. None means the value that the script sets, or else packetdrill's
        default of 4,000.
    Raises HostError if this machine cannot boot a guest.
    """
    kernel, path = laboratory.kernels[scripts.kernel], Path(script)
    options = [] if tolerance_us is None else [f"--tolerance_usecs={tolerance_us}"]
    lines = [str(LIMIT_S), str(Path("/run/scripts") / path.parent), *scripts.command(script), *options, path.name]
    with tempfile.TemporaryDirectory(prefix="leowarp-conformance-") as scratch:
        directory = Path(scratch) / "guest"
        (directory / "in").mkdir(parents=True)
        for name, target in (("root", Path("/")), ("packetdrill", laboratory.program), ("scripts", scripts.top)):
            (directory / "in" / name).symlink_to(target)
        (directory / "in" / "command").write_text("\n".join(lines) + "\n")
        image = GuestImage(kernel.program, laboratory.init, kernel.symbols)
        printed = directory / "out" / "printed"
        try:
            result = drive(
                image, directory, Path(scratch) / "console.txt", duration_ns=LIMIT_S * 10**9, seed=SEED,
                memory_bytes=MEMORY_BYTES,
            )  # fmt: skip
        except GuestError as error:
            said = printed.read_text(errors="replace") if printed.exists() else ""
            return Attempt(False, error.message, said, hung=True)
        said = printed.read_text(errors="replace")
    if result.end["is_over_limit"]:
        return Attempt(False, f"it had not ended after {LIMIT_S} virtual seconds", said, hung=True)
    if result.kernel_warnings:
        return Attempt(False, result.kernel_warnings[0], said)
    status = os.waitstatus_to_exitcode(result.end["wait_status"])
    return Attempt(status == 0, "" if status == 0 else why_not(said, status), said)


def why_not(printed: str, status: int) -> str:
    """Return the line of an attempt's output that gives the reason of the failure. If there is no such line, return the
    last line."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.match(line)]
    return (telling or lines[-1:] or [f"it ended with {status}, and printed nothing"])[0]
