# SPDX-License-Identifier: Apache-2.0
"""A DASH player without a screen. It fetches segments in sequence over one connection, and records its buffer, stalls
and live latency."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from .abr import Throughput, rule_of
from .content import MANIFEST
from .http11 import Fetched
from .manifest import Manifest, manifest_of
from .measures import Measures, now_ns
from .pageload import Way
from .playback import Playback


@dataclass(frozen=True)
class Viewing:
    """The settings of a playback.

    rule: The rule that chooses bit rates, an argument of `abr.rule_of`.
    target_s: The target of the buffer, in seconds of media. A segment is requested only when the buffer with this
        segment does not exceed the target.
    begin_s, resume_s: The first picture is shown when the buffer contains `begin_s` seconds of media. After a stall,
        playback resumes when the buffer contains `resume_s` seconds. None means that one segment is enough.
    latency_s: When playback of a live stream begins, the player is at least this far behind the live edge.
    play_s: The time after the start at which the viewer leaves. None means that the viewer watches until the end.
    """

    rule: str
    target_s: float
    begin_s: float | None
    resume_s: float | None
    latency_s: float
    play_s: float | None


async def run(opened: Callable[[], Way], viewing: Viewing, measures: Measures) -> None:
    """Play a video over a connection from `opened`.

    Raises ValueError if the server has no video, if its manifest is not supported, or if a live video has no `play_s`.
    Raises OSError if the connection cannot be opened, or breaks.
    """
    start_ns = now_ns()
    way = opened()
    got, _ = await way.fetch(MANIFEST, keep=True)
    if got.status != 200:
        raise ValueError(f"{MANIFEST}: the server says {got.status}")
    manifest = manifest_of(got.body)
    if manifest.count is None and viewing.play_s is None:
        raise ValueError("a live stream has no end: say with --play how long it is watched")
    segment_s = manifest.segment_ns / 1e9
    begin_s = segment_s if viewing.begin_s is None else viewing.begin_s
    resume_s = segment_s if viewing.resume_s is None else viewing.resume_s
    playback = Playback(start_ns, round(begin_s * 1e9), round(resume_s * 1e9), measures)
    player = _Player(way, manifest, viewing, playback, measures)
    watching = asyncio.create_task(player.watch())
    # The viewer may leave at any time, even during the transfer of a segment. The timeout therefore also applies during
    # a transfer.
    left_s = None if viewing.play_s is None else (start_ns - now_ns()) / 1e9 + viewing.play_s
    done, _ = await asyncio.wait([watching], timeout=left_s)
    if done:
        watching.result()
    else:
        watching.cancel()
    playback.stop(now_ns())
    way.close()


class _Player:
    def __init__(self, way: Way, manifest: Manifest, viewing: Viewing, playback: Playback, measures: Measures) -> None:
        self._way, self._manifest, self._playback, self._measures = way, manifest, playback, measures
        self._rule = rule_of(viewing.rule, manifest.ladder_bps, viewing.target_s)
        self._target_ns = round(viewing.target_s * 1e9)
        self._latency_ns = round(viewing.latency_s * 1e9)
        self._throughput = Throughput()

    async def watch(self) -> None:
        manifest = self._manifest
        number = manifest.first if manifest.start_ns is None else self._first_live(manifest.start_ns)
        last = None if manifest.count is None else manifest.first + manifest.count - 1
        while last is None or number <= last:
            await self._until_wanted(number)
            self._playback.advance(now_ns())
            place = self._rule.choose(self._playback.buffer_ns / 1e9, self._throughput.mean_bps())
            began_ns = now_ns()
            got, _ = await self._way.fetch(manifest.path(place, number))
            if got.status != 200:
                raise ValueError(f"{manifest.path(place, number)}: the server says {got.status}")
            self._throughput.add(got.length, got.end_ns - got.request_ns)
            self._playback.add(got.end_ns, manifest.segment_ns, is_last=number == last)
            self._tell(number, place, began_ns, got)
            number += 1
        await self._sleep(self._playback.buffer_ns)

    def _tell(self, number: int, place: int, began_ns: int, got: Fetched) -> None:
        manifest, latency_ns = self._manifest, None
        if manifest.start_ns is not None:
            media_end_ns = (number - manifest.first + 1) * manifest.segment_ns
            playing_ns = manifest.start_ns + media_end_ns - self._playback.buffer_ns
            latency_ns = got.end_ns - playing_ns
        self._measures.write(
            "segment", name=manifest.ids[place], number=number, start_ns=began_ns, request_ns=got.request_ns,
            first_byte_ns=got.first_byte_ns, end_ns=got.end_ns, bytes=got.length,
            bitrate_bps=manifest.ladder_bps[place], media_ns=manifest.segment_ns, buffer_ns=self._playback.buffer_ns,
            latency_ns=latency_ns,
        )  # fmt: skip

    async def _until_wanted(self, number: int) -> None:
        """Wait until the buffer has space for the segment, and until a live segment is available."""
        manifest = self._manifest
        self._playback.advance(now_ns())
        await self._sleep(self._playback.buffer_ns + manifest.segment_ns - self._target_ns)
        if manifest.start_ns is not None:
            over_ns = manifest.start_ns + (number - manifest.first + 1) * manifest.segment_ns
            await self._sleep(over_ns - now_ns())

    def _first_live(self, start_ns: int) -> int:
        """Return the number of the last segment that began at least `latency_s` ago."""
        behind_ns = now_ns() - start_ns - self._latency_ns
        return self._manifest.first + max(0, behind_ns // self._manifest.segment_ns)

    async def _sleep(self, length_ns: int) -> None:
        if length_ns > 0:
            await asyncio.sleep(length_ns / 1e9)
