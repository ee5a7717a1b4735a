# SPDX-License-Identifier: Apache-2.0
"""Build python/leowarp/_native.abi3.so from crates/py with cargo. `make` calls this script when a crate has changed."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Cargo gets the target explicitly for two reasons: build scripts are then compiled without RUSTFLAGS, and the output
# has its own folder.
TARGET = "x86_64-unknown-linux-gnu"
PROFILE = "native"
LIBRARY = ROOT / "python" / "leowarp" / "_native.abi3.so"


def main() -> None:
    """Build the library and put it into the package. The exit status is cargo's."""
    # Panic messages contain the paths of source files. The prefixes below replace the paths of source files, so the
    # same sources give the same bytes everywhere.
    cargo_home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    flags = [f"--remap-path-prefix={ROOT}=leowarp", f"--remap-path-prefix={cargo_home}=cargo"]
    # CARGO_ENCODED_RUSTFLAGS separates flags by the character 0x1f, so a path may contain a blank.
    environment = {
        **os.environ,
        "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags),
        "CARGO_TARGET_DIR": str(ROOT / "target"),
    }
    command = ["cargo", "build", "--quiet", "--locked", "--package=leowarp-py", f"--target={TARGET}"]
    print("building leowarp/_native.abi3.so (cargo)", file=sys.stderr)
    done = subprocess.run([*command, f"--profile={PROFILE}"], cwd=ROOT, env=environment, check=False)
    if done.returncode != 0:
        sys.exit(done.returncode)
    # The new library is written to another file and then renamed, so that a process which has loaded the old library
    # keeps it.
    fresh = LIBRARY.with_suffix(".fresh")
    fresh.write_bytes((ROOT / "target" / TARGET / PROFILE / "libleowarp_native.so").read_bytes())
    fresh.chmod(0o755)
    fresh.rename(LIBRARY)


if __name__ == "__main__":
    main()
