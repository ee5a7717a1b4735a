# SPDX-License-Identifier: Apache-2.0
"""The guest's only built-in program, `leowarp-agent`. cargo builds it into the cache, or the wheel contains it."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from leowarp.base.errors import HostError
from leowarp.guest.building import recipe
from leowarp.guest.building.cache import (
    built_earlier,
    cache_folder,
    cache_root,
    content_key,
    entry_or_build,
    faults,
    locked,
    sha256_of_file,
)
from leowarp.guest.machine.host import apt
from leowarp.guest.machine.session import own_session

KIND = "agent"
# glibc is linked statically, because the initramfs has no libraries.
TARGET = "x86_64-unknown-linux-gnu"
DEBIAN_PACKAGES = ["rustc-web", "cargo-web"]


@dataclass(frozen=True)
class Agent:
    """A built agent: a static program, the guest's `/init`, and its origin for the manifest."""

    program: Path
    facts: dict


def agent(
    *, on_message: Callable[[str], None] = lambda text: None, on_wait: Callable[[], None] = lambda: None
) -> Agent:
    """Return the agent for this installation: from the cache, built by cargo, or from the wheel.

    `on_wait` is called ten times per second while cargo runs. If `on_wait` raises an exception, cargo is ended.

    Raises HostError if cargo or rustc is missing or does not answer, unless the cache has an agent built from these
    sources. Raises HostError if the build fails. The message has cargo's errors.
    """
    checkout = recipe.agent_sources()
    if checkout is None:
        return _packaged()
    parts = recipe.agent_recipe(checkout)
    recipe_sha256 = recipe.recipe_sha256(parts)
    place = (cache_root(), recipe_sha256)
    # rustup takes 50 ms, a sixth of a short run, to report the compiler's version. A process therefore asks rustup for
    # the version only once.
    if (used := _USED.get(place)) is not None and used.program.is_file():
        return used
    try:
        compiler = _compiler()
    except HostError as error:
        entry = built_earlier(KIND, recipe_sha256)
        if entry is None:
            raise
        on_message(f"{error.message}: using the agent built earlier, {entry}")
        return _read_entry(entry)
    facts = {"recipe_sha256": recipe_sha256, "compiler": compiler}
    key = content_key(sorted(facts.items()))

    def make(entry: Path) -> None:
        on_message("building the agent (cargo)")
        program = entry / "leowarp-agent"
        # All checkouts share one directory of cargo's object files. The lock keeps other processes from building into
        # cargo's directory until the program is copied out.
        with locked(cache_root() / "cargo-target.lock", "agent", on_message):
            shutil.copyfile(_cargo_build(checkout, on_wait), program)
        program.chmod(0o755)
        sealed = {**facts, "key": key, "agent_sha256": sha256_of_file(program)}
        (entry / "agent.json").write_text(json.dumps(sealed, indent=1, sort_keys=True) + "\n")

    _USED[place] = _read_entry(entry_or_build(KIND, key, make, on_message=on_message))
    return _USED[place]


_USED: dict[tuple[Path, str], Agent] = {}
"""A dict from cache directory and recipe sha256 to an agent that this process has used. Later runs of the process do
not ask for the compiler's version."""


def _packaged() -> Agent:
    """Return the agent from a wheel. Raises HostError if it has none, or if a file has changed since it was made."""
    program = recipe.packaged("leowarp-agent")
    if program is None:
        raise HostError(
            "looking for the agent: this installation has neither a built agent nor crates/agent",
            hint="install a wheel made by `make wheel`, or work in a checkout",
        )
    if wrong := faults(program.parent):
        raise HostError(
            f"using the agent of the installed package: {'; '.join(wrong)}",
            hint="install it again: pip install --force-reinstall leowarp",
        )
    return _read_entry(program.parent)


def _read_entry(entry: Path) -> Agent:
    return Agent(entry / "leowarp-agent", json.loads((entry / "agent.json").read_text()))


def _compiler() -> str:
    """Return the version of rustc. Raises HostError if cargo or rustc is missing or does not answer."""
    hint = f"{apt(DEBIAN_PACKAGES)}; or https://rustup.rs"
    if shutil.which("cargo") is None or shutil.which("rustc") is None:
        raise HostError("building the agent: cargo and rustc are not on the PATH", hint=hint)
    try:
        return recipe.first_line_of("rustc", "--version")
    except HostError as error:
        # rustup's proxies for cargo and rustc may be on the PATH even if no toolchain is installed
        raise HostError(error.message, hint=hint) from error


def _cargo_build(checkout: Path, on_wait: Callable[[], None]) -> Path:
    """Run cargo and return the path of the built program, which is in cargo's directory of object files."""
    target = cache_folder("cargo-target")
    # Panic messages in the program contain source paths. Without a mapping of source paths to fixed prefixes, the
    # program's bytes would depend on the directories of the sources.
    cargo_home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    flags = [
        # glibc is linked statically, because the initramfs has no libraries.
        "-Ctarget-feature=+crt-static",
        f"--remap-path-prefix={checkout}=leowarp",
        f"--remap-path-prefix={cargo_home}=cargo",
    ]
    # The byte 0x1f separates flags in CARGO_ENCODED_RUSTFLAGS, so a path with a blank remains one flag.
    environment = {"CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags), "CARGO_TARGET_DIR": str(target)}
    command = ["cargo", "build", "--release", "--locked", "--package", "leowarp-agent", "--target", TARGET]
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        # The output goes into a file, not a pipe. Nobody reads a pipe while `on_wait` runs, so a full pipe would block
        # cargo.
        with own_session(command, stdout=output, cwd=checkout, environment=environment) as process:
            while process.poll() is None:
                on_wait()
                with suppress(subprocess.TimeoutExpired):
                    process.wait(timeout=0.1)
        output.seek(0)
        said = output.read()
    if process.returncode != 0:
        errors = [line for line in said.splitlines() if line.startswith("error")]
        last = "\n    ".join(errors[:5] or said.splitlines()[-5:])
        log = cache_root() / KIND / "failed-build.log"
        log.write_text(said)
        raise HostError(
            f"building the agent by `{' '.join(command)}` failed; its output is in {log}; its errors:\n    {last}",
            hint=f"rustc must be 1.85 or newer (Debian 12: {apt(DEBIAN_PACKAGES)}); crates come from the registry",
        )
    return target / TARGET / "release" / "leowarp-agent"
