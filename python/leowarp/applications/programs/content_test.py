# SPDX-License-Identifier: Apache-2.0
"""Tests of the server's content: lengths of bodies, pages from files, and a manifest that the player can parse."""

import pytest

from .content import NOT_FOUND, Content, Video, page_of, write_files
from .manifest import manifest_of
from .measures import now_ns

S = 10**9


def test_the_median_page_has_the_bytes_of_its_source():
    page = page_of("median")
    assert (len(page), page[0].path, page[0].after) == (55, "/", None)
    kilobytes = {ending: round(sum(one.length for one in page if one.path.endswith(ending)) / 1000) for ending in
                 ("/", ".css", ".js", ".jpg", ".woff2")}  # fmt: skip
    assert kilobytes == {"/": 18, ".css": 78, ".js": 613, ".jpg": 1054, ".woff2": 131}
    assert all(one.after in {other.path for other in page} for one in page[1:])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it has no"),
        ('[[objects]]\npath = "/"', "an object has path, bytes"),
        ('[[objects]]\npath = "/"\nbytes = 1\nsize = 2', "an object has path, bytes"),
        ('[[objects]]\npath = "/"\nbytes = 1\nafter = "/x"', "/ must come after an object above it"),
        ('[[objects]]\npath = "/"\nbytes = 1\n[[objects]]\npath = "/b"\nbytes = 1', "/b must come after"),
    ],
)
def test_a_page_that_is_wrong_is_refused(tmp_path, text, says):
    (tmp_path / "page.toml").write_text(text)
    with pytest.raises(ValueError, match=says):
        page_of(str(tmp_path / "page.toml"))


def test_paths_have_their_lengths():
    video = Video((800_000, 1_600_000), 2500, 6)
    content = Content({one.path: one for one in page_of("median")}, video)
    lengths = {path: content.answer(path).length for path in
               ("/bytes/17", "/", "/font-3.woff2", "/video/0/0.m4s", "/video/1/2.m4s")}  # fmt: skip
    assert list(lengths.values()) == [17, 18_000, 32_750, 250_000, 500_000]
    # A video of 6 s with segments of 2.5 s has three segments.
    for path in ("/bytes/", "/font-4.woff2", "/video/2/0.m4s", "/video/0/3.m4s", "/video/0/1.mp4", "/video/x/1.m4s"):
        assert content.answer(path) is NOT_FOUND, path


def test_the_objects_of_a_page_are_files_for_another_server(tmp_path):
    write_files(page_of("median"), tmp_path / "page")
    written = {path.name: path.stat().st_size for path in (tmp_path / "page").iterdir()}
    assert written == {one.path.lstrip("/") or "index.html": one.length for one in page_of("median")}


def test_a_manifest_is_read_as_it_was_written():
    manifest = manifest_of(Video((800_000, 1_600_000), 2500, 6).manifest())
    assert (manifest.ids, manifest.ladder_bps, manifest.segment_ns) == (("0", "1"), (800_000, 1_600_000), 2_500_000_000)
    assert (manifest.first, manifest.count, manifest.start_ns) == (0, 3, None)
    assert manifest.path(1, 2) == "/video/1/2.m4s"


def test_a_live_segment_is_there_once_it_is_over():
    start_ns = now_ns() // 1000 * 1000 - 5 * S - S // 2
    video = Video((800_000,), 2000, None, start_ns)
    manifest = manifest_of(video.manifest())
    assert (manifest.count, manifest.start_ns) == (None, start_ns)
    # The live video began 5.5 s ago. The segments that end 2 s and 4 s after the beginning are available; the next
    # segment, which ends in half a second, is not.
    assert video.segment("/video/0/1.m4s").status == 200
    assert Video((1,), 2000, None, now_ns() + 3600 * S).segment("/video/0/0.m4s") is NOT_FOUND
    assert Video((1,), 3_600_000, None, start_ns).segment("/video/0/0.m4s") is NOT_FOUND


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"no", "is no XML"),
        (b"<MPD/>", "has no AdaptationSet"),
        (
            b'<MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><Period><AdaptationSet>'
            b'<SegmentTemplate media="x"/></AdaptationSet></Period></MPD>',
            "a SegmentTimeline is not known",
        ),
    ],
)
def test_a_manifest_of_another_kind_is_refused(text, says):
    with pytest.raises(ValueError, match=says):
        manifest_of(text)
