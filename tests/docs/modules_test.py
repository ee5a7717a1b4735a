# SPDX-License-Identifier: Apache-2.0
"""Tests that the kernel module in the guide equals the file in examples/, which tests of the guest compile and run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "guides" / "your-own-congestion-control.md"
FILES = dict(re.findall(r"^<!-- file: (\S+) -->\n+```\w+\n(.*?)^```$", PAGE.read_text(), re.M | re.S))


@pytest.mark.parametrize("name", ["mild_reno.c", "mild-reno.toml"])
def test_the_guides_files_are_the_examples(name):
    assert FILES[name] == (ROOT / "examples" / name).read_text()
