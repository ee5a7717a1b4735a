# SPDX-License-Identifier: Apache-2.0
"""Build dist/leowarp-*.whl: the package, the agent, the guest kernel, and the sources that the GPL requires.

`python tools/wheel.py [DIRECTORY]` writes to dist/ by default. A second build of the same checkout waits for the first,
because both would fill build/guest.
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
    """Build the wheel into the directory that the command line names."""
    BUILD.parent.mkdir(exist_ok=True)
    # Without the lock, two simultaneous builds would delete each other's files in build/guest. Two test processes, for
    # example, may build at once.
    with locked(BUILD.with_name("wheel.lock"), "wheel", message):
        build(Path(sys.argv[1] if len(sys.argv) > 1 else "dist").resolve())


def message(text: str) -> None:
    """Print to stderr the message that the build waits. The message also says what the build waits for."""
    print(text, file=sys.stderr)


def build(target: Path) -> None:
    """Fill build/guest, which tools/hatch_build.py packs, and call hatchling to build the wheel.

    A kernel that is not in the cache is built first. The wheel contains the files that the GPL (version 2, section 3)
    requires as well: the recipe, leowarp's kernel sources, and the instructions to build them (REBUILD.md).
    """
    image = guest_image(on_message=message)
    # The directory is emptied first, because hatchling packs all of its content.
    if BUILD.exists():
        shutil.rmtree(BUILD)
    BUILD.mkdir()
    for entry, names in ((image.kernel.parent, KERNEL_PARTS), (image.agent.parent, AGENT_PARTS)):
        for name in names:
            shutil.copy(entry / name, BUILD / name)
    # leowarp checks these hashes when it unpacks an installed guest, and does not boot a changed file.
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
