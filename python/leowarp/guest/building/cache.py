# SPDX-License-Identifier: Apache-2.0
"""The cache of build results. Each entry is a directory, and is either complete or absent. The key of an entry is a
hash of the build's inputs.

A build fills a temporary directory, and then renames the directory to the entry's name. An interrupted build leaves no
entry. `files.json` holds the sha256 of each file. If a file's sha256 differs from the one in `files.json`, the entry is
reported and rebuilt.

`files.json` is in the same directory and detects damage but not forgery. A cache is used only if nobody except the user
and root may write to it (`ownership`).
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
"""The maximum size in bytes of `files.json`, and of an entry's own record (`kernel.json`, `agent.json`). A kernel's
`files.json` and `kernel.json` have about 1 kB each."""


def cache_root() -> Path:
    """Return the directory of all build results, which only the user and root may change.

    Raises HostError if somebody else may write to the directory or to a directory above it.
    """
    root = cache_place()
    demand_own_cache(root)
    return root


def demand_own_cache(place: Path) -> None:
    """Raise HostError if a path in the cache can be changed by anybody except the user and root. Another user could
    replace programs that leowarp runs from the cache."""
    hint = "let only yourself write there (chmod go-w), or set LEOWARP_CACHE to a directory of your own"
    demand_own(place, f"using the cache {place}", hint)


def cache_folder(kind: str) -> Path:
    """Return the directory for all entries of one kind, which may not exist yet. Raises HostError as `cache_root`."""
    folder = cache_place() / kind
    demand_own_cache(folder)
    return folder


def cache_place() -> Path:
    """Return the name of the cache's directory: $LEOWARP_CACHE if set, otherwise $XDG_CACHE_HOME/leowarp, otherwise
    ~/.cache/leowarp."""
    # LEOWARP_CACHE takes precedence, because it applies only to leowarp. XDG's variable applies to all programs.
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
    """Check that make can build in the cache's path. The message of make itself is hard to understand.

    attempted: The action that needs the cache (example: "building the guest kernel").
    Raises HostError if the path has a blank, or another character with a special meaning for make, kbuild's shell lines
        or gcc's options (kernel: Makefile, "source directory cannot contain spaces or colons").
    """
    root = cache_root()
    # The path is checked with and without resolved symbolic links: kbuild resolves them, and a relative path depends on
    # the working directory.
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
    """Return the key of named parts: 16 hexadecimal digits of a sha256 over names and contents. If a part is a Path,
    the content of the file at this path is hashed.

    parts: The parts must be in the same order on every machine, because the order affects the key.

    >>> content_key([("a", "x")])
    '87898619c5d0f3bf'
    """
    total = hashlib.sha256()
    for name, part in parts:
        content = part.read_bytes() if isinstance(part, Path) else part.encode() if isinstance(part, str) else part
        # The length of each part precedes its content, so that different lists of parts never give the same bytes.
        total.update(f"{name}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()[:16]


def faults(entry: Path, present: Iterable[str] = ()) -> list[str]:
    """Return the files of a cache entry that are missing or have changed since the entry was built, and those of
    `present` that the entry's list does not name. The list is empty if the entry is sound."""
    try:
        # The list of files is missing or unreadable if the build never completed, or the entry was damaged.
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
    return faulty + [f"{name}: {CHECKSUMS} does not list it" for name in present if name not in {CHECKSUMS, *recorded}]


def _recorded(path: Path) -> dict[str, str]:
    """Return the name and recorded sha256 of each file of an entry. Raises OSError, ValueError or RecursionError if the
    list cannot be read, or does not have the form that `_seal` writes."""
    recorded = json.loads(plainfiles.read(path, MOST_FACTS_BYTES))
    if not isinstance(recorded, dict) or not recorded:
        raise ValueError("it lists no files")
    for name, sha256 in recorded.items():
        if not plainfiles.is_plain_name(name) or not isinstance(sha256, str):
            raise ValueError(f"{name!r:.60} is not the name of a file with its sha256")
    return recorded


