# SPDX-License-Identifier: Apache-2.0
"""Builds dist/leowarp-*.whl: the package, the agent, the guest kernel, and what the GPL asks for beside a kernel.

`python tools/wheel.py [DIRECTORY]`; the directory is dist/ if not given. One build at a time fills build/guest: a
second one of the same checkout waits for it.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from leowarp.guest import guest_image
from leowarp.guest.building import recipe
from leowarp.guest.building.cache import CHECKSUMS, locked, sha256_of_file
from leowarp.guest.user import modules

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "guest"
KERNEL_PARTS = ("linux", "config", "symbols.json", "kernel.json", modules.ARCHIVE)
AGENT_PARTS = ("leowarp-agent", "agent.json")


def main() -> None:
    """Builds the wheel into the directory of the command line."""
    BUILD.parent.mkdir(exist_ok=True)
    # Two at once, as of two test processes, would empty build/guest under each other.
    with locked(BUILD.with_name("wheel.lock"), "wheel", message):
        build(Path(sys.argv[1] if len(sys.argv) > 1 else "dist").resolve())


def message(text: str) -> None:
    """Says what is waited for, where it is in nobody's way."""
    print(text, file=sys.stderr)


def build(target: Path) -> None:
    """Fills build/guest, which tools/hatch_build.py packs, and has hatchling build the wheel.

    The kernel is built first if it is not in the cache. Beside it goes what the GPL asks for (version 2, section 3):
    the recipe, our sources in it, and how to build it again (REBUILD.md).
    """
    image = guest_image(on_message=message)
    # Anew: hatchling packs whatever lies there.
    if BUILD.exists():
        shutil.rmtree(BUILD)
    BUILD.mkdir()
    for entry, names in ((image.kernel.parent, KERNEL_PARTS), (image.agent.parent, AGENT_PARTS)):
        for name in names:
            shutil.copy(entry / name, BUILD / name)
    # Looked at when the guest is taken out of an installation: a file that was changed there is not booted.
    checksums = {name: sha256_of_file(BUILD / name) for name in sorted((*KERNEL_PARTS, *AGENT_PARTS))}
    (BUILD / CHECKSUMS).write_text(json.dumps(checksums, indent=1) + "\n")
    for name in (*(name for name, _ in recipe.kernel_recipe(ROOT / "guest")), recipe.SHELF, "REBUILD.md"):
        (BUILD / "source" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / "guest" / name, BUILD / "source" / name)
    shutil.copy(ROOT / "LICENSES" / "GPL-2.0-only.txt", BUILD / "source" / "COPYING")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(target)]
    subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
