# SPDX-License-Identifier: Apache-2.0
"""The version of this package, its git commit and the hash of its files.

This module uses only the standard library, because the build of a wheel runs it without the package
    (tools/hatch_build.py).
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
"""The version of the current release. Between two releases, this is the version of the next release. A study can be
continued with any commit of the same version. Manifests contain both the version and the commit."""

_PACKAGE = Path(__file__).resolve().parent

REVISION = "_revision.json"
"""The file in a wheel with `build_version` and `revision_of` of the checkout from which the wheel was built."""

ARCHIVE = ".git_archival.json"
"""The file into which `git archive` writes the commit of a source archive, and the commit's tag if it has one."""

_BESIDE = ("_guest", "examples", "_native.abi3.so", REVISION)
"""The parts of a wheel that a checkout has in another place, or does not have."""


# The files do not change while a process runs, so the hash is computed only once.
@cache
def sources() -> dict[str, Any]:
    """Return what `revision_of` returns for the checkout from which the package runs, or from which its wheel was
    built, and `package_sha256`, the result of `sha256_of_package`."""
    top = _PACKAGE.parent.parent
    revision = _UNKNOWN
    if built := _built():
        revision = {name: built[name] for name in _UNKNOWN}
    # The parent directory may belong to another repository, such as one with a virtual environment. The parent
    # directory must therefore have this project's layout.
    elif top / "python" / "leowarp" == _PACKAGE:
        revision = revision_of(top)
    return {**revision, "package_sha256": sha256_of_package(_PACKAGE)}


def _built() -> dict[str, Any]:
    """Return the revision stored in a wheel, or nothing outside of a wheel."""
    file = _PACKAGE / REVISION
    return dict(json.loads(file.read_text())) if file.is_file() else {}


def build_version(checkout: Path = _PACKAGE.parent.parent) -> str:
    """Return the version of a build from a checkout, in the form of PEP 440. If the package comes from a wheel, return
    the version of the wheel.

    Returns: `VERSION` if the commit has the tag `v` plus `VERSION`, and no file differs from the commit. Otherwise, the
        result is a development version with the commit: "0.2.0.dev0+g1a2b3c4d". If files differ, ".changed" follows. If
        the commit is unknown, the result is "0.2.0.dev0".
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
    """Return the tags of the current commit of a checkout or a source archive."""
    if not (checkout / ".git").exists():
        return [_archived(checkout).get("tag", "")]
    return _git(checkout, "tag", "--points-at", "HEAD")


def _archived(directory: Path) -> dict[str, str]:
    """Return the commit and tag that `git archive` wrote into a source archive, or nothing for another directory."""
    file = directory / ARCHIVE
    facts = json.loads(file.read_text()) if file.is_file() else {}
    # In a checkout, the file contains placeholders instead of values.
    return {} if facts.get("commit", "$").startswith("$") else facts


def revision_of(checkout: Path) -> dict[str, Any]:
    """Return the commit of a checkout, and whether files that git tracks differ from it.

    git runs only in a directory that the user owns, and without the repository's hooks and file-system monitor
    (docs/security.md).

    Returns: `git_commit`, 40 hexadecimal digits, and `git_changed`. Both are None if git is missing, if the directory
        is not a checkout, or if the checkout belongs to another user. For a source archive, `git_commit` is known and
        only `git_changed` is None.
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
    """Return the lines of git's output about a checkout, or nothing if git fails."""
    # The import is here, because `leowarp --help` needs only the version.
    import subprocess

    # These variables are removed, because GIT_DIR and others would select another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = [
        "git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C",
        str(checkout), *words,
    ]  # fmt: skip
    try:
        return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        # git is missing, refuses to read the directory, or finds it damaged, so the revision is unknown.
        return []


_UNKNOWN = {"git_commit": None, "git_changed": None}


def sha256_of_package(package: Path) -> str:
    """Return a hash over all files of a package: the sha256 of the lines that `sha256sum` prints, sorted by name.

    Tests, guest, examples and native library are left out, so that a wheel has the same hash as the checkout from which
    it was built. docs/concepts/repeatability.md has a command that computes the hash.
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
