# SPDX-License-Identifier: Apache-2.0
"""Reads and writes files that other users may have created. Only regular files of limited size are accepted.

A run directory may come from another person, and others may be able to write to a directory. A file's name there may
belong to a symbolic link, a pipe or a device. If leowarp opened such a file name, it could read or modify another file,
or wait for ever. Directories are checked before a file in them is opened, and files are opened without following links.
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
"""The largest size of a scenario, a plan or a study file, because tomllib takes seconds per MiB. For comparison, a plan
has 1 kB per station."""

MOST_JSON_BYTES = 32 << 20
"""The maximum size in bytes of a JSON file that is read as a whole."""

MOST_JSON_VALUES = 1 << 20
"""The largest number of values in a JSON text. In memory, an object with one key takes 30 times as much space as its
text. For comparison, a summary of 2,000 flows has 120,000 values.
"""

MOST_INPUT_BYTES = 1 << 30
"""The maximum size of a file that a scenario names. The limit exists because the file is read into memory."""

_PIECE_BYTES = 1 << 20

_LARGE_BYTES = 1 << 30
"""The size above which a file is checked for holes. A smaller file can be read in about a second, even if it consists
of a single hole."""

PARTIAL = ".partial"
"""The suffix of a file's name while it is being written."""

DEEPEST = 16
"""The largest number of directory levels. The directory of a run has 4 levels. The directory of a study that contains
its runs has 6 levels."""

_ROOTS = (".guest", "in", "roots")
"""The directory in which leowarp makes links during a run. If the run is interrupted, the links remain. Each link
points to the directory that a program sees as `/` (guest/user/programs.py). The links in `.guest/in/roots` are allowed:
leowarp writes nothing through them, and removes them before it writes another run to the directory."""

_DEVICES = "/dev/"


