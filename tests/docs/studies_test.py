# SPDX-License-Identifier: Apache-2.0
"""Tests that each study in a guide (`<!-- study: NAME -->`) gets a plan for each of its runs."""

import re
from pathlib import Path

import pytest

from leowarp.study.sweep import StudyFile
from leowarp.study.sweep.parameters.expand import expand
from leowarp.study.sweep.rows import COSTS, FIRST, LAST

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "studies.md"
STUDIES = dict(re.findall(r"^<!-- study: (\S+) -->\n+```toml\n(.*?)^```$", PAGE.read_text(), re.M | re.S))


@pytest.mark.parametrize(("name", "runs"), [("queue-sweep.toml", 45), ("routes.toml", 6)])
def test_studies_of_the_guide_have_plans(name, runs, tmp_path):
    (tmp_path / name).write_text(STUDIES[name])
    study = StudyFile.load(tmp_path / name)
    assert f"{study.name}.toml" == name
    assert len(expand(study)) == runs


def test_the_guide_has_every_column():
    missing = [name for name in (*FIRST, *LAST, *COSTS) if f"`{name}`" not in PAGE.read_text()]
    assert not missing
