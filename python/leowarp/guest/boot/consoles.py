# SPDX-License-Identifier: Apache-2.0
"""The host's ends of the guest's consoles. A console is connected to two outputs of this process, to the user's
terminal, or to nothing.

A console of User Mode Linux is a file descriptor of the kernel's process (`con1=fd:100,fd:101`). However slowly the
host writes, the output takes no virtual time in the guest. The guest's kernel waits until the write has ended
(arch/um/drivers/chan_kern.c, `need_output_blocking`).
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import shutil
import signal
import termios
import threading
import tty
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Self

FIRST = 100
"""The number of the first descriptor that the guest kernel uses as a console. The guest can observe the number, so it
must be the same in each run."""
GATE_BYTES = 4096
"""The capacity in bytes of a pipe. The guest waits for its user on this pipe. The host allows no smaller pipe. The
agent's message (`MESSAGE_BYTES`) is longer than this capacity, so the guest blocks until the host reads it."""
MESSAGE_BYTES = 8192
"""The length in bytes of the message that the guest writes in order to wait
(`crates/agent/src/programs/stillness.rs`)."""
_PIECE_BYTES = 1 << 16


class Consoles:
    """The consoles of a guest that have no connection on the host. The class is also the base class of connected
    consoles. The object is a context manager, which closes the descriptors at its end.

    words: The console options for the kernel's command line.
    descriptors: A dict from this process's descriptors for the consoles to their numbers in the kernel's process.
    is_still: Whether virtual time pauses because the guest waits for the user's input.
    """

    def __init__(self) -> None:
        self.words: Sequence[str] = ()
        self.descriptors: Mapping[int, int] = {}
        self.is_still = False
        self._own: list[int] = []
        self._failed: BaseException | None = None
        self._ferry: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Transfer the remaining output if the guest has ended, and close all descriptors."""
        self._close_guest_ends()
        if self._ferry is not None:
            self._ferry.join()
        for descriptor in self._own:
            with suppress(OSError):
                os.close(descriptor)

    def attach(self) -> None:
        """Start to transfer bytes. This method is called when the guest runs."""
        self._close_guest_ends()
        if self.words:
            self._ferry = threading.Thread(target=self._carry_or_fail, name="leowarp-consoles", daemon=True)
            self._ferry.start()

    def check(self) -> None:
        """Raise the error that ended the transfer of bytes, if there was one.

        Raises BrokenPipeError if the reader of leowarp's own output is gone.
        Raises KeyboardInterrupt if the user ended the session, or the terminal is gone.
        """
        if self._failed is not None:
            raise self._failed

    def _close_guest_ends(self) -> None:
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = {}

    def _carry_or_fail(self) -> None:
        try:
            self._carry()
        except BaseException as error:
            # `check` raises the error again in the code that watches the guest, which then ends the guest.
            self._failed = error

    def _carry(self) -> None:
        """Transfer bytes until the guest has closed its consoles. This method runs in a separate thread."""


class Outputs(Consoles):
    """The standard output and standard error of a program in the guest, connected to the descriptors `out` and `err` of
    this process."""

    def __init__(self, out: int, err: int) -> None:
        super().__init__()
        ways = [(os.pipe(), to) for to in (out, err)]
        self._to = {read: to for (read, _), to in ways}
        self._own = list(self._to)
        self.descriptors = {write: FIRST + number for number, ((_, write), _) in enumerate(ways)}
        self.words = [f"con1=null,fd:{FIRST}", f"con3=null,fd:{FIRST + 1}"]

    def _carry(self) -> None:
        while self._to:
            for end in select.select(list(self._to), [], [])[0]:
                piece = os.read(end, _PIECE_BYTES)
                if piece:
                    write_all(self._to[end], piece)
                else:
                    del self._to[end]


class Terminal(Consoles):
    """The user's terminal, by its descriptors `keys` and `screen`. The terminal is in raw mode while the guest runs,
    because the guest's console does line editing and echo."""

    def __init__(self, keys: int, screen: int) -> None:
        super().__init__()
        self._keys, self._screen = keys, screen
        typed, self._typed = os.pipe()
        self._said, said = os.pipe()
        control, self._control = os.pipe()
        self._gate, gate = os.pipe()
        # The pipe carries one byte per change of the terminal's size, and one byte at the end of the context.
        self._changed, self._change = os.pipe()
        fcntl.fcntl(gate, fcntl.F_SETPIPE_SZ, GATE_BYTES)
        os.set_blocking(self._change, False)
        os.set_blocking(self._typed, False)
        self._own = [self._typed, self._said, self._control, self._gate, self._changed, self._change]
        self.descriptors = {end: FIRST + number for number, end in enumerate((typed, said, control, gate))}
        self.words = [f"con1=fd:{FIRST},fd:{FIRST + 1}", f"con2=fd:{FIRST + 2},fd:{FIRST + 3}"]
        # Whether typed input or a new terminal size has arrived since the guest last continued.
        self._owed = False
        self._before: list[Any] = []
        self._escape = Escape()

    @property
    def size(self) -> tuple[int, int]:
        with suppress(OSError):
            found = os.get_terminal_size(self._screen)
            if found.lines and found.columns:
                return found.lines, found.columns
        columns, rows = shutil.get_terminal_size()
        return rows, columns

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._keys)
        tty.setraw(self._keys)
        self._handler = signal.signal(signal.SIGWINCH, lambda *_: self._tell())
        return super().__enter__()

    def __exit__(self, *what: object) -> None:
        signal.signal(signal.SIGWINCH, self._handler)
        try:
            super().__exit__(*what)
        finally:
            # A terminal that was closed no longer has settings to restore.
            with suppress(termios.error):
                termios.tcsetattr(self._keys, termios.TCSADRAIN, self._before)

    def _tell(self) -> None:
        # If the pipe is full, the reader has not yet read earlier notifications, so a further one is not needed.
        with suppress(BlockingIOError):
            os.write(self._change, b"s")

    def _carry(self) -> None:
        typed = b""
        while True:
            wanted = [self._said, self._changed, *([] if self.is_still else [self._gate])]
            # The host's kernel keeps further input of the terminal until the guest has read the previous piece.
            wanted += [] if typed else [self._keys]
            ready, writable, _ = select.select(wanted, [self._typed] if typed else [], [])
            if self._said in ready:
                piece = os.read(self._said, _PIECE_BYTES)
                if not piece:
                    return
                write_all(self._screen, piece)
            if self._gate in ready:
                self.is_still = True
            if self._changed in ready:
                os.read(self._changed, _PIECE_BYTES)
                rows, columns = self.size
                write_all(self._control, f"{rows} {columns}\n".encode())
                self._owed = True
            if self._keys in ready:
                piece = self._piece()
                typed = self._escape.passed(piece)
                if self._escape.is_over or not piece:
                    raise KeyboardInterrupt
            if typed and (writable or self._keys in ready):
                with suppress(BlockingIOError):
                    typed = typed[os.write(self._typed, typed) :]
                self._owed = True
            if self.is_still and self._owed:
                self._release()

    def _piece(self) -> bytes:
        try:
            return os.read(self._keys, _PIECE_BYTES)
        except OSError as error:
            # read(2) on a terminal that was hung up fails with EIO. A closed terminal counts as empty input.
            if error.errno != errno.EIO:
                raise
            return b""

    def _release(self) -> None:
        """Read all of the guest's message. The guest's write then ends, and the guest continues."""
        left = MESSAGE_BYTES
        while left and (piece := os.read(self._gate, left)):
            left -= len(piece)
        self._owed = self.is_still = False


class Escape:
    """Searches typed input for `~.` at the beginning of a line. ssh has the same escape sequence. The sequence ends the
    session even if the guest does not respond.

    To send a single `~` at the beginning of a line, the user types `~~`.
    """

    def __init__(self) -> None:
        self._at_start, self._held = True, False
        self.is_over = False

    def passed(self, typed: bytes) -> bytes:
        """Return the part of the input that goes to the guest.

        >>> Escape().passed(b"a~.")
        b'a~.'
        """
        kept = bytearray()
        for byte in typed:
            if self._held:
                self._held = False
                self.is_over |= byte == ord(".")
                kept += bytes([byte]) if byte == ord("~") else bytes([ord("~"), byte])
            elif self._at_start and byte == ord("~"):
                self._held = True
                continue
            else:
                kept.append(byte)
            self._at_start = byte in b"\r\n"
        return bytes(kept)


def write_all(descriptor: int, piece: bytes) -> None:
    view = memoryview(piece)
    while view:
        view = view[os.write(descriptor, view) :]
