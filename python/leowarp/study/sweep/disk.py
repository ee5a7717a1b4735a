# SPDX-License-Identifier: Apache-2.0
"""Functions that write files safely. If the process is killed or the power fails, a file has either its old or its new
content, never a mixture. If the disk is full, the caller gets one clear error.

During rename(2), a file with the new name exists at every moment. POSIX guarantees no more than this. To survive a
power cut, the file needs an fsync(2) before the rename, and the directory needs one after it.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from leowarp.base import plainfiles
from leowarp.base.errors import HostError

TEMPORARY = ".partial"
"""The end of the names of temporary files. They begin with a dot, so that readers of a data set ignore them."""

# The disk is full, the user's quota is used up, or the file exceeds the size limit of the process (ulimit -f).
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# The kernel (ENOSYS) or the file system (EINVAL, for instance NFS) cannot exchange names (see rename(2)).
_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
# Constants of linux/fcntl.h (names are relative to the working directory) and linux/fs.h.
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def write_file(path: Path, content: bytes) -> None:
    """Write a file completely or not at all, so that it survives a power cut. Its directory must exist.

    Raises OSError if the file cannot be written. An existing file remains unchanged, and no partial file is left.
    """
    # The temporary file is in the same directory, because rename(2) cannot move a file to another file system.
    partial = path.with_name(f".{path.name}{TEMPORARY}")
    try:
        # O_NOFOLLOW: another user may have made the directory, and could redirect the write by a symbolic link.
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            _write_all(descriptor, content)
            # Without the fsync before the rename, a power cut could leave a file with the new name but incomplete
            # content.
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(partial, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise
    # rename(2) is atomic, but the new name survives a power cut only after the directory has also been synced.
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Sync a directory with fsync(2), so that the names of its files survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def exchange(new: Path, old: Path) -> None:
    """Exchange two directories on one file system, in one step if the file system supports it. `old` may be missing.

    On other file systems (NFS), `old` is missing for a moment. If the process is killed while `old` is missing,
    `recover` completes the exchange.

    Raises OSError if the names cannot be changed.
    """
    if not old.exists():
        os.rename(new, old)
    elif not _exchanged(new, old):
        aside = _aside(old)
        os.rename(old, aside)
        os.rename(new, old)
        os.rename(aside, new)
    sync_directory(old.parent)


def recover(old: Path) -> None:
    """Complete an `exchange` that was interrupted because the process was killed."""
    aside = _aside(old)
    if aside.exists():
        if old.exists():
            plainfiles.remove(aside)
        else:
            os.rename(aside, old)


def remove_partial(folder: Path) -> None:
    """Remove temporary files that a killed `write_file` left in a directory, or one level below."""
    for pattern in (f".*{TEMPORARY}", f"*/.*{TEMPORARY}"):
        for path in folder.glob(pattern):
            path.unlink()


class AppendedFile:
    """A file to which complete pieces are appended. When `append` returns, the piece is on disk.

    Raises OSError if the file cannot be opened, or if it is a symbolic link (O_NOFOLLOW).
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        # Unlike with O_APPEND, the piece after a failed write starts at the end of the last complete piece.
        self._end = os.fstat(self._descriptor).st_size
        sync_directory(path.parent)

    def append(self, content: bytes) -> None:
        """Append `content`. If the write fails, truncate the file to its previous size and raise OSError.

        After Ctrl-C, the file may contain a part of `content`. The next call of `append` overwrites this part.
        """
        try:
            if os.fstat(self._descriptor).st_size > self._end:
                # The end of a longer interrupted piece would remain after the new piece.
                os.ftruncate(self._descriptor, self._end)
            os.lseek(self._descriptor, self._end, os.SEEK_SET)
            _write_all(self._descriptor, content)
            # fdatasync is used instead of fsync: it syncs the size, which readers need, but not the modification time.
            os.fdatasync(self._descriptor)
        except OSError:
            # If the disk is full, a part of `content` may have been written. The next row must start on a new line.
            os.ftruncate(self._descriptor, self._end)
            raise
        self._end += len(content)

    def empty(self) -> None:
        # The truncation is not synced to disk. Rows that reappear after a power cut are also in Parquet files, and
        # readers count such rows only once.
        os.ftruncate(self._descriptor, 0)
        self._end = 0

    def close(self) -> None:
        os.close(self._descriptor)


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Convert an OSError of the block into a HostError, which names the study and says what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in _NO_SPACE:
            message = f"cannot write to the study {folder}: its disk is full ({error.strerror})"
            raise HostError(message, "what was done stays; free some space and start the study again") from error
        message = f"cannot write to the study {folder}: {error}"
        raise HostError(message, "what was done stays; start the study again when it can be written") from error


def _write_all(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    # os.write may write fewer bytes than requested, for instance when a signal arrives.
    while view:
        view = view[os.write(descriptor, view) :]


def _exchanged(new: Path, old: Path) -> bool:
    """Exchange two names in one step (renameat2(2) with RENAME_EXCHANGE). Return False if the kernel or the file system
    cannot do so. Raises OSError if the exchange is supported but fails."""
    libc = ctypes.CDLL(None, use_errno=True)
    # Python has no function for Linux's renameat2(2).
    if not hasattr(libc, "renameat2"):
        return False
    if libc.renameat2(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NO_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), str(old))


def _aside(path: Path) -> Path:
    return path.with_name(f".{path.name}.aside")
