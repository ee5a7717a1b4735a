# SPDX-License-Identifier: Apache-2.0
"""Tests that the headers of the agent's record files agree with the schema."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from leowarp.trace.schema import RECORDED

ROOT = Path(__file__).parents[4]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo to ask the Rust side")
def test_the_agent_writes_the_columns_types_units_and_texts_of_the_schema():
    answer = subprocess.run(
        ["cargo", "run", "--quiet", "--package", "leowarp-timeline", "--example", "schema"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    theirs = {
        table["table"]: [(field["name"], field["type"], field["unit"], field["doc"]) for field in table["fields"]]
        for table in json.loads(answer.stdout)["tables"]
    }
    assert theirs == {
        name: [(column.name, column.kind.wire, column.unit or "1", column.doc) for column in table.columns]
        for name, table in RECORDED.items()
    }
