# SPDX-License-Identifier: Apache-2.0
"""Tests that frames are found however the agent's output is split into pieces."""

from hypothesis import given
from hypothesis import strategies as st

from leowarp.guest.live.frames import FRAME, Frame, Frames, Told


@given(
    st.lists(st.tuples(st.sampled_from(Told), st.integers(0, 2**32 - 1), st.binary(max_size=40)), max_size=8), st.data()
)
def test_frames_are_the_same_however_the_bytes_are_cut(
    rows: list[tuple[Told, int, bytes]], data: st.DataObject
) -> None:
    frames = [Frame(kind, n, len(b), b) if kind is Told.DATA else Frame(kind, n, len(b)) for kind, n, b in rows]
    text = b"".join(FRAME.pack(frame.kind, frame.number, frame.value) + frame.bytes for frame in frames)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    cutter = Frames()
    pieces = [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert [frame for piece in pieces for frame in cutter.of(piece)] == frames


def test_a_frame_is_what_the_agent_writes() -> None:
    # A test of crates/agent/src/live/frame.rs uses the same bytes as this test.
    text = bytes([2, 0, 0, 0, 2, 1, 0, 0, 111, 0, 0, 0, 0, 0, 0, 0])
    assert list(Frames().of(text)) == [Frame(Told.FAILED, 258, 111)]
