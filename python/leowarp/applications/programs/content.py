# SPDX-License-Identifier: Apache-2.0
"""The content that the server offers: any number of bytes, the objects of a page, or a segmented video. All bodies
consist of zeros and have the length of real content."""

from __future__ import annotations

import datetime
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from .measures import now_ns

MANIFEST = "/manifest.mpd"
LIVE_SINCE_NS = 60_000_000_000
"""A live video began this long before the start of the server. A player can thus be behind the live edge."""
PAGES = Path(__file__).resolve().parent / "pages"


@dataclass(frozen=True)
class Answer:
    """An answer, whose body is either `body` or `length` zeros."""

    status: int
    length: int
    body: bytes | None = None


@dataclass(frozen=True)
class Object:
    """An object of a page.

    length: The length of the object in bytes.
    after: The path of the object that refers to this object. None means the main object. This object is requested
        `delay_ms` after the object `after` has arrived.
    """

    path: str
    length: int
    after: str | None = None
    delay_ms: float = 0


def page_of(name: str) -> list[Object]:
    """Return the objects of a page, the main object first.

    name: The name of an included page (`median`), or the path of a TOML file with entries `[[objects]]`. An entry has
        `path`, `bytes`, `after` (except in the first entry) and `delay_ms`. One entry can describe several similar
        objects. Such an entry also has `count`, and its `path` contains `{}` in place of an object's number.
    Raises ValueError if an object has no path or length, or if its `after` is not the path of an earlier entry.
    """
    own = PAGES / f"{name}.toml"
    with (own if own.exists() else Path(name)).open("rb") as file:
        entries = tomllib.load(file).get("objects", [])
    objects: list[Object] = []
    for entry in entries:
        unknown = entry.keys() - {"path", "bytes", "after", "delay_ms", "count"}
        if unknown or not {"path", "bytes"} <= entry.keys():
            raise ValueError(f"{name}: an object has path, bytes, after, delay_ms and count, not {entry}")
        after = entry.get("after")
        known = {one.path for one in objects}
        if (after is None) != (not objects) or (after is not None and after not in known):
            raise ValueError(f"{name}: {entry['path']} must come after an object above it, and the first after none")
        for number in range(entry.get("count", 1)):
            path = entry["path"].replace("{}", str(number))
            objects.append(Object(path, entry["bytes"], after, entry.get("delay_ms", 0)))
    if not objects:
        raise ValueError(f"{name}: it has no [[objects]]")
    return objects


def write_files(objects: list[Object], directory: Path) -> None:
    """Write the objects of a page as files of zeros into a new directory. The path `/` becomes `index.html`."""
    for one in objects:
        path = directory / (one.path.lstrip("/") or "index.html")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes(one.length))


@dataclass(frozen=True)
class Video:
    """A video in segments of equal length, each available in several constant bit rates.

    ladder_bps: The bit rates in increasing order.
    segment_ms: The playing time of a segment.
    media_s: The playing time of the video. None means a live video. A segment of it becomes available when its playing
        time ends.
    start_ns: The start of a live video on the clock of measurements.
    """

    ladder_bps: tuple[int, ...]
    segment_ms: int
    media_s: float | None
    start_ns: int = field(default_factory=lambda: now_ns() // 1000 * 1000 - LIVE_SINCE_NS)

    def manifest(self) -> bytes:
        """Return the MPD (ISO/IEC 23009-1, 5.3), with a SegmentTemplate of equal durations."""
        began = datetime.datetime.fromtimestamp(0, datetime.UTC) + datetime.timedelta(
            microseconds=self.start_ns // 1000
        )
        kind = (
            f'type="dynamic" availabilityStartTime="{began:%Y-%m-%dT%H:%M:%S.%f}Z" minimumUpdatePeriod="PT1H"'
            if self.media_s is None
            else f'type="static" mediaPresentationDuration="PT{self.media_s}S"'
        )
        representations = "".join(
            f'<Representation id="{number}" bandwidth="{bitrate_bps}"/>'
            for number, bitrate_bps in enumerate(self.ladder_bps)
        )
        return (
            f'<?xml version="1.0"?>\n<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" '
            f'profiles="urn:mpeg:dash:profile:isoff-live:2011" minBufferTime="PT{self.segment_ms / 1000}S" {kind}>'
            f'<Period start="PT0S"><AdaptationSet mimeType="video/mp4" segmentAlignment="true">'
            f'<SegmentTemplate timescale="1000" duration="{self.segment_ms}" startNumber="0" '
            f'media="video/$RepresentationID$/$Number$.m4s"/>{representations}</AdaptationSet></Period></MPD>\n'
        ).encode()

    def segment(self, path: str) -> Answer:
        """Return the answer for a segment's path, `/video/<representation>/<number>.m4s`. The status is 404 if there is
        no such segment, or if the segment does not exist yet."""
        _, _, representation, name = path.split("/") if path.count("/") == 3 else ("",) * 4
        number, _, ending = name.partition(".")
        if ending != "m4s" or not (representation.isdigit() and number.isdigit()):
            return NOT_FOUND
        place, end_ms = int(representation), (int(number) + 1) * self.segment_ms
        over_ms = (now_ns() - self.start_ns) / 1e6 if self.media_s is None else self.media_s * 1000
        # All segments have the same length here, although the last segment of a real video may be shorter.
        if place >= len(self.ladder_bps) or end_ms - (0 if self.media_s is None else self.segment_ms) > over_ms:
            return NOT_FOUND
        return Answer(200, self.ladder_bps[place] * self.segment_ms // 8000)


NOT_FOUND = Answer(404, 0)


@dataclass(frozen=True)
class Content:
    page: dict[str, Object]
    video: Video | None

    def answer(self, path: str) -> Answer:
        """Return the answer for a path. `/bytes/N` is N zeros."""
        if path.startswith("/bytes/") and path[7:].isdigit():
            return Answer(200, int(path[7:]))
        if path in self.page:
            return Answer(200, self.page[path].length)
        if self.video is not None and path == MANIFEST:
            manifest = self.video.manifest()
            return Answer(200, len(manifest), manifest)
        return NOT_FOUND if self.video is None else self.video.segment(path)
