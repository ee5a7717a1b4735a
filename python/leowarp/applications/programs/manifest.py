# SPDX-License-Identifier: Apache-2.0
"""A parser of a DASH manifest (MPD, ISO/IEC 23009-1). It supports only what the player needs: one period, and numbered
segments of equal length."""

from __future__ import annotations

import datetime
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass

_MPD = "{urn:mpeg:dash:schema:mpd:2011}"
_DURATION = re.compile(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?")


@dataclass(frozen=True)
class Manifest:
    """The media described by a manifest.

    ids: The ids of the first set of video representations, in ascending order of bit rate.
    ladder_bps: The bit rate of each representation in `ids`.
    segment_ns: The playing time of a segment.
    first: The number of the first segment.
    count: The number of segments. None means a live stream.
    start_ns: The start of a live stream, on the clock of measurements.
    template: The path of a segment, relative to the manifest.
    """

    ids: tuple[str, ...]
    ladder_bps: tuple[int, ...]
    segment_ns: int
    first: int
    count: int | None
    start_ns: int | None
    template: str

    def path(self, place: int, number: int) -> str:
        """Return the path of segment `number`. `place` is the index of its representation in the ladder."""
        return "/" + self.template.replace("$RepresentationID$", self.ids[place]).replace("$Number$", str(number))


def manifest_of(text: bytes) -> Manifest:
    """Parse the text of an MPD, and return its manifest.

    Raises ValueError if the text is not an MPD, or has no SegmentTemplate with a duration. Other naming schemes of
        segments are not supported.
    """
    try:
        root = ET.fromstring(text)
    except ET.ParseError as error:
        raise ValueError(f"the manifest is no XML: {error}") from None
    sets = [each for each in root.iterfind(f"{_MPD}Period/{_MPD}AdaptationSet") if each.find(f"{_MPD}SegmentTemplate")
            is not None]  # fmt: skip
    if not sets:
        raise ValueError("the manifest has no AdaptationSet with a SegmentTemplate")
    template = sets[0].find(f"{_MPD}SegmentTemplate")
    assert template is not None
    if template.get("duration") is None or template.get("media") is None:
        raise ValueError("the manifest's SegmentTemplate has no duration or no media: a SegmentTimeline is not known")
    segment_ns = int(template.get("duration", "")) * 10**9 // int(template.get("timescale", "1"))
    by_rate = sorted(
        (int(each.get("bandwidth", "")), each.get("id", "")) for each in sets[0].iterfind(f"{_MPD}Representation")
    )
    count = start_ns = None
    if root.get("type", "static") == "static":
        # The number is rounded up, because the last segment may be shorter.
        count = -(-round(_seconds(root.get("mediaPresentationDuration", "")) * 1e9) // segment_ns)
    else:
        began = datetime.datetime.fromisoformat(root.get("availabilityStartTime", "").replace("Z", "+00:00"))
        # The time is computed from whole microseconds. A float of the seconds since 1970 could not resolve 1 ns.
        epoch = datetime.datetime.fromtimestamp(0, datetime.UTC)
        start_ns = (began - epoch) // datetime.timedelta(microseconds=1) * 1000
    ids = tuple(name for _, name in by_rate)
    ladder_bps = tuple(bps for bps, _ in by_rate)
    first = int(template.get("startNumber", "1"))
    return Manifest(ids, ladder_bps, segment_ns, first, count, start_ns, template.get("media", ""))


def _seconds(text: str) -> float:
    """Return the seconds of an XML Schema duration without days, such as PT1M30.5S."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"the manifest says {text!r} for a duration")
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return hours * 3600 + minutes * 60 + seconds
