# SPDX-License-Identifier: Apache-2.0
"""Writing so that a kill or a power cut leaves the old or the new, never a half; a full disk is one clear error.

POSIX promises of rename(2) only that nobody sees the name missing. An fsync(2) of the file before the rename, and one
of the directory after it, make content and name outlast a power cut. The tests of the sweep kill a study at every call
to the disk.
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
"""Such files begin with a dot besides, so that no reader of a data set takes one for a part of it."""

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Answers of a kernel (ENOSYS) or file system (EINVAL, for instance NFS; rename(2)) that cannot exchange names.
_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
# linux/fcntl.h and linux/fs.h: names are relative to the working directory; exchange two of them.
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


def write_file(path: Path, content: bytes) -> None:
    """Writes a file that appears whole, and stays after a power cut.

    path: Its directory exists; a file of this name is replaced.
    Raises OSError if it cannot be written; an older file of the name stays, and nothing partial.
    """
    # In the same directory: rename(2) does not cross file systems.
    partial = path.with_name(f".{path.name}{TEMPORARY}")
    try:
        # O_NOFOLLOW: a link of this name, in a directory that somebody else made, would have the file written
        # elsewhere.
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        try:
            _write_all(descriptor, content)
            # Before the rename: else a power cut may leave the new name with the content not yet written.
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(partial, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(partial)
        raise
    # rename(2) is atomic, but only a sync of the directory makes the new name last through a power cut.
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Makes the names in a directory last: fsync(2) of the directory itself."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def exchange(new: Path, old: Path) -> None:
    """Puts the directory `new` where `old` is, in one step where the file system can; `new` then is the old one.

    Where that is impossible (NFS), `old` is missing for a moment: `recover` finds it after a kill in between.

    new, old: Directories of one file system; `old` need not be there.
    Raises OSError if the names cannot be changed.
    """
    # The first data set of a study: nothing is replaced.
    if not old.exists():
        os.rename(new, old)
    elif not _exchanged(new, old):
        aside = _aside(old)
        # The window in which there is no `old`: from here to the next line.
        os.rename(old, aside)
        os.rename(new, old)
        os.rename(aside, new)
    sync_directory(old.parent)


def recover(old: Path) -> None:
    """Ends what `exchange` had begun when it was killed."""
    aside = _aside(old)
    if aside.exists():
        if old.exists():
            plainfiles.remove(aside)
        else:
            os.rename(aside, old)


def remove_partial(folder: Path) -> None:
    """Removes what `write_file` had begun in a directory, or one level below it, when it was killed."""
    for pattern in (f".*{TEMPORARY}", f"*/.*{TEMPORARY}"):
        for path in folder.glob(pattern):
            path.unlink()


class AppendedFile:
    """A file that grows by whole pieces, each on the disk before `append` returns.

    path: Made if it is not there; appending begins at its present end.
    Raises OSError: From `__init__`, if it cannot be opened or is a link (O_NOFOLLOW).
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
        # Kept here and not asked with O_APPEND: after a failed write the next one begins where the last whole piece
        # ended.
        self._end = os.fstat(self._descriptor).st_size
        sync_directory(path.parent)

    def append(self, content: bytes) -> None:
        """Adds `content`, or leaves the file as it was and raises OSError.

        Leftovers of a Ctrl-C may stay there until the next piece takes their place.
        """
        try:
            if os.fstat(self._descriptor).st_size > self._end:
                # The rest of a longer piece must not stand behind this one.
                os.ftruncate(self._descriptor, self._end)
            os.lseek(self._descriptor, self._end, os.SEEK_SET)
            _write_all(self._descriptor, content)
            # fdatasync, not fsync: the size that a reader needs is written with it, the time of change is not.
            os.fdatasync(self._descriptor)
        except OSError:
            # A full disk may have taken half of it; half a row must not stand before the next one.
            os.ftruncate(self._descriptor, self._end)
            raise
        self._end += len(content)

    def empty(self) -> None:
        """Takes everything out."""
        # Not synced: rows that come back after a power cut are in files as well, and count once.
        os.ftruncate(self._descriptor, 0)
        self._end = 0

    def close(self) -> None:
        """Closes it."""
        os.close(self._descriptor)


@contextlib.contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turns an OSError into an error that says what stays and what to do.

    folder: The study's directory, to be named in the message.
    Raises HostError: For any OSError within; one of a full disk, quota or file size limit says so.
    """
    try:
        yield
    except OSError as error:
        # ENOSPC: full; EDQUOT: the user's quota; EFBIG: the process's limit on file sizes (ulimit -f).
        if error.errno in _NO_SPACE:
            message = f"cannot write to the study {folder}: its disk is full ({error.strerror})"
            raise HostError(message, "what was done stays; free some space and start the study again") from error
        message = f"cannot write to the study {folder}: {error}"
        raise HostError(message, "what was done stays; start the study again when it can be written") from error


def _write_all(descriptor: int, content: bytes) -> None:
    """os.write may write less than it is given, for instance when a signal comes."""
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]


def _exchanged(new: Path, old: Path) -> bool:
    """Exchanges two names in one step (renameat2(2) with RENAME_EXCHANGE); False where the kernel or the file system
    cannot.

    Raises OSError: For any other reason than that it is not supported.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    # renameat2(2) of Linux; Python has no function for it.
    if not hasattr(libc, "renameat2"):
        return False
    if libc.renameat2(_AT_FDCWD, os.fsencode(new), _AT_FDCWD, os.fsencode(old), _RENAME_EXCHANGE) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NO_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), str(old))


def _aside(path: Path) -> Path:
    """Where `exchange` keeps the old directory for a moment on a file system that cannot exchange names."""
    return path.with_name(f".{path.name}.aside")
