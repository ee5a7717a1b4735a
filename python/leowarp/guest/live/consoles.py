# SPDX-License-Identifier: Apache-2.0
"""The host's side of the guest's consoles in live mode. One console carries frames of connections. At the other
console, the guest waits for real time."""

from __future__ import annotations

import asyncio
import fcntl
import os
import selectors
import socket
from collections.abc import Callable, Sequence
from pathlib import Path

from leowarp.guest.boot.consoles import FIRST, GATE_BYTES, MESSAGE_BYTES, Consoles
from leowarp.guest.live.admission import Admission, Tally
from leowarp.guest.live.doors import Forward
from leowarp.guest.live.frames import FRAME, Frames, Tell
from leowarp.guest.live.pace import Pace
from leowarp.guest.live.relay import Relay

_PIECE_BYTES = 1 << 18
_TIME_BYTES = 64
"""The host first reads this many bytes of the message that the guest writes at the gate. These bytes contain the
virtual time. The rest of the message is longer than the pipe's buffer. The guest therefore waits until the host reads
the rest."""


class LiveConsoles(Consoles):
    """The consoles of a live guest. Console 1 carries connections, and console 2 carries virtual time.

    pieces: The directory `in/live/` of the guest.
    doors, tally, to_network: As in `Live`. All sockets are closed when the context ends.
    say, on_time: As in `run_live`. They are called in this class's thread.
    """

    def __init__(
        self, pieces: Path, pace: Pace, doors: Sequence[tuple[socket.socket, Forward | None]],
        say: Callable[[str], None], on_time: Callable[[], None], tally: Tally, *, to_network: bool,
    ) -> None:  # fmt: skip
        super().__init__()
        self._pieces, self._pace, self._doors = pieces, pace, doors
        self._say, self._on_time, self._tally, self._to_network = say, on_time, tally, to_network
        to_guest, self._to_guest = os.pipe()
        self._from_guest, from_guest = os.pipe()
        self._gate, gate = os.pipe()
        fcntl.fcntl(gate, fcntl.F_SETPIPE_SZ, GATE_BYTES)
        for end in (self._to_guest, self._from_guest):
            os.set_blocking(end, False)
        self._own = [self._to_guest, self._from_guest, self._gate]
        self.descriptors = {end: FIRST + number for number, end in enumerate((to_guest, from_guest, gate))}
        self.words = [f"con1=fd:{FIRST},fd:{FIRST + 1}", f"con2=null,fd:{FIRST + 2}"]
        self._owed = bytearray()
        self._has_news = False
        self._timer: asyncio.TimerHandle | None = None
        self._waits = False

    def __exit__(self, *what: object) -> None:
        super().__exit__(*what)
        for door, _ in self._doors:
            door.close()

    def _carry(self) -> None:
        # select(2) has a resolution of a microsecond. The default of asyncio, epoll_wait, has a resolution of a
        # millisecond, which is as long as a step of the pace.
        def loop() -> asyncio.AbstractEventLoop:
            return asyncio.SelectorEventLoop(selectors.SelectSelector())

        with asyncio.Runner(loop_factory=loop) as runner:
            runner.run(self._until_the_end())

    async def _until_the_end(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._over: asyncio.Future[None] = self._loop.create_future()
        self._frames = Frames()
        self._admission = Admission(len(self._doors), self._tally, self._say)
        self._relay = Relay(self._pieces, self._tell, self._say, self._admission, to_network=self._to_network)
        self._loop.add_reader(self._from_guest, self._guarded(self._hear))
        self._loop.add_reader(self._gate, self._guarded(self._arrive))
        try:
            await asyncio.wait([self._over, self._relay.failure], return_when=asyncio.FIRST_COMPLETED)
            for future in (self._over, self._relay.failure):
                if future.done():
                    future.result()
        finally:
            for end in (self._from_guest, self._gate):
                self._loop.remove_reader(end)
            self._loop.remove_writer(self._to_guest)
            self._relay.close()

    def _guarded(self, work: Callable[[], None]) -> Callable[[], None]:
        """Return a callback that calls `work`. If `work` fails, the callback ends the session."""

        def guarded() -> None:
            try:
                work()
            except Exception as error:
                if not self._over.done():
                    self._over.set_exception(error)

        return guarded

    def _hear(self) -> None:
        piece = os.read(self._from_guest, _PIECE_BYTES)
        if not piece:
            if not self._over.done():
                self._over.set_result(None)
            return
        for frame in self._frames.of(piece):
            self._relay.hear(frame)

    def _tell(self, frame: bytes, is_urgent: bool) -> None:
        self._owed += frame
        self._flush()
        self._has_news |= is_urgent
        if is_urgent and self._waits:
            self._go_or_wait()

    def _flush(self) -> None:
        try:
            while self._owed:
                del self._owed[: os.write(self._to_guest, self._owed)]
        except BlockingIOError:
            self._loop.add_writer(self._to_guest, self._guarded(self._flush))
            return
        except BrokenPipeError:
            # The guest has ended. Messages to the guest are dropped, but the guest's last messages can still be read.
            self._owed.clear()
        self._loop.remove_writer(self._to_guest)

    def _arrive(self) -> None:
        """Read the virtual time at the beginning of the message that the guest writes while it waits at the gate."""
        told = os.read(self._gate, _TIME_BYTES)
        self._loop.remove_reader(self._gate)
        if not told:
            return
        is_first = self._pace.virtual_ns is None
        virtual_ns = int(told.split(b"\n")[0])
        self._pace.arrive(virtual_ns)
        self._admission.look(virtual_ns)
        self._left = MESSAGE_BYTES - len(told)
        if is_first:
            for door, forward in self._doors:
                self._relay.serve(door, forward)
        self._on_time()
        self._waits = True
        self._go_or_wait()

    def _go_or_wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        wait_ns = self._pace.wait_ns(self._has_news)
        if wait_ns:
            self._timer = self._loop.call_later(wait_ns / 1e9, self._guarded(self._go_or_wait))
            return
        self._waits = self._has_news = False
        if spare := self._pace.spare_steps():
            self._tell(FRAME.pack(Tell.SPARE, 0, spare), is_urgent=False)
        # The guest is blocked while it writes the rest of the message.
        while self._left and (piece := os.read(self._gate, self._left)):
            self._left -= len(piece)
        self._loop.add_reader(self._gate, self._guarded(self._arrive))
