# SPDX-License-Identifier: Apache-2.0
"""Tests that a timeline's metadata are the same after they are written and read."""

import json

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.base.errors import TraceError
from leowarp.base.tables.metadata import encode_metadata
from leowarp.timeline.metadata import CodewordSummary, TimelineMetadata

_ROW = st.dictionaries(st.text(), st.none() | st.integers() | st.floats(allow_nan=False) | st.text(), max_size=3)
_RATIO = st.floats(0, 1)
_METADATA = st.builds(
    TimelineMetadata,
    warnings=st.lists(st.text(), max_size=3),
    slots=st.none() | st.lists(_ROW, max_size=3),
    outages=st.none() | st.lists(_ROW, max_size=3),
    jitter_table=st.none() | st.lists(st.floats(allow_nan=False), max_size=3),
    harq=st.none()
    | st.builds(CodewordSummary, st.integers(0), _RATIO, st.lists(_RATIO, max_size=4), st.integers(0), _RATIO),
)


@given(_METADATA)
def test_what_was_written_is_read(metadata):
    assert TimelineMetadata.of(pa.schema([], metadata=encode_metadata(metadata.values()))) == metadata


def test_what_there_is_not_is_not_written():
    assert encode_metadata(TimelineMetadata(warnings=[]).values()) == {"warnings": "[]"}


def test_a_table_without_metadata_has_no_warnings():
    assert TimelineMetadata.of(pa.schema([("t_ns", pa.int64())])) == TimelineMetadata(warnings=[])


def test_keys_are_sorted_so_that_equal_values_give_equal_bytes():
    assert list(encode_metadata({"b": {"y": 1, "x": 2}, "a": "é"}).items()) == [("a", '"é"'), ("b", '{"x": 2, "y": 1}')]


def test_codewords_that_another_version_summed_up_are_refused_by_name():
    other = pa.schema([], metadata={"harq": json.dumps({"codewords": 5, "lost": 1})})
    with pytest.raises(TraceError, match=r"`harq`.*'lost'"):
        TimelineMetadata.of(other)
