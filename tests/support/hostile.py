# SPDX-License-Identifier: Apache-2.0
"""Check that hostile input never causes a traceback or an internal error (status 70)."""

from pathlib import Path

CHAIN = Path(__file__).parents[2] / "examples" / "chain.toml"

BELOW = "precious"
NASTY = "\x1b]0;owned\x07\x1b[31m\u202e[red]<script>alert(1)</script>\x9b\udcff"
OBEYED = set("\x1b\x07\x9b\u202e")


def refused(answer, *words):
    """Return whether a command has ended with a clear error that contains all `words`."""
    assert "Traceback" not in answer.err
    assert answer.status in (2, 3, 5), answer
    for word in words:
        assert word in answer.err.replace("\n", " "), answer.err
    return True
