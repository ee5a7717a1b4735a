# SPDX-License-Identifier: Apache-2.0
"""Tests with damaged plan, manifest and record files. leowarp either reads a file, or refuses it with one error that
names the file."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leowarp import scenario
from leowarp.base import layout
from leowarp.base.errors import LeowarpError, TraceError
from leowarp.base.recorded import read_manifest
from leowarp.trace.records import open_records, read_records
from support.encode import encode_records
from support.fuzz import EXAMPLES

ROOT = Path(__file__).resolve().parents[2]
PLAN = (ROOT / "examples" / "chain.toml").read_text()
MANIFEST = json.dumps(
    {
        "leowarp": "0.2.0", "seed": 1, "kernel": {"linux_version": "6.12"}, "warnings": ["a"],
        "files": {"30-trace/flows.parquet": "0" * 64}, "costs": {"cpu_s": 1.5}, "later": [], "drawn": {},
    },
    indent=1,
)  # fmt: skip
PIECES = [
    "",
    "\n",
    '"',
    "[",
    "]",
    "{",
    "}",
    "=",
    ".",
    ",",
    "#",
    "\\",
    "-1",
    "1e999",
    "nan",
    "null",
    "true",
    "9" * 30,
    "é",
]
changes = st.lists(
    st.tuples(st.integers(0, 4000), st.integers(0, 40), st.one_of(st.sampled_from(PIECES), st.text(max_size=4))),
    min_size=1,
    max_size=5,
)
fuzzed = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


def damaged(text: str, changes: list[tuple[int, int, str]]) -> bytes:
    """Return the text with some parts replaced."""
    for at, length, piece in changes:
        begin = at % (len(text) + 1)
        text = text[:begin] + piece + text[begin + length :]
    return text.encode("utf-8", "surrogatepass")


@fuzzed
@given(changes)
def test_a_damaged_plan(tmp_path: Path, changes: list[tuple[int, int, str]]) -> None:
    path = tmp_path / "plan.toml"
    path.write_bytes(damaged(PLAN, changes))
    with contextlib.suppress(LeowarpError):
        assert scenario.plan_of(path).run.duration_ns > 0


@fuzzed
@given(changes)
def test_a_damaged_manifest(tmp_path: Path, changes: list[tuple[int, int, str]]) -> None:
    (tmp_path / layout.MANIFEST).write_bytes(damaged(MANIFEST, changes))
    refused = pytest.raises(TraceError, match=layout.MANIFEST)
    try:
        found = read_manifest(tmp_path)
    except TraceError:
        with refused:
            read_manifest(tmp_path)
        return
    assert all(isinstance(warning, str) for warning in found.get("warnings", []))


@fuzzed
@given(st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), max_size=6), st.integers(0, 40))
def test_a_damaged_record_file(tmp_path: Path, bytes_: list[tuple[int, int]], shorter: int) -> None:
    content = bytearray(encode_records("drops", {"t_ns": [1, 2, 3], "packet": [0, 1, 2]}))
    for at, byte in bytes_:
        content[at % len(content)] = byte
    path = tmp_path / "drops.rec"
    path.write_bytes(content[: len(content) - shorter])
    refused = pytest.raises(TraceError, match=r"drops\.rec")
    try:
        assert read_records(open_records(path)).num_rows <= 3
    except TraceError:
        with refused:
            read_records(open_records(path))
