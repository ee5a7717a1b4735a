# SPDX-License-Identifier: Apache-2.0
"""The version of this package, its git commit and the hash of its files, below everything that writes them down.

Standard library alone: the build of a wheel runs this file without the package (tools/hatch_build.py).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

VERSION = "0.2.0"
"""The release that these sources are, or lead to. Runs of one version continue each other whatever their commits, so
this is what manifests name, and the commit beside it."""

_PACKAGE = Path(__file__).resolve().parent

REVISION = "_revision.json"
"""The file of a wheel with `build_version` and `revision_of` of the checkout that it was built in."""

ARCHIVE = ".git_archival.json"
"""The file in which `git archive` writes the commit of a source archive, and its tag if there is one."""

_BESIDE = ("_guest", "examples", "_native.abi3.so", REVISION)
"""Parts of a wheel that a checkout has elsewhere or not at all."""


# Files do not change while they run; a process of many runs reads them once.
@cache
def sources() -> dict[str, Any]:
    """The sources of this package: `git_commit`, `git_changed` and `package_sha256`; the first two None where unknown.

    Returns: As `revision_of` of the checkout that the package runs from, or of the one that its wheel was built in; and
        `package_sha256`, as `sha256_of_package`.
    """
    return {**_revision(), "package_sha256": sha256_of_package(_PACKAGE)}


def _revision() -> dict[str, Any]:
    if built := _built():
        return {name: built[name] for name in _UNKNOWN}
    # Nowhere but in this project's own layout: a directory further up, such as a virtual environment's repository, is
    # somebody else's.
    top = _PACKAGE.parent.parent
    return revision_of(top) if top / "python" / "leowarp" == _PACKAGE else dict(_UNKNOWN)


def _built() -> dict[str, Any]:
    """What a wheel says of itself; empty elsewhere."""
    file = _PACKAGE / REVISION
    return dict(json.loads(file.read_text())) if file.is_file() else {}


def build_version(checkout: Path = _PACKAGE.parent.parent) -> str:
    """The version of what is built of a checkout, by PEP 440; of an installed wheel its own.

    Returns: `VERSION` where the tag `v` and `VERSION` names the commit and no file differs from it. Else a development
        version with the commit: "0.2.0.dev0+g1a2b3c4d", with ".changed" behind it if files differ; "0.2.0.dev0" where
        no commit is known.
    """
    if checkout == _PACKAGE.parent.parent and (built := _built()):
        return str(built["version"])
    revision = revision_of(checkout)
    if revision["git_commit"] is None:
        return f"{VERSION}.dev0"
    if not revision["git_changed"] and f"v{VERSION}" in tags_of(checkout):
        return VERSION
    return f"{VERSION}.dev0+g{revision['git_commit'][:8]}{'.changed' if revision['git_changed'] else ''}"


def tags_of(checkout: Path) -> list[str]:
    """Tags of the commit of a checkout or of a source archive."""
    if not (checkout / ".git").exists():
        return [_archived(checkout).get("tag", "")]
    return _git(checkout, "tag", "--points-at", "HEAD")


def _archived(directory: Path) -> dict[str, str]:
    """Commit and tag that `git archive` wrote into a source archive; empty where none did."""
    file = directory / ARCHIVE
    facts = json.loads(file.read_text()) if file.is_file() else {}
    # In a checkout the file holds the placeholders themselves.
    return {} if facts.get("commit", "$").startswith("$") else facts


def revision_of(checkout: Path) -> dict[str, Any]:
    """The commit of a checkout, and whether files that git tracks differ from it.

    git is asked only about the user's own directory, without its hooks and its file-system monitor (docs/security.md).

    Returns: `git_commit`, 40 hexadecimal digits, and `git_changed`; both None if it is no checkout, somebody else's, or
        there is no git. `git_changed` alone is None in a source archive.
    """
    dot_git = checkout / ".git"
    if archived := {} if dot_git.exists() else _archived(checkout):
        return {"git_commit": archived["commit"], "git_changed": None}
    if not dot_git.exists() or {checkout.stat().st_uid, dot_git.stat().st_uid} != {os.geteuid()}:
        return dict(_UNKNOWN)
    lines = _git(checkout, "status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules=all")
    commit = next((line.split()[2] for line in lines if line.startswith("# branch.oid ")), "(initial)")
    if commit == "(initial)":
        return dict(_UNKNOWN)
    return {"git_commit": commit, "git_changed": any(not line.startswith("#") for line in lines)}


def _git(checkout: Path, *words: str) -> list[str]:
    """Lines of git's answer about a checkout, without its hooks and its file-system monitor; none where it fails."""
    # Not above: `leowarp --help` asks for the version alone.
    import subprocess

    # GIT_DIR and its like would lead to another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = [
        "git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C",
        str(checkout), *words,
    ]  # fmt: skip
    try:
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        # No git, or one that refuses the directory or finds it damaged: then nobody knows.
        return []


_UNKNOWN = {"git_commit": None, "git_changed": None}


def sha256_of_package(package: Path) -> str:
    """The sha256 of a package's files: of the lines that `sha256sum` prints of them, sorted by name.

    Tests and what a wheel carries besides (guest, examples, native library) are left out: a wheel and the checkout that
    it was built in have one hash. docs/concepts/repeatability.md has the same as a command.
    """
    names = []
    for folder, folders, files in os.walk(package):
        inside = folder[len(str(package)) + 1 :]
        inside = f"{inside}/" if inside else ""
        folders[:] = [name for name in folders if name != "__pycache__" and inside + name not in _BESIDE]
        names += [inside + name for name in files if inside + name not in _BESIDE and not _is_test(name)]
    total = hashlib.sha256()
    for name in sorted(names, key=str.encode):
        with open(f"{package}/{name}", "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        total.update(f"{digest}  {name}\n".encode())
    return total.hexdigest()


_is_test = re.compile(r"conftest\.py|.*_test\..*").fullmatch
