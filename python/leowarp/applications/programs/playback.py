# SPDX-License-Identifier: Apache-2.0
"""A buffer of received media. Each complete segment is added, and playback removes media as time passes."""

from __future__ import annotations

from .measures import Measures


class Playback:
    """A player's buffer. All times are on one clock, in ns, and must not decrease.

    Playback begins once `begin_ns` of media have arrived. It stops when the buffer is empty (a stall), and resumes once
    the buffer has `resume_ns`. When a startup or a stall ends, a line `startup` or `stall` is added to the
    measurements. A segment can be played only after it has arrived completely.
    """

    def __init__(self, now_ns: int, begin_ns: int, resume_ns: int, measures: Measures) -> None:
        self._at_ns, self._need_ns, self._resume_ns, self._measures = now_ns, begin_ns, resume_ns, measures
        self._waiting: tuple[str, int] | None = ("startup", now_ns)
        self._is_whole = False
        self.buffer_ns = 0

    def advance(self, now_ns: int) -> None:
        played_ns = now_ns - self._at_ns
        self._at_ns = now_ns
        if self._waiting is not None:
            return
        if played_ns > self.buffer_ns and not self._is_whole:
            self._waiting = ("stall", now_ns - (played_ns - self.buffer_ns))
            self._need_ns = self._resume_ns
        self.buffer_ns = max(0, self.buffer_ns - played_ns)

    def add(self, now_ns: int, media_ns: int, *, is_last: bool = False) -> None:
        """Add a segment that has arrived. After the last segment, an empty buffer is not a stall."""
        self.advance(now_ns)
        self.buffer_ns += media_ns
        self._is_whole = is_last
        if self._waiting is not None and (self.buffer_ns >= self._need_ns or is_last):
            self._end_waiting(now_ns)

    def stop(self, now_ns: int) -> None:
        """Stop playback because the viewer leaves. Playback may be starting or stalled at this time. The line about
        this event then has no end."""
        self.advance(now_ns)
        if self._waiting is not None:
            self._end_waiting(None)

    def _end_waiting(self, now_ns: int | None) -> None:
        assert self._waiting is not None
        kind, began_ns = self._waiting
        self._measures.write(kind, start_ns=began_ns, end_ns=now_ns)
        self._waiting = None
