# SPDX-License-Identifier: Apache-2.0
"""The guest's tables and the schema here are two texts of one agreement."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from leowarp.trace import TABLES

ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo to ask the Rust side")
def test_the_agent_writes_the_columns_and_units_of_the_schema():
    answer = subprocess.run(
        ["cargo", "run", "--quiet", "--package", "leowarp-timeline", "--example", "schema"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    theirs = {
        table["table"]: {field["name"]: "" if field["unit"] == "1" else field["unit"] for field in table["fields"]}
        for table in json.loads(answer.stdout)["tables"]
    }
    assert theirs == {name: {column.name: column.unit for column in table.columns} for name, table in TABLES.items()}
