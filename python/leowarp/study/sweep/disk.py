# SPDX-License-Identifier: Apache-2.0
"""File writes that survive a kill or a power cut: the old or the new content stays, never a mixture. A full disk gives
one clear error.

POSIX promises only that rename(2) never leaves the name missing. To survive a power cut, an fsync(2) of the file comes
before the rename, and one of the directory after it. The sweep's tests kill a study at every disk call.
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
"""The names of temporary files also begin with a dot, so that readers of a data set ignore them."""

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Errors of kernels (ENOSYS) or file systems (EINVAL, for instance NFS; see rename(2)) that cannot exchange names.
_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
# Constants from linux/fcntl.h and linux/fs.h: names are relative to the working directory; exchange two names.
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def write_file(path: Path, content: bytes) -> None:
    """Write a file that appears as a whole and survives a power cut.

    path: An existing file of this name is replaced; the directory must exist.
    Raises OSError if the file cannot be written; an older file of that name stays, and no partial file is left.
    """
    # The temporary file is in the same directory, because rename(2) cannot move it between file systems.
    partial = path.with_name(f".{path.name}{TEMPORARY}")
    try:
        # O_NOFOLLOW is needed if someone else made the directory: a symbolic link with this name would redirect the
        # write.
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            _write_all(descriptor, content)
            # The file is synced before the rename: otherwise a power cut may leave the new name with incomplete
            # content.
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(partial, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise
    # rename(2) is atomic, but the new name survives a power cut only after a sync of the directory.
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable: fsync(2) of the directory itself."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def exchange(new: Path, old: Path) -> None:
    """Exchange the directories `new` and `old`, in one step if the file system supports it.

    On file systems without support for this (NFS), `old` is missing for a moment; `recover` repairs a kill in that
    moment.

    new, old: Directories on one file system; `old` may be absent.
    Raises OSError if the names cannot be changed.
    """
    # The study has no data set yet, so there is nothing to replace.
    if not old.exists():
        os.rename(new, old)
    elif not _exchanged(new, old):
        aside = _aside(old)
        # Between this line and the next, `old` does not exist.
        os.rename(old, aside)
        os.rename(new, old)
        os.rename(aside, new)
    sync_directory(old.parent)


def recover(old: Path) -> None:
    """Complete an `exchange` that was interrupted by a kill."""
    aside = _aside(old)
    if aside.exists():
        if old.exists():
            plainfiles.remove(aside)
        else:
            os.rename(aside, old)


def remove_partial(folder: Path) -> None:
    """Remove temporary files that a killed `write_file` left in a directory or one level below."""
    for pattern in (f".*{TEMPORARY}", f"*/.*{TEMPORARY}"):
        for path in folder.glob(pattern):
            path.unlink()


class AppendedFile:
    """A file that grows by whole pieces; each piece is on disk before `append` returns.

    path: Created if missing; appending begins at the present end of the file.
    Raises OSError: From `__init__`, if the file cannot be opened or is a symbolic link (O_NOFOLLOW).
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        # The size is tracked here instead of using O_APPEND, so that after a failed write, the next one begins after
        # the last whole piece.
        self._end = os.fstat(self._descriptor).st_size
        sync_directory(path.parent)

    def append(self, content: bytes) -> None:
        """Append `content`; on failure, restore the file and raise OSError.

        A Ctrl-C may leave partial content, which the next piece overwrites.
        """
        try:
            if os.fstat(self._descriptor).st_size > self._end:
                # The remainder of a longer, interrupted piece must not follow the new piece.
                os.ftruncate(self._descriptor, self._end)
            os.lseek(self._descriptor, self._end, os.SEEK_SET)
            _write_all(self._descriptor, content)
            # fdatasync instead of fsync: it syncs the size, which readers need, but not the modification time.
            os.fdatasync(self._descriptor)
        except OSError:
            # A full disk may have accepted half of the piece, but half a row must not precede the next row.
            os.ftruncate(self._descriptor, self._end)
            raise
        self._end += len(content)

    def empty(self) -> None:
        """Takes everything out."""
        # Truncation is not synced: rows that reappear after a power cut are also in Parquet files, and count once.
        os.ftruncate(self._descriptor, 0)
        self._end = 0

    def close(self) -> None:
        """Closes it."""
        os.close(self._descriptor)


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Convert an OSError into an error that says which data are safe and what to do.

    folder: Directory of the study, which the message names.
    Raises HostError: For any OSError inside the block; the message names a full disk, quota or file size limit.
    """
    try:
        yield
    except OSError as error:
        # ENOSPC: the disk is full; EDQUOT: the user's quota; EFBIG: the process's file size limit (ulimit -f).
        if error.errno in _NO_SPACE:
            message = f"cannot write to the study {folder}: its disk is full ({error.strerror})"
            raise HostError(message, "what was done stays; free some space and start the study again") from error
        message = f"cannot write to the study {folder}: {error}"
        raise HostError(message, "what was done stays; start the study again when it can be written") from error


def _write_all(descriptor: int, content: bytes) -> None:
    """os.write may write fewer bytes than requested, for instance when a signal arrives."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _exchanged(new: Path, old: Path) -> bool:
    """Exchange two names in one step (renameat2(2) with RENAME_EXCHANGE); False if the kernel or the file system
    cannot.

    Raises OSError: For any reason other than missing support.
    """
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
    """Temporary name of the old directory, for file systems on which `exchange` needs two steps."""
    return path.with_name(f".{path.name}.aside")
