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

VERSION = "0.1.0"

_PACKAGE = Path(__file__).resolve().parent

REVISION = "_revision.json"
"""The file of a wheel with the answer of `revision_of` about the checkout that it was built in."""

_BESIDE = ("_guest", "examples", "_native.abi3.so", REVISION)
"""Parts of a wheel that a checkout has elsewhere or not at all."""


# Files do not change while they run; a process of many runs reads them once.
@cache
def sources() -> dict[str, Any]:
    """The sources of this package: `git_commit`, `git_changed` and `package_sha256`; the first two None where unknown.

    Returns
    -------
    dict
        As `revision_of` of the checkout that the package runs from, or of the one that its wheel was built in; and
        `package_sha256`, as `sha256_of_package`.
    """
    return {**_revision(), "package_sha256": sha256_of_package(_PACKAGE)}


def _revision() -> dict[str, Any]:
    built = _PACKAGE / REVISION
    if built.is_file():
        return dict(json.loads(built.read_text()))
    # Nowhere but in this project's own layout: a directory further up, such as a virtual environment's repository, is
    # somebody else's.
    top = _PACKAGE.parent.parent
    return revision_of(top) if top / "python" / "leowarp" == _PACKAGE else dict(_UNKNOWN)


def revision_of(checkout: Path) -> dict[str, Any]:
    """The commit of a checkout, and whether files that git tracks differ from it.

    git is asked only about the user's own directory, without its hooks and its file-system monitor (docs/security.md).

    Returns
    -------
    dict
        `git_commit`, 40 hexadecimal digits, and `git_changed`; both None if it is no checkout, somebody else's, or
        there is no git.
    """
    # Not above: `leowarp --help` asks for the version alone.
    import subprocess

    dot_git = checkout / ".git"
    if not dot_git.exists() or {checkout.stat().st_uid, dot_git.stat().st_uid} != {os.geteuid()}:
        return dict(_UNKNOWN)
    # GIT_DIR and its like would lead to another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = [
        "git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-C",
        str(checkout), "status", "--porcelain=v2", "--branch", "--untracked-files=no", "--ignore-submodules=all",
    ]  # fmt: skip
    try:
        answer = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    except (OSError, subprocess.CalledProcessError):
        # No git, or one that refuses the directory or finds it damaged: then nobody knows.
        return dict(_UNKNOWN)
    lines = answer.stdout.splitlines()
    commit = next((line.split()[2] for line in lines if line.startswith("# branch.oid ")), "(initial)")
    if commit == "(initial)":
        return dict(_UNKNOWN)
    return {"git_commit": commit, "git_changed": any(not line.startswith("#") for line in lines)}


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
