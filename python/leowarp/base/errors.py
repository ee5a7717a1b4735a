# SPDX-License-Identifier: Apache-2.0
"""Errors, grouped by who can resolve them.

Every message states the action that was attempted, its value, and the rule that it broke; the hint states what to type
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
    """An error that ends a command with one clear message.

    Parameters
    ----------
    message : str
        The action that was attempted, its value, and the rule that it broke.
    hint : str, optional
        Text that says what to do or type next.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n  {self.hint}"


class ScenarioError(LeowarpError):
    """The scenario or the typed text is wrong: the user corrects it."""

    exit_code = 2


class HostError(LeowarpError):
    """The machine lacks something: a program, a permission, space, memory."""

    exit_code = 3


class GuestError(LeowarpError):
    """The guest kernel or its agent failed."""

    exit_code = 4


class TraceError(LeowarpError):
    """A trace, or a result computed from it, is incomplete or inconsistent."""

    exit_code = 5


class UnexpectedError(LeowarpError):
    """An unforeseen error: a fault of leowarp, or an invalid file that no check found."""

    # This status differs from 1 to 5, which show who can resolve the error. Here that is unknown.
    exit_code = 70  # EX_SOFTWARE of sysexits.h


INTERRUPTED_EXIT_CODE = 130
"""The exit status after Ctrl-C (128 + SIGINT), as in shells."""


_LACKS = {
    errno.ENOSPC: "there is no space left", errno.EDQUOT: "the quota of disk space is used up",
    errno.EFBIG: "the file would be larger than is allowed (ulimit -f)",
    errno.EMFILE: "too many files are open (ulimit -n)", errno.ENFILE: "too many files are open on this machine",
    errno.ENOMEM: "there is not enough memory (ulimit -v, ulimit -d)",
    errno.EAGAIN: "no more processes or threads are allowed (ulimit -u)",
    errno.EIO: "the device reports an error", errno.EROFS: "the file system is read-only",
}  # fmt: skip
"""Resources that a machine may lack or refuse at any time: neither leowarp nor a file is at fault."""

_WORDS_OF_LACKS = (
    # The texts are those of libraries: the loader, C++, threads.
    ("cannot allocate memory", errno.ENOMEM), ("failed to map segment", errno.ENOMEM), ("bad_alloc", errno.ENOMEM),
    ("can't start new thread", errno.EAGAIN), ("Resource temporarily unavailable", errno.EAGAIN),
    ("Too many open files", errno.EMFILE), ("No space left on device", errno.ENOSPC), ("File too large", errno.EFBIG),
)  # fmt: skip


def lack_of(error: BaseException) -> str | None:
    """The resource whose lack caused the error, as a sentence without its full stop; None if the error has another
    cause.

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
    """Whether a lack of memory caused the error."""
    return lack_of(error) == _LACKS[errno.ENOMEM]


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and its causes."""
    each: BaseException | None = error
    for _ in range(16):
        if each is None:
            return
        yield each
        each = each.__cause__ or each.__context__


def unexpected(error: Exception) -> LeowarpError:
    """Message for an unforeseen error, in place of a traceback.

    An OSError with a path is mostly a full disk, a missing permission or a file that vanished: a HostError (status 3).

    error: The error with its traceback, whose last frame is named.
    Returns: An error that is not raised: the caller decides whether to show it or the traceback.
    """
    # Only name and line of the last frame are given: a path would reveal where leowarp is installed.
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    hint = "LEOWARP_DEBUG=1 shows what it was needed for"
    lack = lack_of(error)
    if isinstance(error, OSError) and error.filename is not None:
        return HostError(f"{os.fsdecode(str(error.filename))}: {lack or error.strerror}{where}", hint=hint)
    if lack is not None:
        return HostError(f"{lack}{where}", hint=hint)
    # The text is cut, because an error may quote a file of any length.
    return UnexpectedError(
        f"{type(error).__name__}: {str(error) or 'no more is known'}{where}"[:2000],
        hint="no rule foresees this: a file that is damaged or was made by something else than leowarp "
        "(manifest.json has its sha256), or a fault of leowarp. LEOWARP_DEBUG=1 shows the whole of it",
    )


def kind_of(error: LeowarpError) -> str:
    """Name of the nearest of the classes above, for an error of a class derived from it.

    >>> kind_of(TraceError("a"))
    'TraceError'
    """
    return next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == __name__)


def encode_error(error: BaseException) -> dict[str, Any]:
    """An error as JSON: its kind, message and hint; for an unexpected error, also the place where it arose.

    Returns: `kind`, `message`, `hint` (None if there is none). Worker processes send errors to their parent process in
        this form.
    """
    if isinstance(error, LeowarpError):
        return {"kind": kind_of(error), "message": error.message, "hint": error.hint}
    where = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(where[-1].filename).name}:{where[-1].lineno})" if where else ""
    return {"kind": type(error).__name__, "message": f"{error!r}{place}", "hint": None}


def decode_error(encoded: Mapping[str, Any]) -> LeowarpError:
    """The error that `encode_error` wrote; an error of another kind becomes a plain `LeowarpError`.

    encoded: Keys `kind`, `message` and perhaps `hint`.
    """
    # A name from another process is used only for this look-up, and accepted only if it is one of the classes above.
    kind = globals().get(str(encoded["kind"]))
    if not (isinstance(kind, type) and issubclass(kind, LeowarpError)):
        kind = LeowarpError
    return kind(str(encoded["message"]), hint=encoded.get("hint"))
