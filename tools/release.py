# SPDX-License-Identifier: Apache-2.0
"""Build a release from the current commit of a clean checkout. A release has a wheel, a source archive, notes and
checksums.

`python tools/release.py [DIRECTORY]` writes to dist/VERSION by default. The script uploads nothing and creates no tag.
The script stops if the tree is not clean, or if the version's tag does not name the commit. In this case, the script
prints the command that corrects the fault.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from leowarp.version import VERSION

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Build into the directory that the command line names."""
    out = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist" / VERSION
    release(ROOT, VERSION, out.resolve(), wheel)
    print(out)


def wheel(out: Path) -> None:
    """Build the wheel of this checkout into a directory."""
    subprocess.run([sys.executable, ROOT / "tools" / "wheel.py", out], check=True)


def release(root: Path, version: str, out: Path, build_wheel: Callable[[Path], None]) -> None:
    """Write the wheel, source archive, `NOTES.md` and `SHA256SUMS` of a release.

    root: A checkout.
    version: The version in the sources, such as "0.2.0".
    out: A directory that is empty or does not exist.
    build_wheel: A function that writes a wheel into a given directory.
    Raises SystemExit if tree, tag, change log or directory do not allow a release. The message says what to type.
    """
    refuse_what_is_no_release(root, version)
    notes = notes_of((root / "CHANGELOG.md").read_text(encoding="utf-8"), version)
    if out.is_dir() and any(out.iterdir()):
        sys.exit(f"{out} is not empty: rm -r {out}")
    out.mkdir(parents=True, exist_ok=True)
    build_wheel(out)
    if not list(out.glob(f"leowarp-{version}-*.whl")):
        sys.exit(
            f"the wheel is none of {version}: {', '.join(sorted(path.name for path in out.iterdir())) or 'nothing'}"
        )
    name = f"leowarp-{version}"
    git(root, "archive", f"--prefix={name}/", f"--output={out / name}.tar.gz", f"v{version}")
    (out / "NOTES.md").write_text(notes, encoding="utf-8")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in sorted(out.iterdir())]
    (out / "SHA256SUMS").write_text("\n".join(sums) + "\n")


def refuse_what_is_no_release(root: Path, version: str) -> None:
    """Raises SystemExit if files differ from the commit, or if the version's tag does not name the commit."""
    # A wheel would also contain files that git does not track.
    if changed := git(root, "status", "--porcelain"):
        sys.exit(f"{len(changed)} files differ from the commit, {changed[0][3:]} first: git stash --include-untracked")
    tag, tags = f"v{version}", git(root, "tag", "--points-at", "HEAD")
    if tag in tags:
        return
    if elsewhere := git(root, "tag", "--list", tag):
        sys.exit(f"the tag {elsewhere[0]} names another commit: git checkout {tag}")
    other = f" (it has {', '.join(tags)})" if tags else ""
    sys.exit(f"this commit has no tag {tag}{other}: git tag --annotate {tag} --message 'leowarp {version}'")


def notes_of(changelog: str, version: str) -> str:
    """Return a version's section of a change log in the format "Keep a Changelog", without the heading."""
    section = re.search(rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n+(.*?)(?=^## |\Z)", changelog, re.M | re.S)
    if section is None:
        sys.exit(f'CHANGELOG.md has no section "## [{version}] - YYYY-MM-DD": rename "## [Unreleased]", and commit')
    return section[1].rstrip() + "\n"


def git(root: Path, *words: str) -> list[str]:
    """Return the lines that git prints about a checkout."""
    done = subprocess.run(["git", "-C", root, *words], check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


if __name__ == "__main__":
    main()
