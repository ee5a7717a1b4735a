# SPDX-License-Identifier: Apache-2.0
"""Files that somebody else may have created: read and written only if they are plain files of a limited size.

A run directory that was published, or one in a place where others may write, can contain a symbolic link, a pipe or a
device in place of a file. Reading or writing such a name would affect another file, or wait for ever. So directories
are checked before any file in them is opened, and files are opened without following links.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from leowarp.base.errors import ScenarioError

MOST_TOML_BYTES = 8 << 20
"""Limit for a scenario, a plan or a study file: tomllib takes seconds for each MiB. A plan has 1 kB for each
station."""

MOST_JSON_BYTES = 32 << 20
"""Limit for a JSON file that is read as a whole."""

MOST_JSON_VALUES = 1 << 20
"""Limit for a JSON text, because an object with one key takes 30 times its text in memory. A summary of 2,000 flows has
120,000 values.
"""

MOST_INPUT_BYTES = 1 << 30
"""Limit for a file that a scenario names; it is read into memory."""

_PIECE_BYTES = 1 << 20

_LARGE_BYTES = 1 << 30
"""A smaller file is read in a second, even if it is a hole."""

PARTIAL = ".partial"
"""Suffix of the name of a file until it is complete."""

DEEPEST = 16
"""Maximum number of directory levels; a run has 4, a study with whole runs 6."""

_ROOTS = (".guest", "in", "roots")
"""In a run that did not end, these links are leowarp's own. The links determine the directory that a program sees as
`/` (guest/user/programs.py). They are removed with the other files before a run is written there, and nothing is
written through them."""

_DEVICES = "/dev/"


def why_not_plain(path: Path, *, itself: bool = False) -> str | None:
    """The first entry of a directory that is neither a file nor a directory, as text that ends a sentence; None if
    there is no such entry.

    path: A directory or a file. A missing file counts as plain.
    itself: Whether `path` itself must not be a link either. A path that the user typed may be a link, because the user
        chose the name.
    Returns: Text such as "30-trace/packets.parquet in it is a symbolic link".
    """
    try:
        top = path.lstat() if itself else path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        return f"it cannot be looked at ({error.strerror})"
    if not stat.S_ISDIR(top.st_mode):
        return None if stat.S_ISREG(top.st_mode) else f"it is {kind_of(top.st_mode)}"
    waiting = [(path, 1)]
    while waiting:
        directory, depth = waiting.pop()
        try:
            # Entries are sorted, so that the same one of several invalid files is named each time.
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except OSError as error:
            return f"{_below(directory, path)} cannot be looked at ({error.strerror})"
        for entry in entries:
            mode = entry.stat(follow_symlinks=False).st_mode
            name = _below(Path(entry.path), path)
            if stat.S_ISDIR(mode):
                # The depth is checked before a directory is entered, because a walk through an endless tree, as a FUSE
                # file system may show, would never finish.
                if depth == DEEPEST:
                    return f"{name} is more than {DEEPEST} directories deep"
                waiting.append((Path(entry.path), depth + 1))
            elif not stat.S_ISREG(mode) and not (stat.S_ISLNK(mode) and directory.parts[-3:] == _ROOTS):
                return f"{name} in it is {kind_of(mode)}"
    return None


def kind_of(mode: int) -> str:
    """Kind of a file that is not plain, with its article.

    >>> kind_of(stat.S_IFIFO)
    'a pipe'
    """
    kinds = {
        stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFDIR: "a directory",
    }  # fmt: skip
    return kinds.get(stat.S_IFMT(mode), "no plain file")


class State(NamedTuple):
    """Properties that change when a file is written: its device, inode, size, and time of the last change."""

    device: int
    inode: int
    size_bytes: int
    changed_ns: int


def state(path: Path) -> State:
    """The state of a file now. Raises OSError if the file does not exist."""
    status = path.stat()
    return State(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def is_hollow(path: Path) -> bool:
    """Whether a large file is almost only a hole, which takes no space on disk: reading its zeros may take days.

    Files of a run contain compressed tables, pictures and packets, which no file system stores in a thousandth.
    """
    status = path.stat()
    return status.st_size > _LARGE_BYTES and status.st_blocks * 512 < status.st_size // 1000


def refuse_link(path: Path) -> None:
    """Raise ScenarioError if a file to be written exists and is no plain file.

    Names in /dev come from the shell: /dev/stdout, and /dev/fd/63 of `>(...)`.
    """
    if str(path).startswith(_DEVICES):
        return
    try:
        mode = path.lstat().st_mode
    except OSError:
        return  # The file does not exist, or the write reports the reason why it fails.
    if not stat.S_ISREG(mode):
        raise ScenarioError(
            f"cannot write {path}: it is {kind_of(mode)}, and nothing is written through one",
            hint="take it away, or name another file",
        )


def read(path: Path, most_bytes: int, *, links: bool = False) -> bytes:
    """The content of a plain file.

    links: Whether the file may be reached through a symbolic link: a name that the user typed may.
    Raises OSError if the file cannot be read, is no plain file, or has more than `most_bytes`; `strerror` has the
    reason.
    """
    with opened(path, links=links) as file:
        # The size is checked before reading, because a sparse file of 10 GB would take a second and a GiB of memory.
        if os.fstat(file.fileno()).st_size > most_bytes:
            raise too_long(path, most_bytes)
        # One byte more than allowed is read, which shows that a file is too long, whatever size it claimed.
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise too_long(path, most_bytes)
    return content


def refuse_many_values(json_text: str) -> None:
    """Raise ValueError if a JSON text may hold more than `MOST_JSON_VALUES`; nothing is decoded for this check."""
    # Commas and brackets within texts count, too: no text of ours comes near the limit.
    if sum(map(json_text.count, ",[{")) > MOST_JSON_VALUES:
        raise ValueError(f"it holds more than {MOST_JSON_VALUES:,} values")


def too_long(path: Path, most_bytes: int) -> OSError:
    """The error for a file that is longer than allowed."""
    most = f"{most_bytes >> 20} MiB" if most_bytes >= 1 << 20 else f"{most_bytes} B"
    return OSError(0, f"it has more than {most}", str(path))


def sha256_of(path: Path, most_bytes: int, *, links: bool = False) -> str:
    """The sha256 of a plain file, hexadecimal, read piece by piece.

    Raises OSError for the same reasons as `read`.
    """
    with opened(path, links=links) as file:
        if os.fstat(file.fileno()).st_size > most_bytes:
            raise too_long(path, most_bytes)
        found, count_bytes = hashlib.sha256(), 0
        while piece := file.read(_PIECE_BYTES):
            found.update(piece)
            count_bytes += len(piece)
            if count_bytes > most_bytes:
                raise too_long(path, most_bytes)
    return found.hexdigest()


@contextlib.contextmanager
def opened(path: Path, *, links: bool = False) -> Iterator[BinaryIO]:
    """A plain file, open for reading.

    links: The same as in `read`.
    Raises OSError if the file cannot be opened, or is no plain file; `strerror` has the reason.
    """
    # Opening a pipe for reading waits for a writer, unless O_NONBLOCK is set.
    follow = 0 if links else os.O_NOFOLLOW
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | follow)
    except OSError as error:
        if not links and path.is_symlink():
            raise OSError(error.errno, "it is a symbolic link", str(path)) from None
        raise
    with open(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        # The shell makes these names: /dev/stdin, and /dev/fd/63 of `<(...)`.
        is_of_shell = links and str(path).startswith(_DEVICES) and not stat.S_ISDIR(mode)
        if not stat.S_ISREG(mode) and not is_of_shell:
            raise OSError(0, f"it is {kind_of(mode)}", str(path))
        # O_NONBLOCK is only needed for opening. With it, a read of /dev/stdin would fail before its writer has written.
        os.set_blocking(descriptor, True)
        yield file


def write(path: Path, content: bytes | BinaryIO) -> None:
    """Write a file atomically, replacing an existing one, and never through a link.

    content: The bytes, or an open file, whose rest is copied piece by piece. The content is not forced to disk (no
    fsync).

    Raises OSError if the file cannot be written; no part of the new content remains then.
    """
    partial = path.with_name(path.name + PARTIAL)
    # A leftover of a killed writer would make O_EXCL below fail.
    with contextlib.suppress(FileNotFoundError):
        os.unlink(partial)
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        with open(descriptor, "wb") as file:
            if isinstance(content, bytes):
                file.write(content)
            else:
                shutil.copyfileobj(content, file, _PIECE_BYTES)
        # If the path is a link, the link itself is replaced, not its target.
        os.replace(partial, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise


def remove(path: Path) -> None:
    """Remove a file or a directory if it exists."""
    # If the path is a link, only the link is removed: rmtree through it would remove its target.
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def is_plain_name(name: object) -> bool:
    """Whether a text is the name of a file in a directory: no folders, no `..`, and valid for the file system.

    >>> is_plain_name("a.toml"), is_plain_name("../a.toml")
    (True, False)
    """
    return isinstance(name, str) and name not in ("", ".", "..") and not {"/", "\0"} & set(name) and len(name) < 256


def is_plain_path(name: object) -> bool:
    """Whether a text is the name of a file in or below a directory: plain names joined by `/`.

    >>> is_plain_path("30-trace/flows.parquet"), is_plain_path("/etc/passwd"), is_plain_path("a/../../b")
    (True, False, False)
    """
    return isinstance(name, str) and name.count("/") < DEEPEST and all(map(is_plain_name, name.split("/")))


def _below(path: Path, top: Path) -> str:
    """A path relative to the path `top`; for `top` itself, its own name."""
    return str(path.relative_to(top)) if path != top else str(path)
