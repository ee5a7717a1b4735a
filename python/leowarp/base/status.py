# SPDX-License-Identifier: Apache-2.0
"""Decides how progress is shown: as bars on a terminal, as a text in the cell of a notebook, or otherwise as lines of a
log."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

CELL_INTERVAL_S = 0.5
"""The minimum time in s between two updates of a cell's text. Each update is a message to the browser."""


def is_terminal() -> bool:
    """Return whether stderr is a terminal on which bars can be drawn."""
    # With `!leowarp run` in a notebook's cell, stderr is a terminal. However, the notebook would show control
    # characters as text. Jupyter sets JPY_PARENT_PID for every process that is started from a notebook.
    return sys.stderr.isatty() and "JPY_PARENT_PID" not in os.environ


def is_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    # Only a notebook's kernel has imported `ipykernel.zmqshell`. This function does not import the module first,
    # because the import would make every process look like the kernel of a notebook.
    if "ipykernel.zmqshell" not in sys.modules:
        return False
    from ipykernel.zmqshell import ZMQInteractiveShell

    return bool(ZMQInteractiveShell.initialized())


class CellText:
    """A text in a notebook's cell that the next text replaces."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._shown, self._waiting = "", ""
        self._next_s = 0.0

    def show(self, text: str) -> None:
        """Show a text instead of the previous one, at most once per `CELL_INTERVAL_S`. `end` shows the last text in any
        case."""
        self._waiting = text
        if time.monotonic() >= self._next_s:
            self._write()

    def end(self) -> None:
        """Show the last text if `show` has not shown it."""
        self._write()

    def _write(self) -> None:
        from IPython.display import display

        if self._waiting == self._shown:
            return
        self._shown, self._next_s = self._waiting, time.monotonic() + CELL_INTERVAL_S
        content = {"text/plain": self._shown}
        if self._handle is None:
            self._handle = display(content, raw=True, display_id=True)
        else:
            self._handle.update(content, raw=True)
