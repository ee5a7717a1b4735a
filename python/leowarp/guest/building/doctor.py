# SPDX-License-Identifier: Apache-2.0
"""Checks whether this machine has everything that building and running the guest needs.

The checks do not build, fetch or boot anything.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from leowarp.base.errors import HostError
from leowarp.base.ownership import make_directory, why_not_own
from leowarp.guest.building import recipe
from leowarp.guest.building.agent import DEBIAN_PACKAGES as RUST_PACKAGES
from leowarp.guest.building.cache import cache_place, demand_path_for_make
from leowarp.guest.building.kernel import default_built
from leowarp.guest.building.source import INSTALLED, PACKAGE, local_source
from leowarp.guest.machine import host
from leowarp.guest.machine.host import MIB, Check

# While kernel and agent were built, at most 904 MiB were used (design/kernel-config.md, "What the build needs on
# disk"). The value is larger than this measured maximum.
BUILD_SPACE_BYTES = 1000 * MIB
RUST_LEAST = (1, 85)
# Commands used by the kernel's build, and their Debian packages; libc6-dev has libc's static library.
BUILD_TOOLS = {"gcc": "gcc", "make": "make", "flex": "flex", "bison": "bison", "bc": "bc", "xz": "xz-utils"}
BUILD_TOOLS |= {"ld": "binutils", "perl": "perl", "tar": "tar"}


def examine(memory_bytes: int = 1024 * MIB) -> list[Check]:
    """Return all checks with their results. Checks for running a guest come first, then checks for building kernel and
    agent.

    An installation with a built guest (a wheel) does not need compilers.

    memory_bytes: The size of the guest's memory, on which the checks of memory file and address space depend.
    """
    machine = f"{platform.system()} {platform.machine()}"
    python = ".".join(map(str, sys.version_info[:3]))
    _, memory_place = host.memory_directory(memory_bytes, [Path.cwd()])
    checks = [
        # The kernel program, the agent and their addresses require this kind of machine. On another kind, no other
        # check matters.
        Check("machine", machine == "Linux x86_64", machine, "Linux x86_64", "use another machine"),
        # With an older Python, this module cannot be imported.
        Check("python", True, python, "3.11 or newer"),
        _native(),
        host.ptrace(),
        memory_place,
        host.memory(memory_bytes),
        host.disk(Path.cwd()),
        *host.limits(memory_bytes),
        _cache(),
    ]
    if recipe.agent_sources() is not None:
        checks += build_checks()
    return checks


def build_checks() -> list[Check]:
    """Return the checks for building the guest: commands, libc's static library, the kernel's source, Rust, and
    space."""
    checks = [host.tool(name, package) for name, package in BUILD_TOOLS.items()]
    return [*checks, _path_for_make(), _static_libc(), _source(), *_rust(), _build_space()]


def kernel_is_built() -> bool:
    """Return whether a guest can boot without a kernel build of several minutes, because the package or the cache has a
    kernel."""
    return recipe.packaged("linux") is not None or default_built() is not None


def _native() -> Check:
    needed = "leowarp/_native.abi3.so, and a glibc that it was built for"
    try:
        # The import is inside the function, so that a missing library gives a failed check and not an exception.
        from leowarp.reordering.native import native
    except HostError as error:
        return Check("native library", False, error.message, needed, error.hint)
    return Check("native library", True, native.__file__, needed)


def _cache() -> Check:
    # The check writes a file, because permissions do not show that a disk is full or read-only.
    root = cache_place()
    needed = "a directory that you may write to, and nobody else but root"
    mend = "set LEOWARP_CACHE to a directory that may be written"
    if why := why_not_own(root):
        return Check("cache", False, why, needed, "let only yourself write there, or set LEOWARP_CACHE to another one")
    try:
        # The directory is created here, because `doctor` may be the first command on a machine.
        make_directory(root)
        with tempfile.TemporaryFile(dir=root):
            return Check("cache", True, str(root), needed)
    except OSError as error:
        return Check("cache", False, f"{root}: {error.strerror}", needed, mend)


def _path_for_make() -> Check:
    name, needed = "path of the cache", "letters, digits and / . _ + @ ~ - alone, for make"
    try:
        demand_path_for_make("building")
    except HostError as error:
        return Check(name, False, error.message.removeprefix("building: "), needed, error.hint)
    return Check(name, True, str(cache_place()), needed)


def _build_space() -> Check:
    root = cache_place()
    if built := None if why_not_own(root) else default_built():
        return Check("space for the build", True, f"the kernel is built: {built}", "nothing more")
    # If the cache does not exist yet, its nearest existing parent directory is on the same file system.
    place = next(p for p in (root, *root.parents) if p.is_dir())
    free_bytes = host.free_space_bytes(place)
    return Check(
        "space for the build",
        free_bytes >= BUILD_SPACE_BYTES,
        f"{free_bytes // MIB} MiB free in {place}",
        f"{BUILD_SPACE_BYTES // MIB} MiB while the kernel is built",
        "free some space there, or set LEOWARP_CACHE to another directory",
    )


def _static_libc() -> Check:
    """Check whether gcc finds libc.a, because kernel and agent are linked statically."""
    name, needed = "static libc", "libc.a, Debian package libc6-dev"
    if shutil.which("gcc") is None:
        return Check(name, False, "unknown without gcc", needed, host.apt(["gcc", "libc6-dev"]))
    done = subprocess.run(["gcc", "-print-file-name=libc.a"], capture_output=True, text=True, check=False)
    path = done.stdout.strip()
    # If gcc finds no libc.a, it prints the bare name without a directory.
    return Check(name, os.path.isabs(path), path or "gcc does not answer", needed, host.apt(["libc6-dev"]))


def _source() -> Check:
    # A build downloads the source and checks its checksum if this machine has no source and no apt.
    source = local_source()
    if source is not None:
        return Check("kernel source", True, f"{source.tarball} ({source.version})", f"Debian package {PACKAGE}")
    fetchable = shutil.which("apt-get") is not None
    state = f"no {INSTALLED}" + ("; apt-get download will fetch it" if fetchable else "; it will be fetched")
    return Check("kernel source", fetchable, state, f"Debian package {PACKAGE}", host.apt([PACKAGE]))


def _rust() -> list[Check]:
    checks = []
    for name in ("rustc", "cargo"):
        mend = f"{host.apt(RUST_PACKAGES)}; or https://rustup.rs"
        needed = f"{RUST_LEAST[0]}.{RUST_LEAST[1]} or newer"
        if shutil.which(name) is None:
            checks.append(Check(name, False, "not on the PATH", needed, mend))
            continue
        # If no toolchain is installed, rustup's proxies print only to stderr.
        done = subprocess.run([name, "--version"], capture_output=True, text=True, check=False)
        match = re.search(r"(\d+)\.(\d+)\.\d+", done.stdout)
        ok = match is not None and (int(match[1]), int(match[2])) >= RUST_LEAST
        checks.append(Check(name, ok, match[0] if match else done.stderr.strip(), needed, mend))
    return checks
