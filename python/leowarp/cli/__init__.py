# SPDX-License-Identifier: Apache-2.0
"""The command line `leowarp`, whose verbs follow the stages of a run.

A verb is a thin layer. It reads options, calls a function of the library that a notebook would call, and prints the
result, as text for people or with ``--json`` as one object. Slow modules (numpy, Arrow, figures) are imported within
the verbs, so that help and completion appear at once.

Exit statuses are those of `leowarp.base.errors`: 0 for success, 1 if a comparison failed, 2 for an error in scenario or
usage, 3 if the machine lacks something, 4 if the guest failed. The others are 5 for an error in trace or report, 70 for
an unforeseen error, and 130 for an interruption.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import os
import sys

from leowarp.base.errors import INTERRUPTED_EXIT_CODE, LeowarpError, unexpected
from leowarp.running.garbage import rarely_collected


def main() -> None:
    """Entry point: run the typed verb and end the process with its exit status.

    Every error of the library is printed in one form: the attempted action, and a hint. With ``LEOWARP_DEBUG=1`` it is
    raised unchanged, with its traceback.

    Raises SystemExit always, with the exit status of the verb.
    """
    # At its end Python would search all modules for cycles, which takes 0.1 s. The system frees their memory anyway.
    atexit.register(gc.freeze)
    try:
        _run()
    except BrokenPipeError:
        # The reader of our output (head, less) has exited: this is no error, and nobody reads a message.
        _give_up_stdout()
        sys.exit(0)
    except Exception as raised:
        if os.environ.get("LEOWARP_DEBUG") == "1":
            raise
        error = raised if isinstance(raised, LeowarpError) else unexpected(raised)
        _tell(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("leowarp: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED_EXIT_CODE)


_READERS = ("show", "report", "compare", "view", "export")
"""Verbs that only read run directories, which somebody else may have made."""


@rarely_collected()
def _run() -> None:
    """Run the verb, and flush all of its output."""
    from leowarp.base.printable import accept_any_character

    for stream in (sys.stdout, sys.stderr):
        accept_any_character(stream)
    # The import is here and not at the top, because it needs files and memory, which a machine may refuse.
    from leowarp.cli.app import program

    try:
        with _limited(sys.argv[1:]):
            # The name is fixed, so that messages are the same for `python -m leowarp` and for the script.
            program(sys.argv[1:])(prog_name="leowarp")
    finally:
        # Otherwise Python would write the rest at exit, where a full disk causes a traceback and status 120.
        sys.stdout.flush()


def _limited(words: list[str]) -> contextlib.AbstractContextManager[None]:
    """The limit on memory for a verb that only reads run directories, unless the user raised it."""
    from leowarp.base import parquetfiles
    from leowarp.base.machine.bound import bounded_memory

    only_reads = words[:1] in ([verb] for verb in _READERS) or (words[:1] == ["verify"] and "--files" in words)
    if not only_reads or parquetfiles.raised_limit_bytes() > parquetfiles.MOST_BYTES:
        return contextlib.nullcontext()
    return bounded_memory(parquetfiles.how_to_raise(2 * parquetfiles.MOST_BYTES))


def _tell(error: LeowarpError) -> None:
    """Print an error in any way that still works."""
    try:
        from leowarp.cli.output import print_error, print_error_json

        # The verb may have failed before it read its options.
        if "--json" in sys.argv[1:]:
            print_error_json(error)
            sys.stdout.flush()
    except Exception:
        # A full disk does not accept the JSON text either, but the text on stderr remains.
        _give_up_stdout()
    try:
        print_error(error)
        sys.stdout.flush()
    except Exception:
        _give_up_stdout()
        with contextlib.suppress(OSError):
            os.write(2, f"error: {error.message}\n".encode(errors="backslashreplace"))


def _give_up_stdout() -> None:
    """Prevent Python from flushing stdout at exit, which would raise once more."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
