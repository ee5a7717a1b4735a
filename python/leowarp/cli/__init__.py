# SPDX-License-Identifier: Apache-2.0
"""The command line `leowarp`: the street's nouns as verbs.

A verb is a thin layer. It reads options, calls a function of the library that a notebook would call, and prints the
result, as text for people or with ``--json`` as one object. Slow modules (numpy, Arrow, figures) are imported within
the verbs, so that help and completion are there at once.

Exit statuses are those of `leowarp.base.errors`: 0 done, 1 a comparison failed, 2 scenario or usage, 3 the machine
lacks something, 4 the guest failed. Also 5 trace or report, 70 unforeseen, 130 interrupted.
"""

from __future__ import annotations

import os
import sys

from leowarp.base.errors import INTERRUPTED_EXIT_CODE, LeowarpError, unexpected


def main() -> None:
    """Entry point: runs the verb that was typed and ends the process with its exit status.

    Every error of the library is printed in one form: what was attempted, and a hint. With ``LEOWARP_DEBUG=1`` it is
    raised as it is, with its traceback.

    Raises SystemExit: Always, with the verb's status.
    """
    from leowarp.base.printable import accept_any_character
    from leowarp.cli.app import app
    from leowarp.cli.output import print_error, print_error_json

    for stream in (sys.stdout, sys.stderr):
        accept_any_character(stream)
    try:
        # A fixed name, so that messages read alike for `python -m leowarp` and for the script.
        app(prog_name="leowarp")
    except BrokenPipeError:
        # The reader of our output (head, less) has gone: nothing is wrong, and nobody is there to tell.
        # Python flushes stdout as it exits, which would raise once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except Exception as raised:
        if os.environ.get("LEOWARP_DEBUG") == "1":
            raise
        error = raised if isinstance(raised, LeowarpError) else unexpected(raised)
        # The verb may not have got so far as to read its options.
        if "--json" in sys.argv[1:]:
            print_error_json(error)
        print_error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        print("leowarp: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED_EXIT_CODE)
