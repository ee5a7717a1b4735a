# SPDX-License-Identifier: Apache-2.0
"""Checks that only the user and root may write to the files that leowarp runs, and to their directories.

leowarp runs files from its cache, and programs that its trust list names. If others could write to these files, they
could run programs as this user. leowarp checks each directory on the path to a file that it runs, as OpenSSH does for
authorized_keys (`safe_path` in misc.c).
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from leowarp.base.errors import HostError

MOST_LINKS = 40
"""The largest number of symbolic links in a path. Linux has the same limit (path_resolution(7))."""

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def why_not_own(path: Path) -> str | None:
    """Return the reason why somebody else may change the content of a path. If nobody else may, return None. The text
    is a sentence that names the place.

    The path, and each directory and symbolic link that leads to it, must belong to the user or root. Nobody else may
    write to any of them. A sticky directory such as /tmp may be on the path, because only the owner of an entry can
    replace that entry. A group may write if it is the user's private group.

    path: The path to check. If the path does not exist yet, its directory is checked instead. If this directory is
        sticky, the caller must create the path and then call the function again.
    """
    waiting = list(reversed((Path.cwd() / path).parts[1:]))
    here, links = "/", 0
    why = _why_not_own_entry(here, is_last=not waiting)
    while waiting and why is None:
        name = waiting.pop()
        # The kernel resolves ".." relative to a link's target. `here` contains no links, so the parent directory of
        # `here` is the one that the kernel would use.
        here = os.path.dirname(here) if name == ".." else os.path.join(here, name)
        try:
            is_link = stat.S_ISLNK(os.lstat(here).st_mode)
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"{here} cannot be looked at ({error.strerror})"
        why = _why_not_own_entry(here, is_last=not waiting)
        if is_link and why is None:
            links += 1
            if links > MOST_LINKS:
                return f"{path} leads through more than {MOST_LINKS} symbolic links"
            target = os.readlink(here)
            here = "/" if os.path.isabs(target) else os.path.dirname(here)
            waiting += [part for part in reversed(target.split("/")) if part not in ("", ".")]
    return why


def demand_own(path: Path, attempted: str, hint: str) -> None:
    """Raise HostError if somebody else may change the content of a path.

    attempted: The action of leowarp, for the beginning of the message: "using the cache ...".
    hint: The text that the user should type next.
    """
    if why := why_not_own(path):
        raise HostError(f"{attempted}: {why}, so what lies there is not believed", hint=hint)


def make_directory(path: Path, mode: int = 0o755) -> None:
    """Create a directory and its parents. Other users cannot write to any of these directories, whatever the umask
    allows.

    Raises OSError if the directory cannot be created.
    """
    if not path.is_dir():
        make_directory(path.parent)
        try:
            path.mkdir(mode=mode)
        except FileExistsError:
            # Either another process has just created the directory, or a file has the directory's name.
            if not path.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None


def open_lock(path: Path) -> int:
    """Open a lock file, which is created if it does not exist, and return its descriptor. Its content is not changed.

    Raises OSError, with the reason in `strerror`, if the file cannot be opened or is not a regular file.
    """
    # O_NOFOLLOW is set because the path may be a symbolic link, and the file behind it would be locked instead.
    # O_NONBLOCK is set because opening a pipe would otherwise wait for the pipe's other end.
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        descriptor = os.open(path, flags, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(error.errno, "it is a symbolic link, and a lock is none", str(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is no plain file, and a lock is one", str(path))
    return descriptor


def _why_not_own_entry(place: str, *, is_last: bool) -> str | None:
    status = os.lstat(place)
    mode = status.st_mode
    if status.st_uid not in (0, os.geteuid()) and not (_is_root_unmapped(status.st_uid) and not is_last):
        return f"{place} belongs to user {status.st_uid}"
    # The permissions of a symbolic link have no effect. Its owner and its directory decide who can change it. The owner
    # was checked above.
    if stat.S_ISLNK(mode) or not mode & _OTHERS_WRITE:
        return None
    if stat.S_ISDIR(mode) and mode & stat.S_ISVTX and not is_last:
        return None
    if not mode & stat.S_IWOTH and _is_private_group(status.st_gid) and not _has_acl(place):
        return None
    return f"others may write to {place} (mode {stat.S_IMODE(mode):04o})"


def _is_root_unmapped(uid: int) -> bool:
    """Return whether `uid` stands for all users who are not mapped into the user namespace. If root is mapped, the
    result is false.

    If bubblewrap runs without root, it maps only the user's own id. Then `/` and `/home` seem to belong to the user
    `nobody`.
    """
    try:
        overflow = int(Path("/proc/sys/kernel/overflowuid").read_text())
        ranges = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    except (OSError, ValueError):
        return False
    return uid == overflow and all(int(first) > 0 for first, _, _ in ranges)


def _is_private_group(gid: int) -> bool:
    """Return whether a group contains only the user. Its name and members show this, as in Debian's OpenSSH
    (`secure_permissions`)."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return gid == user.pw_gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _has_acl(place: str) -> bool:
    """Return whether a file or directory has an access control list. With this list, the group bits of the mode are a
    mask for several entries."""
    try:
        return "system.posix_acl_access" in os.listxattr(place, follow_symlinks=False)
    except OSError:
        return True  # the attributes cannot be read, so other users may have access
