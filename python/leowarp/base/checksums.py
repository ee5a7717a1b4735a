# SPDX-License-Identifier: Apache-2.0
"""The sha256 of files and of manifests. A manifest shows whether a directory has changed since the manifest was
written."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leowarp.base.layout import MANIFEST, SIGNATURES, STUDY_LOCK
from leowarp.base.plainfiles import is_hollow

SEAL = "sha256"
"""Under this key, the manifest has the sha256 of its other entries. The checksum detects damage but not forgery,
because a forger can compute the checksum again."""


def sha256_of_file(path: Path) -> str:
    """Return the sha256 of a file's bytes, as 64 hexadecimal digits.

    Raises OSError if the file cannot be read.
    """
    with path.open("rb") as file:
        # The file is read in pieces, because a trace or a kernel's source may have hundreds of MB.
        return hashlib.file_digest(file, "sha256").hexdigest()


def names_below(directory: Path) -> list[str]:
    """Return the names of all files below a directory, relative to it and sorted by path. The separator is `/` on every
    machine."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return [path.relative_to(directory).as_posix() for path in files]


def names_listed(directory: Path, directories: Iterable[str] = ()) -> list[str]:
    """Return the names of all files in a directory except the manifest, its signatures, and locks. These are the files
    that the manifest must list.

    directories: The subdirectories that have their own manifest. Only the manifests of these subdirectories are listed.
        A study's manifest can be checked without the traces of the study's runs.
    """
    within = tuple(f"{name}/" for name in directories)
    manifests = {f"{name}{MANIFEST}" for name in within}
    names = set(names_below(directory)) - {MANIFEST, STUDY_LOCK, *SIGNATURES}
    return sorted(name for name in names if name in manifests or not name.startswith(within))


def sha256_of_files(directory: Path, names: Iterable[str]) -> dict[str, str]:
    return {name: sha256_of_file(directory / name) for name in names}


def manifest_text(content: Mapping[str, Any]) -> str:
    """Return the text of a manifest file. The text contains a checksum: the sha256 of all other entries.

    The names of a program's files may have any encoding. The text is therefore pure ASCII.
    """
    unsealed = {key: value for key, value in content.items() if key != SEAL}
    # The JSON is compact and sorted, so that a program in any language can compute the checksum.
    compact = json.dumps(unsealed, sort_keys=True, separators=(",", ":"))
    return json.dumps(unsealed | {SEAL: hashlib.sha256(compact.encode()).hexdigest()}, indent=2) + "\n"


def is_as_written(text: str) -> bool | None:
    """Return whether a manifest is byte for byte as it was written. A manifest of an older version has no sha256 of its
    own. For such a manifest, the result is None.

    >>> text = manifest_text({"seed": 1})
    >>> is_as_written(text), is_as_written(text.replace("1", "2", 1)), is_as_written('{"seed": 1}')
    (True, False, None)
    """
    content = json.loads(text)
    return text == manifest_text(content) if SEAL in content else None


@dataclass(frozen=True)
class Checked:
    """The files of a directory, compared with the list in its manifest.

    intact, changed, missing, unlisted: Sorted relative names of files. Intact, changed and missing files are in the
        list. Intact files have the listed sha256, and changed files have a different one. Unlisted files are only in
        the directory.
    """

    intact: tuple[str, ...]
    changed: tuple[str, ...]
    missing: tuple[str, ...]
    unlisted: tuple[str, ...]


def check_files(directory: Path, listed: Mapping[str, str], present: Collection[str]) -> Checked:
    """Compare the files of a directory with their listed sha256.

    listed: A dict of relative name -> sha256, from the manifest. A listed name is opened only if it is also in
        `present`. Even with a forged list, leowarp therefore reads no files outside of the directory.
    present: The names of the files that exist, as `names_below` returns them.
    """
    there = sorted(listed.keys() & set(present))
    # leowarp never writes hollow files. Every hollow file therefore counts as changed, whatever its sha256 is.
    now = sha256_of_files(directory, (name for name in there if not is_hollow(directory / name)))
    return Checked(
        intact=tuple(name for name in there if now.get(name) == listed[name]),
        changed=tuple(name for name in there if now.get(name) != listed[name]),
        missing=tuple(sorted(listed.keys() - set(present))),
        unlisted=tuple(sorted(set(present) - listed.keys())),
    )
