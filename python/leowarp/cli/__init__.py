# SPDX-License-Identifier: Apache-2.0
"""The command line `leowarp`: the street's nouns as verbs."""

from __future__ import annotations

import os
import sys

from leowarp.errors import INTERRUPTED_EXIT_CODE, LeowarpError, unexpected


def main() -> None:
    """Entry point: runs the verb that was typed and ends the process with its exit status."""
    from leowarp.cli.app import app
    from leowarp.cli.output import print_error, print_error_json

    try:
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
