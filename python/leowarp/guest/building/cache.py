# SPDX-License-Identifier: Apache-2.0
"""Things that are built once: a directory per content key, complete or absent.

An entry is made in a directory beside its place and moved there in one rename, so that an interrupted build leaves
nothing that looks finished. `files.json` holds the sha256 of each file; an entry that no longer matches is reported
and made again.

`files.json` lies beside the files, so it finds damage and no forgery. A cache is therefore used only where nobody but
the user and root may write (`ownership`).
"""

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from leowarp.base import plainfiles
from leowarp.base.checksums import sha256_of_file as sha256_of_file
from leowarp.base.errors import HostError
from leowarp.base.ownership import demand_own, make_directory, open_lock

CHECKSUMS = "files.json"

MOST_FACTS_BYTES = 1 << 20
"""Of `files.json`, and of what an entry says of itself; a kernel's have 1 kB."""


def cache_root() -> Path:
    """Directory of everything built, which only the user and root may change.

    Raises HostError if somebody else may write there or on the way to it.
    """
    root = cache_place()
    demand_own_cache(root)
    return root


def demand_own_cache(place: Path) -> None:
    """Raise HostError if somebody else may change a place in the cache: what runs from there would be theirs."""
    hint = "let only yourself write there (chmod go-w), or set LEOWARP_CACHE to a directory of your own"
    demand_own(place, f"using the cache {place}", hint)


def cache_folder(kind: str) -> Path:
    """Directory of what is kept of one kind; it may not be there yet.

    Raises HostError: As `cache_root`.
    """
    folder = cache_place() / kind
    demand_own_cache(folder)
    return folder


def cache_place() -> Path:
    """Name of that directory: $LEOWARP_CACHE, else $XDG_CACHE_HOME/leowarp, else ~/.cache/leowarp."""
    # Ours first: XDG's is for all programs, and a kernel of one's own may be meant for one directory alone.
    if own := os.environ.get("LEOWARP_CACHE"):
        return Path(own)
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(xdg) / "leowarp"
    try:
        return Path.home() / ".cache" / "leowarp"
    except RuntimeError as error:
        raise HostError(
            f"looking for a cache directory: no home directory is known ({error})",
            hint="set LEOWARP_CACHE to a directory that may be written",
        ) from error


def demand_path_for_make(attempted: str) -> None:
    """Refuses a cache in whose path make cannot build, before make says so in words of its own.

    attempted: What needs it: "building the guest kernel".
    Raises HostError if its path has a blank, or another character that make, kbuild's shell lines or gcc's options take
        for something else (kernel: Makefile, "source directory cannot contain spaces or colons").
    """
    root = cache_root()
    # kbuild resolves links, and a name is relative to where one stands.
    paths = (os.path.abspath(root), os.path.realpath(root))
    wrong = sorted(set(re.sub(r"[\w/.+@~-]", "", "".join(paths))))
    if wrong:
        shown = ", ".join(_CHARACTERS.get(char, repr(char)) for char in wrong)
        variable = next((name for name in ("LEOWARP_CACHE", "XDG_CACHE_HOME") if os.environ.get(name)), "HOME")
        raise HostError(
            f"{attempted}: the path of the cache, {paths[0]} ({variable}), has {shown}, and make cannot build there",
            hint="set LEOWARP_CACHE to a directory whose path has letters, digits and / . _ + @ ~ - alone: "
            "export LEOWARP_CACHE=/var/tmp/leowarp",
        )


_CHARACTERS = {" ": "a blank", ":": "a colon", "'": "a quote", '"': "a double quote", "%": "a percent sign",
               "$": "a dollar sign", "#": "a number sign"}  # fmt: skip


