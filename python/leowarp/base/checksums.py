# SPDX-License-Identifier: Apache-2.0
"""The sha256 of files and of manifests: what a directory held when its manifest was written, and what it holds now."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leowarp.base.layout import MANIFEST, SIGNATURES, STUDY_LOCK

SEAL = "sha256"
"""Key of a manifest's own sha256. It finds damage; a forger computes it anew, as `leowarp verify` assumes."""


def sha256_of_file(path: Path) -> str:
    """The sha256 of a file's bytes, as 64 hexadecimal digits.

    Raises OSError if it cannot be read.
    """
    with path.open("rb") as file:
        # In pieces, since a trace or a kernel's source has hundreds of MB.
        return hashlib.file_digest(file, "sha256").hexdigest()


def names_below(directory: Path) -> list[str]:
    """Names of all files below a directory, relative to it, with `/`, whatever the machine writes; sorted by path."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return [path.relative_to(directory).as_posix() for path in files]


def names_listed(directory: Path, directories: Iterable[str] = ()) -> list[str]:
    """Names of the files that the manifest in a directory has to list: all but itself, what signs it, and locks.

    directories: Directories below it with a manifest of their own. Only that is listed of each, so that the manifest of
        a study needs no look at the traces of its runs.
    """
    within = tuple(f"{name}/" for name in directories)
    manifests = {f"{name}{MANIFEST}" for name in within}
    names = set(names_below(directory)) - {MANIFEST, STUDY_LOCK, *SIGNATURES}
    return sorted(name for name in names if name in manifests or not name.startswith(within))


def sha256_of_files(directory: Path, names: Iterable[str]) -> dict[str, str]:
    """The sha256 of files below a directory, by their relative names."""
    return {name: sha256_of_file(directory / name) for name in names}


def manifest_text(content: Mapping[str, Any]) -> str:
    """A manifest as a file has it, with its own sha256 over everything else in it.

    ASCII: programs may call their files what they like.
    """
    unsealed = {key: value for key, value in content.items() if key != SEAL}
    # Compact and sorted: whoever has read the JSON, in whatever language, can compute it.
    compact = json.dumps(unsealed, sort_keys=True, separators=(",", ":"))
    return json.dumps(unsealed | {SEAL: hashlib.sha256(compact.encode()).hexdigest()}, indent=2) + "\n"


def is_as_written(text: str) -> bool | None:
    """Whether a manifest is as it was written, to the byte; None if it has no sha256 of its own, as older ones.

    >>> text = manifest_text({"seed": 1})
    >>> is_as_written(text), is_as_written(text.replace("1", "2", 1)), is_as_written('{"seed": 1}')
    (True, False, None)
    """
    content = json.loads(text)
    return text == manifest_text(content) if SEAL in content else None


@dataclass(frozen=True)
class Checked:
    """The files of a directory, held against a list.

    intact, changed, missing, unlisted: Relative names, sorted: with the listed sha256, with another one, not there, and
        there without being listed.
    """

    intact: tuple[str, ...]
    changed: tuple[str, ...]
    missing: tuple[str, ...]
    unlisted: tuple[str, ...]


def check_files(directory: Path, listed: Mapping[str, str], present: Collection[str]) -> Checked:
    """The files of a directory against their listed sha256.

    listed: Relative name -> sha256. Only names that are `present`, too, are opened: a list cannot lead elsewhere.
    present: Names of the files that are there and concerned, as `names_below` gives them.
    """
    there = sorted(listed.keys() & set(present))
    now = sha256_of_files(directory, there)
    return Checked(
        intact=tuple(name for name in there if now[name] == listed[name]),
        changed=tuple(name for name in there if now[name] != listed[name]),
        missing=tuple(sorted(listed.keys() - set(present))),
        unlisted=tuple(sorted(set(present) - listed.keys())),
    )
