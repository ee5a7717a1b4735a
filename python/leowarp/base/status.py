# SPDX-License-Identifier: Apache-2.0
"""Decides where progress is shown: on a terminal, in the cell of a notebook, or otherwise as lines of a log."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

CELL_INTERVAL_S = 0.5
"""Interval between two texts of a cell, because each text is a message to the browser."""


def is_terminal() -> bool:
    """Whether stderr is a terminal on which bars can be drawn."""
    # `!leowarp run` in a cell has its own terminal, and the notebook would show its control characters. Jupyter sets
    # this variable for every process that a kernel starts.
    return sys.stderr.isatty() and "JPY_PARENT_PID" not in os.environ


def is_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    # Only a kernel has loaded this module; importing it here would make any process look like a kernel.
    if "ipykernel.zmqshell" not in sys.modules:
        return False
    from ipykernel.zmqshell import ZMQInteractiveShell

    return bool(ZMQInteractiveShell.initialized())


class CellText:
    """One output of a notebook's cell, a text that is replaced: it stays a single output however long a run takes."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._shown, self._waiting = "", ""
        self._next_s = 0.0

    def show(self, text: str) -> None:
        """Show the text in place of the previous one, at most every `CELL_INTERVAL_S`; `end` shows the last one."""
        self._waiting = text
        if time.monotonic() >= self._next_s:
            self._write()

    def end(self) -> None:
        """Show the last text if it is not shown yet."""
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