def content_key(parts: Iterable[tuple[str, str | bytes | Path]]) -> str:
    """Key of named parts: 16 hexadecimal digits of a sha256 over names and contents (a Path stands for its bytes).

    parts: iterable of (str, str, bytes or Path). In an order that does not depend on the machine; another order is
        another key.

    >>> content_key([("a", "x")])
    '87898619c5d0f3bf'
    """
    total = hashlib.sha256()
    for name, part in parts:
        content = part.read_bytes() if isinstance(part, Path) else part.encode() if isinstance(part, str) else part
        # Lengths first, so that no two lists of parts run together into the same bytes.
        total.update(f"{name}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()[:16]


def faults(entry: Path) -> list[str]:
    """What is wrong with an entry's files: missing or changed since it was built. Empty = sound."""
    try:
        # An entry without its list was never sealed, or was damaged: both are built again.
        recorded = _recorded(entry / CHECKSUMS)
    except (OSError, ValueError, RecursionError) as error:
        return [f"{CHECKSUMS}: {error}"]
    faulty = []
    for name, sha256 in recorded.items():
        try:
            if sha256_of_file(entry / name) != sha256:
                faulty.append(f"{name}: its sha256 is not the recorded {sha256[:12]}...")
        except OSError as error:
            faulty.append(f"{name}: {error.strerror}")
    return faulty


def _recorded(path: Path) -> dict[str, str]:
    """Names and hashes of an entry's files.

    Raises OSError, ValueError, RecursionError if the list cannot be read, or is not as `_seal` writes it.
    """
    recorded = json.loads(plainfiles.read(path, MOST_FACTS_BYTES))
    if not isinstance(recorded, dict) or not recorded:
        raise ValueError("it lists no files")
    for name, sha256 in recorded.items():
        if not plainfiles.is_plain_name(name) or not isinstance(sha256, str):
            raise ValueError(f"{name!r:.60} is not the name of a file with its sha256")
    return recorded


def entry_faults(entry: Path) -> list[str]:
    """As `faults`, of an entry of the cache: there each file is listed.

    Raises HostError if somebody else may change the entry or one of its files.
    """
    demand_own_cache(entry)
    unlisted = []
    for file in sorted(entry.iterdir()):
        demand_own_cache(file)
        if stat.S_ISREG(file.stat().st_mode):
            unlisted.append(file.name)
    faulty = faults(entry)
    if faulty and faulty[0].startswith(f"{CHECKSUMS}: "):
        return faulty
    recorded = _recorded(entry / CHECKSUMS)
    return faulty + [f"{name}: {CHECKSUMS} does not list it" for name in unlisted if name not in {CHECKSUMS, *recorded}]


def read_facts(path: Path) -> dict[str, Any]:
    """What an entry says of itself (`kernel.json`, `agent.json`); empty if it is damaged."""
    try:
        facts = json.loads(plainfiles.read(path, MOST_FACTS_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def built_earlier(kind: str, facts_name: str, recipe_sha256: str) -> Path | None:
    """A sound entry that was built from this recipe by whatever compiler, the last by name; None if there is none.

    kind, facts_name: ``kernel`` and ``kernel.json``, or ``agent`` and ``agent.json``.
    recipe_sha256: As `recipe.recipe_sha256`: what of ours went into it, source and compiler left out.
    """
    # Any compiler will do: it is asked where there is none, and the recipe is what decides what a guest does.
    for facts in sorted((cache_root() / kind).glob(f"*/{facts_name}"), reverse=True):
        if read_facts(facts).get("recipe_sha256") == recipe_sha256 and not entry_faults(facts.parent):
            return facts.parent
    return None


def entry_or_build(
    kind: str,
    key: str,
    build: Callable[[Path], None],
    *,
    on_message: Callable[[str], None],
    root: Path | None = None,
) -> Path:
    """Directory of the entry `kind/key`, built by `build(directory)` if it is absent or damaged.

    Two processes that want the same entry build it once: the second waits for the first.

    kind, key: Folder and name below the cache's root.
    build: Fills the empty directory that it is given. It runs under the entry's lock.
    on_message: Gets a line of text if another process is waited for, or if what is there is damaged.
    root: In place of `cache_root`.
    Raises HostError if the cache cannot be written, or if somebody else can write there. Whatever `build` raises passes
        through, and the entry stays absent.
    """
    home = (root or cache_root()) / kind
    entry = home / key
    demand_own_cache(entry)
    if entry.is_dir() and not entry_faults(entry):
        return entry
    with _writable(home), locked(home / f"{key}.lock", kind, on_message):
        # Under the lock nobody else builds this key: what lies there half done was interrupted.
        for leftover in home.glob(f"{key}.tmp-*"):
            shutil.rmtree(leftover)
        if entry.is_dir():
            wrong = entry_faults(entry)
            if not wrong:
                return entry
            on_message(f"the cached {kind} in {entry} is damaged ({'; '.join(wrong)}): building it again")
            shutil.rmtree(entry)
        growing = home / f"{key}.tmp-{os.getpid()}"
        growing.mkdir()
        try:
            build(growing)
            _seal(growing)
            # Within one file system a rename is all or nothing, so that a directory of this name is whole.
            growing.rename(entry)
        except BaseException:
            shutil.rmtree(growing, ignore_errors=True)
            raise
    return entry


def _seal(directory: Path) -> None:
    """Write the sha256 of each file of a new entry beside them. Files in folders of it are not held against later."""
    files = sorted(p for p in directory.iterdir() if p.is_file())
    # A umask of 002 would leave them to a group, and the next command would refuse them.
    for path in (directory, *files):
        path.chmod(path.stat().st_mode & ~0o022)
    sums = json.dumps({path.name: sha256_of_file(path) for path in files}, indent=1) + "\n"
    plainfiles.write(directory / CHECKSUMS, sums.encode())
    (directory / CHECKSUMS).chmod(0o644)


@contextmanager
def _writable(home: Path) -> Iterator[None]:
    """The place of an entry's kind, made; a full or read-only file system in the block is the cache's error."""
    made = False
    try:
        make_directory(home)
        made = True
        # Again: in a sticky directory somebody else may have made it first.
        demand_own_cache(home)
        yield
    except OSError as error:
        # What else a build may trip over is not the cache's fault and passes through.
        if made and error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        raise HostError(
            f"writing to the cache {home}: {error}",
            hint="free some space there, or set LEOWARP_CACHE to another directory",
        ) from error


@contextmanager
def locked(path: Path, kind: str, on_message: Callable[[str], None]) -> Iterator[None]:
    """Hold a lock file; another process that holds it is waited for, after one message.

    path: Made if it is not there, and left there: a name that were removed could be locked twice.
    kind: What is being built, for the message.
    Raises HostError if the file is no plain one, such as a symbolic link. What it holds is never changed.
    """
    # The kernel of the host drops a flock with its process, so no killed build can leave it locked.
    try:
        descriptor = open_lock(path)
    except OSError as error:
        if error.errno not in (errno.ELOOP, errno.EINVAL):
            raise
        raise HostError(f"locking {path}: {error.strerror}", hint=f"rm {path}") from error
    with open(descriptor, "rb") as file:
        told = False
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if not told:
                    on_message(f"another leowarp is building the {kind}: waiting for it")
                    told = True
                # LOCK_NB and a sleep instead of a blocking flock: Ctrl-C ends the wait, and the message comes before
                # it.
                time.sleep(0.2)
        yield
