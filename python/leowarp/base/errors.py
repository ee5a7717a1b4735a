# SPDX-License-Identifier: Apache-2.0
"""The errors of leowarp, grouped by who can resolve them.

Each message states what leowarp attempted, the value, and the rule that the value breaks. The hint states what to type
next.
"""

from __future__ import annotations

import errno
import os
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any


class LeowarpError(Exception):
    """The base class of leowarp's errors. The command line prints their message without a traceback.

    Parameters
    ----------
    message : str
        The text says what leowarp attempted, which value was wrong, and which rule this value breaks.
    hint : str, optional
        The text with what the user should do or type next.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n  {self.hint}"


class ScenarioError(LeowarpError):
    """The scenario or the command line is wrong, and the user can correct it."""

    exit_code = 2


class HostError(LeowarpError):
    """The machine lacks something, for example a program, a permission, disk space or memory."""

    exit_code = 3


class GuestError(LeowarpError):
    """The guest kernel or the agent in it failed."""

    exit_code = 4


class TraceError(LeowarpError):
    """A trace, or a result that was computed from it, is incomplete or inconsistent."""

    exit_code = 5


class UnexpectedError(LeowarpError):
    """An error that leowarp does not handle: a fault of leowarp, or an invalid file that no check found."""

    # The exit codes 1 to 5 say who can resolve an error. Nobody knows who can resolve an unexpected error, so the exit
    # code is 70.
    exit_code = 70  # EX_SOFTWARE of sysexits.h


INTERRUPTED_EXIT_CODE = 130
"""The exit code after Ctrl-C (128 + SIGINT), as in shells."""


_LACKS = {
    errno.ENOSPC: "there is no space left", errno.EDQUOT: "the quota of disk space is used up",
    errno.EFBIG: "the file would be larger than is allowed (ulimit -f)",
    errno.EMFILE: "too many files are open (ulimit -n)", errno.ENFILE: "too many files are open on this machine",
    errno.ENOMEM: "there is not enough memory (ulimit -v, ulimit -d)",
    errno.EAGAIN: "no more processes or threads are allowed (ulimit -u)",
    errno.EIO: "the device reports an error", errno.EROFS: "the file system is read-only",
}  # fmt: skip
"""Each of these errors means that the machine lacks a resource. They may happen on any machine at any time."""

_WORDS_OF_LACKS = (
    # texts in messages of libraries: the loader, C++, threads
    ("cannot allocate memory", errno.ENOMEM), ("failed to map segment", errno.ENOMEM), ("bad_alloc", errno.ENOMEM),
    ("can't start new thread", errno.EAGAIN), ("Resource temporarily unavailable", errno.EAGAIN),
    ("Too many open files", errno.EMFILE), ("No space left on device", errno.ENOSPC), ("File too large", errno.EFBIG),
)  # fmt: skip


def lack_of(error: BaseException) -> str | None:
    """Return a text that names the missing resource. The result is None if the error has another cause.

    >>> lack_of(OSError(errno.EFBIG, "File too large"))
    'the file would be larger than is allowed (ulimit -f)'
    """
    for each in _chain(error):
        if isinstance(each, OSError) and each.errno in _LACKS:
            return _LACKS[each.errno]
        if isinstance(each, MemoryError):
            return _LACKS[errno.ENOMEM]
        if isinstance(each, OSError | ImportError | RuntimeError | SystemError):
            for words, number in _WORDS_OF_LACKS:
                if words.lower() in str(each).lower():
                    return _LACKS[number]
    return None


def is_lack_of_memory(error: BaseException) -> bool:
    return lack_of(error) == _LACKS[errno.ENOMEM]


def _chain(error: BaseException) -> Iterator[BaseException]:
    each: BaseException | None = error
    for _ in range(16):
        if each is None:
            return
        yield each
        each = each.__cause__ or each.__context__


def unexpected(error: Exception) -> LeowarpError:
    """If leowarp does not handle an error, return the error that is reported instead of a traceback.

    An OSError with a path becomes a HostError (exit code 3). The usual cause is a full disk, a missing permission or a
    file that vanished.

    error: The error with its traceback. The message names the file and the line of the traceback's last frame.
    Returns: An error, which the caller may print or replace by the traceback.
    """
    # Only the file's name and the line of the last frame are reported, because a path would reveal where leowarp is
    # installed.
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    hint = "LEOWARP_DEBUG=1 shows what it was needed for"
    lack = lack_of(error)
    if isinstance(error, OSError) and error.filename is not None:
        return HostError(f"{os.fsdecode(str(error.filename))}: {lack or error.strerror}{where}", hint=hint)
    if lack is not None:
        return HostError(f"{lack}{where}", hint=hint)
    # The text is cut, because an error may quote a whole file.
    return UnexpectedError(
        f"{type(error).__name__}: {str(error) or 'no more is known'}{where}"[:2000],
        hint="no rule foresees this: a file that is damaged or was made by something else than leowarp "
        "(manifest.json has its sha256), or a fault of leowarp. LEOWARP_DEBUG=1 shows the whole of it",
    )


def kind_of(error: LeowarpError) -> str:
    """Return the name of the error's class in this module. If the class is from another module, return the name of its
    base class in this module.

    >>> kind_of(TraceError("a"))
    'TraceError'
    """
    return next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == __name__)


def encode_error(error: BaseException) -> dict[str, Any]:
    """Return an error as JSON: its kind, message and hint. The message of an unexpected error also names the source
    line that raised the error.

    Returns: The keys `kind`, `message` and `hint` (None if there is none). Worker processes send errors to their parent
        process as this JSON.
    """
    if isinstance(error, LeowarpError):
        return {"kind": kind_of(error), "message": error.message, "hint": error.hint}
    where = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(where[-1].filename).name}:{where[-1].lineno})" if where else ""
    return {"kind": type(error).__name__, "message": f"{error!r}{place}", "hint": None}


def decode_error(encoded: Mapping[str, Any]) -> LeowarpError:
    """Return the error that `encode_error` wrote. If the kind is unknown, the result is a plain `LeowarpError`.

    encoded: The keys `kind`, `message` and, if there is one, `hint`.
    """
    # The name of the error's class comes from another process. The name is only looked up. The class with this name is
    # used only if it is one of the classes in this module.
    kind = globals().get(str(encoded["kind"]))
    if not (isinstance(kind, type) and issubclass(kind, LeowarpError)):
        kind = LeowarpError
    return kind(str(encoded["message"]), hint=encoded.get("hint"))