def entry_faults(entry: Path) -> list[str]:
    """Return the problems that `faults` finds in a cache entry with all its files.

    Raises HostError if somebody else may change the entry or one of its files.
    """
    demand_own_cache(entry)
    present = []
    for file in sorted(entry.iterdir()):
        demand_own_cache(file)
        if stat.S_ISREG(file.stat().st_mode):
            present.append(file.name)
    return faults(entry, present)


def read_facts(path: Path) -> dict[str, Any]:
    """Return an entry's own record (`kernel.json`, `agent.json`), or an empty dict if the record is damaged."""
    try:
        facts = json.loads(plainfiles.read(path, MOST_FACTS_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def built_earlier(kind: str, recipe_sha256: str) -> Path | None:
    """Return an undamaged entry that was built from this recipe, with any version of the compiler. Return None if there
    is no such entry. If several entries match, the last by name is returned.

    recipe_sha256: The value of `recipe.recipe_sha256`. It is a hash of leowarp's own inputs, but not of the kernel
        source or the compiler.
    """
    # An entry of any compiler is accepted, because this function is used on machines without a compiler. The recipe,
    # not the compiler's version, determines the guest's behaviour.
    for facts in sorted((cache_root() / kind).glob(f"*/{kind}.json"), reverse=True):
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
    """Return the directory of the entry `kind/key`. If the entry is absent or damaged, `build(directory)` builds it.

    If two processes need the same entry, one builds it and the other waits.

    build: A function that fills the empty directory passed to it. The entry is locked while `build` runs.
    on_message: A function that is called with a line of text if this process waits for another process, or finds a
        damaged entry.
    root: The cache root to use instead of `cache_root()`.
    Raises HostError if the cache cannot be written, or if somebody else can write to it. If `build` fails, its error is
        passed on, and the entry remains absent.
    """
    home = (root or cache_root()) / kind
    entry = home / key
    demand_own_cache(entry)
    if entry.is_dir() and not entry_faults(entry):
        return entry
    with _writable(home), locked(home / f"{key}.lock", kind, on_message):
        # Only the process that holds the lock builds the entry of this key. If a temporary directory of this key
        # exists, it is therefore left over from an interrupted build.
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
            # A rename within one file system is atomic, so the directory `entry` is complete as soon as it exists.
            growing.rename(entry)
        except BaseException:
            shutil.rmtree(growing, ignore_errors=True)
            raise
    return entry


def _seal(directory: Path) -> None:
    """Write `files.json` with the sha256 of each file of a new entry. Files in subdirectories are not recorded and not
    checked."""
    files = sorted(p for p in directory.iterdir() if p.is_file())
    # The group's write permission is removed: with a umask of 002 the group could write to the files, and the next
    # command would reject the entry.
    for path in (directory, *files):
        path.chmod(path.stat().st_mode & ~0o022)
    sums = json.dumps({path.name: sha256_of_file(path) for path in files}, indent=1) + "\n"
    plainfiles.write(directory / CHECKSUMS, sums.encode())
    (directory / CHECKSUMS).chmod(0o644)


@contextmanager
def _writable(home: Path) -> Iterator[None]:
    """Create `home`, the directory for entries of one kind. If a write in the block fails because the file system is
    full or read-only, the error names the cache."""
    made = False
    try:
        make_directory(home)
        made = True
        # The owner is checked again, because somebody else may have created the directory in the meantime.
        demand_own_cache(home)
        yield
    except OSError as error:
        # Errors other than a full disk or a missing permission are passed on, because they come from the build and not
        # from the cache.
        if made and error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS):
            raise
        raise HostError(
            f"writing to the cache {home}: {error}",
            hint="free some space there, or set LEOWARP_CACHE to another directory",
        ) from error


@contextmanager
def locked(path: Path, kind: str, on_message: Callable[[str], None]) -> Iterator[None]:
    """Hold a lock file. If another process holds the lock, print one message and wait.

    path: The lock file. A missing file is created. The file is never removed. If the file were removed, two processes
        could each lock a different file with the same name.
    kind: The object that is being built, for the message.
    Raises HostError if the file is not a plain file, for instance a symbolic link.
    """
    # The host's kernel releases a flock when the process ends, so a killed build leaves no lock.
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
                # The loop polls with LOCK_NB and a sleep: unlike a blocking flock, it can print the message first, and
                # Ctrl-C ends it.
                time.sleep(0.2)
        yield
