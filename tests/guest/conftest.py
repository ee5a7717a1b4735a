# SPDX-License-Identifier: Apache-2.0
"""Fixtures: the built kernel, an init with deliberate faults, and a run directory for this init."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leowarp.guest import GuestImage, GuestResult, Patience, drive
from leowarp.guest.building import kernel as building
from leowarp.guest.building import shelf
from leowarp.guest.building.kernel import Kernel, is_built

MIB = 1 << 20
HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def built_kernel() -> Kernel:
    """The default kernel, or the kernel that `--kernel` names. It is built if it is not in the cache."""
    return building.kernel()


@pytest.fixture(scope="session")
def ipv6_kernel() -> str:
    """The name of the kernel with IPv6 and Multipath TCP. If this kernel is not built, the test is skipped."""
    name = "6.12+net"
    if not is_built(shelf.kernel_of(name)):
        pytest.skip(f"its kernel is not built: leowarp kernel build {name}")
    return name


@pytest.fixture(scope="session")
def image_with(built_kernel: Kernel, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., GuestImage]:
    """A function that returns the default kernel with another agent. The agent is a C program in this directory."""

    def made(init: str, *flags: str) -> GuestImage:
        program, source = tmp_path_factory.mktemp("init") / init, HERE / f"{init}.c"
        warnings = ["-Wall", "-Wextra", "-Werror"]
        subprocess.run(["gcc", "-O1", "-static", *flags, *warnings, "-o", program, source], check=True)
        return GuestImage(built_kernel.program, program, built_kernel.symbols)

    return made


@pytest.fixture(scope="session")
def end_of(image_with: Callable[..., GuestImage]) -> Callable[..., dict[str, Any]]:
    """A function that runs a C program of this directory in place of the agent, and returns its `end.json`. It takes
    the program's name, the run's directory, and flags."""

    def made(init: str, directory: Path, *flags: str, duration_ns: int = 1_000_000_000) -> dict[str, Any]:
        image, console = image_with(init, *flags), directory / "console.txt"
        return drive(image, directory, console, duration_ns=duration_ns, seed=1, memory_bytes=96 * MIB).end

    return made


@pytest.fixture(scope="session")
def fault_image(image_with: Callable[..., GuestImage]) -> GuestImage:
    """The default kernel with `fault_init.c` in place of the agent."""
    return image_with("fault_init")


@pytest.fixture
def guest_directory(tmp_path: Path) -> Path:
    """The directory of a guest with an empty `in/`."""
    (tmp_path / "guest" / "in").mkdir(parents=True)
    return tmp_path / "guest"


@pytest.fixture
def drive_fault(fault_image: GuestImage, guest_directory: Path) -> Callable[..., GuestResult]:
    """A function that boots the guest with `fault_init.c` as init and the fault named `fault`."""

    def run(fault: str, **changed) -> GuestResult:
        (guest_directory / "in" / "fault").write_text(fault)
        defaults = {"duration_ns": 3_000_000_000, "seed": 1, "memory_bytes": 96 * MIB}
        patience = Patience(silent_virtual_s=600)
        arguments = defaults | {"patience": patience} | changed
        return drive(fault_image, guest_directory, guest_directory / "console.txt", **arguments)

    return run
