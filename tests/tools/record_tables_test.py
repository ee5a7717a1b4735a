# SPDX-License-Identifier: Apache-2.0
"""Tests that tools/record_tables.py defines the same columns for the agent as the trace's schema."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from leowarp.trace.schema import RECORDED
from leowarp.trace.schema.columns import Column, Kind, TableSchema

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def record_tables():
    spec = importlib.util.spec_from_file_location("record_tables", ROOT / "tools" / "record_tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_agents_columns_are_made_from_the_schema(record_tables):
    committed = ROOT / "crates" / "timeline" / "src" / "record" / "tables.rs"
    assert committed.read_text(encoding="utf-8") == record_tables.rust(), "type: make docs"


def test_an_observation_is_one_line_of_the_schema(record_tables, monkeypatch):
    column = Column("age_ns", Kind(pa.int64(), "u32"), "ns", 'how "old"')
    monkeypatch.setitem(RECORDED, "ages", TableSchema("ages", "Age", "One row a thing.", (column,)))
    assert list(record_tables.lines())[-4:] == [
        "    /// One row a thing.",
        '    "ages" Age {',
        '        age_ns: u32 ["ns", "how \\"old\\""],',
        "    }",
    ]


@pytest.mark.parametrize("words", [["--help"], ["--unknown"], []])
def test_an_option_is_no_name_of_a_file(words, tmp_path):
    tool = ROOT / "tools" / "record_tables.py"
    done = subprocess.run([sys.executable, tool, *words], cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode == 0) == (words == ["--help"])
    assert "usage: record_tables.py" in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []
