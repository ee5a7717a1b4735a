# SPDX-License-Identifier: Apache-2.0
"""The command line `leowarp`: the street's nouns as verbs.

A verb is a thin layer. It reads options, calls a function of the library that a notebook would call, and prints the
result, as text for people or with ``--json`` as one object. Slow modules (numpy, Arrow, figures) are imported within
the verbs, so that help and completion are there at once.

Exit statuses are those of `leowarp.base.errors`: 0 done, 1 a comparison failed, 2 scenario or usage, 3 the machine
lacks something, 4 the guest failed. Also 5 trace or report, 70 unforeseen, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import os
import sys

from leowarp.base.errors import INTERRUPTED_EXIT_CODE, LeowarpError, unexpected


def main() -> None:
    """Entry point: runs the verb that was typed and ends the process with its exit status.

    Every error of the library is printed in one form: what was attempted, and a hint. With ``LEOWARP_DEBUG=1`` it is
    raised as it is, with its traceback.

    Raises SystemExit: Always, with the verb's status.
    """
    try:
        _run()
    except BrokenPipeError:
        # The reader of our output (head, less) has gone: nothing is wrong, and nobody is there to tell.
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


def _run() -> None:
    """The verb, to the last byte of its output."""
    from leowarp.base.printable import accept_any_character

    for stream in (sys.stdout, sys.stderr):
        accept_any_character(stream)
    # Here and not at the top: it takes files and memory, which a machine may not give.
    from leowarp.cli.app import app

    try:
        # A fixed name, so that messages read alike for `python -m leowarp` and for the script.
        app(prog_name="leowarp")
    finally:
        # What is left would be written when Python ends, where a full disk gives a traceback and status 120.
        sys.stdout.flush()


def _tell(error: LeowarpError) -> None:
    """Print an error in whatever way there is left."""
    try:
        from leowarp.cli.output import print_error, print_error_json

        # The verb may not have got so far as to read its options.
        if "--json" in sys.argv[1:]:
            print_error_json(error)
            sys.stdout.flush()
    except Exception:
        # A full disk takes no JSON either; the text on stderr remains.
        _give_up_stdout()
    try:
        print_error(error)
        sys.stdout.flush()
    except Exception:
        _give_up_stdout()
        with contextlib.suppress(OSError):
            os.write(2, f"error: {error.message}\n".encode(errors="backslashreplace"))


def _give_up_stdout() -> None:
    """Keep Python from flushing stdout as it ends, which would raise once more."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
