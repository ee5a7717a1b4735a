# SPDX-License-Identifier: Apache-2.0
"""Trusted places, in which nobody but the user and root may write.

leowarp runs programs that it finds in its cache or that its trust list names. Anyone who can write to such a place can
run programs as this user. Each directory on the path to a trusted place is therefore checked, as OpenSSH does for
authorized_keys (`safe_path` in misc.c).
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from leowarp.base.errors import HostError

MOST_LINKS = 40
"""Largest number of symbolic links on the way to a place; Linux follows the same number (path_resolution(7))."""

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def why_not_own(path: Path) -> str | None:
    """Reason why somebody else may change the content of a path, as a sentence with the place; None if nobody else may
    change it.

    A place is the user's own if its owner is the user or root, nobody else may write there, and the same holds for each
    directory and each symbolic link on the way. In a sticky directory such as /tmp only the owners of entries can
    replace them, so such a directory may be on the path. Group-write is allowed if the group is the user's private one.

    path: A path that does not exist yet counts as the user's own if the directory above it is the user's own. If the
        directory above is sticky, check again after creating the path.
    """
    waiting = list(reversed((Path.cwd() / path).parts[1:]))
    here, links = "/", 0
    why = _why_not_own_entry(here, is_last=not waiting)
    while waiting and why is None:
        name = waiting.pop()
        # The kernel resolves ".." from a link's target, and so does this code: `here` contains no links.
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

    attempted: The action, which begins the message: "using the cache ...".
    hint: What to type next.
    """
    if why := why_not_own(path):
        raise HostError(f"{attempted}: {why}, so what lies there is not believed", hint=hint)


def make_directory(path: Path, mode: int = 0o755) -> None:
    """Create a directory and its parents, none of them writable for others, whatever the umask allows.

    Raises OSError if the directory cannot be created.
    """
    if not path.is_dir():
        make_directory(path.parent)
        try:
            path.mkdir(mode=mode)
        except FileExistsError:
            # Another process created the directory meanwhile, or a file has that name.
            if not path.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None


def open_lock(path: Path) -> int:
    """A descriptor of a lock file, which is created if it does not exist; its content is kept.

    Raises OSError if the file cannot be opened, or is a symbolic link or any other kind of file than a plain one;
    `strerror` has the reason.
    """
    # O_NOFOLLOW is set, because through a link, another file would be locked. O_NONBLOCK is set, because opening a pipe
    # would wait.
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
    """Result of `why_not_own` for one entry of a directory that the user owns."""
    status = os.lstat(place)
    mode = status.st_mode
    if status.st_uid not in (0, os.geteuid()) and not (_is_root_unmapped(status.st_uid) and not is_last):
        return f"{place} belongs to user {status.st_uid}"
    # The permissions of a link have no meaning: its owner, checked above, and its directory decide.
    if stat.S_ISLNK(mode) or not mode & _OTHERS_WRITE:
        return None
    if stat.S_ISDIR(mode) and mode & stat.S_ISVTX and not is_last:
        return None
    if not mode & stat.S_IWOTH and _is_private_group(status.st_gid) and not _has_acl(place):
        return None
    return f"others may write to {place} (mode {stat.S_IMODE(mode):04o})"


def _is_root_unmapped(uid: int) -> bool:
    """Whether `uid` is the placeholder for users that the user namespace does not know, and root is one of these users.

    bubblewrap without root maps only the user, so `/` and `/home` belong to nobody there.
    """
    try:
        overflow = int(Path("/proc/sys/kernel/overflowuid").read_text())
        ranges = [line.split() for line in Path("/proc/self/uid_map").read_text().splitlines()]
    except (OSError, ValueError):
        return False
    return uid == overflow and all(int(first) > 0 for first, _, _ in ranges)


def _is_private_group(gid: int) -> bool:
    """Whether a group is the user's alone, by its name and members, as in Debian's OpenSSH (`secure_permissions`)."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    return gid == user.pw_gid and group.gr_name == user.pw_name and set(group.gr_mem) <= {user.pw_name}


def _has_acl(place: str) -> bool:
    """Whether a place has an access control list: the group's bits of its mode are then a mask of several entries."""
    try:
        return "system.posix_acl_access" in os.listxattr(place, follow_symlinks=False)
    except OSError:
        return True  # The list is unknown, so the place does not count as private.