def why_not_plain(path: Path, *, itself: bool = False) -> str | None:
    """Find the first entry below a path that is neither a regular file nor a directory. Return text that completes a
    sentence about the path, or None if there is no such entry.

    path: A directory or a file. A missing file is not reported.
    itself: Whether `path` itself must not be a link. If the user typed the path, it may be a link, because the user
        chose it.
    Returns: A text, for example "30-trace/packets.parquet in it is a symbolic link".
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
            # If several entries are wrong, the same entry must be reported each time. Entries are therefore sorted.
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except OSError as error:
            return f"{_below(directory, path)} cannot be looked at ({error.strerror})"
        for entry in entries:
            mode = entry.stat(follow_symlinks=False).st_mode
            name = _below(Path(entry.path), path)
            if stat.S_ISDIR(mode):
                # The depth is limited because a FUSE file system may show an endless tree.
                if depth == DEEPEST:
                    return f"{name} is more than {DEEPEST} directories deep"
                waiting.append((Path(entry.path), depth + 1))
            elif not stat.S_ISREG(mode) and not (stat.S_ISLNK(mode) and directory.parts[-3:] == _ROOTS):
                return f"{name} in it is {kind_of(mode)}"
    return None


def kind_of(mode: int) -> str:
    """For a file that is not a regular file, return the kind as a noun with its article.

    >>> kind_of(stat.S_IFIFO)
    'a pipe'
    """
    kinds = {
        stat.S_IFLNK: "a symbolic link", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device", stat.S_IFBLK: "a device", stat.S_IFDIR: "a directory",
    }  # fmt: skip
    return kinds.get(stat.S_IFMT(mode), "no plain file")


class State(NamedTuple):
    """The properties of a file that change when it is written: device, inode, size, and time of the last change."""

    device: int
    inode: int
    size_bytes: int
    changed_ns: int


def state(path: Path) -> State:
    """Return the file's present `State`. Raises OSError if the file does not exist."""
    status = path.stat()
    return State(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def is_hollow(path: Path) -> bool:
    """Return whether a file is large but takes almost no space on disk, because it is mostly a hole.

    The large files of a run are already compressed. A file system therefore cannot shrink them to a thousandth of their
    size.
    """
    status = path.stat()
    return status.st_size > _LARGE_BYTES and status.st_blocks * 512 < status.st_size // 1000


def refuse_link(path: Path) -> None:
    """Raise ScenarioError if a file to be written exists but is not a regular file.

    Files in /dev are allowed (examples: /dev/stdout and /dev/fd/63). The shell makes /dev/fd/63 for `>(...)`.
    """
    if str(path).startswith(_DEVICES):
        return
    try:
        mode = path.lstat().st_mode
    except OSError:
        return  # a missing file is allowed; writing reports any other error
    if not stat.S_ISREG(mode):
        raise ScenarioError(
            f"cannot write {path}: it is {kind_of(mode)}, and nothing is written through one",
            hint="take it away, or name another file",
        )


def read(path: Path, most_bytes: int, *, links: bool = False) -> bytes:
    """Return the content of a regular file.

    links: Whether the path may be a symbolic link, which is allowed for a path that the user typed.
    Raises OSError, with the reason in `strerror`, if the file cannot be read, is not a regular file, or has more than
    `most_bytes`.
    """
    return b"".join(_pieces(path, most_bytes, links=links))


def refuse_many_values(json_text: str) -> None:
    """Raise ValueError if a JSON text may contain more than `MOST_JSON_VALUES` values. The check does not decode the
    text."""
    # Commas and brackets within strings are counted as well; leowarp's own texts are far below the limit.
    if sum(map(json_text.count, ",[{")) > MOST_JSON_VALUES:
        raise ValueError(f"it holds more than {MOST_JSON_VALUES:,} values")


def too_long(path: Path, most_bytes: int) -> OSError:
    most = f"{most_bytes >> 20} MiB" if most_bytes >= 1 << 20 else f"{most_bytes} B"
    return OSError(0, f"it has more than {most}", str(path))


def sha256_of(path: Path, most_bytes: int, *, links: bool = False) -> str:
    """Return the hexadecimal sha256 of a regular file.

    Raises OSError for the same reasons as `read`.
    """
    found = hashlib.sha256()
    for piece in _pieces(path, most_bytes, links=links):
        found.update(piece)
    return found.hexdigest()


def _pieces(path: Path, most_bytes: int, *, links: bool) -> Iterator[bytes]:
    """Yield the content of a file in pieces, because Python reserves memory for as many bytes as a read asks for."""
    with opened(path, links=links) as file:
        # The size is checked before reading: a sparse file of 10 GB would take a second and a GiB of memory.
        if os.fstat(file.fileno()).st_size > most_bytes:
            raise too_long(path, most_bytes)
        # A file may be longer than the size that it reports, so the bytes are counted as well.
        count_bytes = 0
        while piece := file.read(_PIECE_BYTES):
            count_bytes += len(piece)
            if count_bytes > most_bytes:
                raise too_long(path, most_bytes)
            yield piece


@contextlib.contextmanager
def opened(path: Path, *, links: bool = False) -> Iterator[BinaryIO]:
    """Open a regular file for reading.

    links: Whether the path may be a symbolic link, as in `read`.
    Raises OSError, with the reason in `strerror`, if the file cannot be opened or is not a regular file.
    """
    # Without O_NONBLOCK, opening a pipe would wait for a writer.
    follow = 0 if links else os.O_NOFOLLOW
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | follow)
    except OSError as error:
        if not links and path.is_symlink():
            raise OSError(error.errno, "it is a symbolic link", str(path)) from None
        raise
    with open(descriptor, "rb") as file:
        mode = os.fstat(descriptor).st_mode
        # /dev/stdin, and /dev/fd/63, which the shell makes for `<(...)`, may be pipes.
        is_of_shell = links and str(path).startswith(_DEVICES) and not stat.S_ISDIR(mode)
        if not stat.S_ISREG(mode) and not is_of_shell:
            raise OSError(0, f"it is {kind_of(mode)}", str(path))
        # O_NONBLOCK was only needed for opening the file. With O_NONBLOCK, reading /dev/stdin would fail as long as its
        # writer has written nothing.
        os.set_blocking(descriptor, True)
        yield file


def write(path: Path, content: bytes | BinaryIO) -> None:
    """Write a file atomically, in place of an existing one. A symbolic link is replaced, not followed.

    content: Either bytes, or an open file. An open file is copied in pieces from its current position. Data may still
    be in the page cache when the function returns (no fsync).

    Raises OSError if the file cannot be written. No partial file remains.
    """
    partial = path.with_name(path.name + PARTIAL)
    # A writer that was killed may have left a partial file, with which O_EXCL below would fail.
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
    # If the path is a symbolic link, only the link is removed, not the files in its target.
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def is_plain_name(name: object) -> bool:
    """Return whether a text is a single file name. Such a name has no folder, is not `..`, and is valid for the file
    system.

    >>> is_plain_name("a.toml"), is_plain_name("../a.toml")
    (True, False)
    """
    return isinstance(name, str) and name not in ("", ".", "..") and not {"/", "\0"} & set(name) and len(name) < 256


def is_plain_path(name: object) -> bool:
    """Return whether a text is the relative path of a file below a directory: plain names joined by `/`.

    >>> is_plain_path("30-trace/flows.parquet"), is_plain_path("/etc/passwd"), is_plain_path("a/../../b")
    (True, False, False)
    """
    return isinstance(name, str) and name.count("/") < DEEPEST and all(map(is_plain_name, name.split("/")))


def _below(path: Path, top: Path) -> str:
    return str(path.relative_to(top)) if path != top else str(path)
