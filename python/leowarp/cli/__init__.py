# SPDX-License-Identifier: Apache-2.0
"""The command line `leowarp`, with a verb for each stage of a run.

A verb reads options and prints the result of a library function. A notebook would call the same function. The result is
text for people, or one JSON object with ``--json``. Slow modules (numpy, Arrow, figures) are imported inside the verbs.
Help and completion therefore appear at once.

The exit statuses are defined in `leowarp.base.errors`: 0 for success, 1 if a comparison failed, 2 for an error in
scenario or usage. Exit status 3 means that the machine lacks something, 4 that the guest failed. Exit status 5 means an
error in trace or report, 70 an unforeseen error, and 130 an interruption.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys

from leowarp.base.errors import INTERRUPTED_EXIT_CODE, LeowarpError, unexpected
from leowarp.running.garbage import rarely_collected


def main() -> None:
    """Run the typed verb, and end the process with its exit status.

    All errors of the library are printed in one form, with the attempted action and a hint. With ``LEOWARP_DEBUG=1``,
    the error is not printed in this form, but raised with its traceback.

    Raises SystemExit in every case, with the verb's exit status.
    """
    # One thread is faster than several here, because leowarp's matrices have only three rows and OpenBLAS' idle threads
    # spin.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        _run()
    except BrokenPipeError:
        # The program that reads leowarp's output (head, less) has exited. It is no error if the reading program exits,
        # and nobody would read a message about it.
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
"""The verbs that only read run directories. Somebody else may have made these directories."""


@rarely_collected()
def _run() -> None:
    from leowarp.base.printable import accept_any_character

    for stream in (sys.stdout, sys.stderr):
        accept_any_character(stream)
    # `leowarp.cli.app` is imported inside the function, because the import may fail for lack of files or memory.
    from leowarp.cli.app import program

    try:
        with _limited(sys.argv[1:]):
            # The program's name is fixed, so that messages are the same for `python -m leowarp` and for the installed
            # script.
            program(sys.argv[1:])(prog_name="leowarp")
    finally:
        # Before it exits, Python would search all objects for reference cycles, which takes 0.1 s. `gc.freeze` prevents
        # the search for cycles; the operating system frees the memory anyway.
        gc.freeze()
        # Without this call of flush, Python would write the remaining output at exit, where a full disk causes a
        # traceback and status 120.
        sys.stdout.flush()


def _limited(words: list[str]) -> contextlib.AbstractContextManager[None]:
    """Return a context that limits the memory of a verb that only reads run directories. The context has no effect for
    other verbs. It also has no effect if the user raised the limit."""
    from leowarp.base.machine.bound import bounded_memory
    from leowarp.base.tables import parquetfiles

    only_reads = words[:1] in ([verb] for verb in _READERS) or (words[:1] == ["verify"] and "--files" in words)
    if not only_reads or parquetfiles.raised_limit_bytes() > parquetfiles.MOST_BYTES:
        return contextlib.nullcontext()
    return bounded_memory(parquetfiles.how_to_raise(2 * parquetfiles.MOST_BYTES))


def _tell(error: LeowarpError) -> None:
    """Print an error, even if an output stream no longer works."""
    try:
        from leowarp.cli.output import print_error, print_error_json

        # `sys.argv` is searched for the option, because the verb may have failed before it read its options.
        if "--json" in sys.argv[1:]:
            print_error_json(error)
            sys.stdout.flush()
    except Exception:
        # If the disk is full, the JSON text cannot be written, but the error's text is already on stderr.
        _give_up_stdout()
    try:
        print_error(error)
        sys.stdout.flush()
    except Exception:
        _give_up_stdout()
        with contextlib.suppress(OSError):
            os.write(2, f"error: {error.message}\n".encode(errors="backslashreplace"))


def _give_up_stdout() -> None:
    """Redirect stdout to the null device. Otherwise, Python would flush stdout at exit and raise the same error
    again."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
