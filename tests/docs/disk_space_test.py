# SPDX-License-Identifier: Apache-2.0
"""A documentation page states the measured disk space of a build. Tests that `doctor` requires this space plus a
reserve."""

import re
from pathlib import Path

from leowarp.guest.building.doctor import BUILD_SPACE_BYTES, MIB

ROOT = Path(__file__).parents[2]


def test_doctor_asks_for_what_was_measured_and_the_guide_says_the_same():
    page = (ROOT / "design" / "kernel-config.md").read_text(encoding="utf-8")
    section = page.partition("## What the build needs on disk")[2].partition("\n## ")[0]
    measured_mib = sum(map(int, re.findall(r"^\|.*\| (\d+) \|.*\|$", section, re.MULTILINE)))
    assert f"The sum of the rows is {measured_mib} MiB." in section
    # The reserve is at least a tenth of the measured size, for compilers that write larger object files.
    assert 1.1 * measured_mib < BUILD_SPACE_BYTES / MIB < 1.25 * measured_mib
    guide = (ROOT / "docs" / "guides" / "installing.md").read_text(encoding="utf-8")
    assert f"Building needs {BUILD_SPACE_BYTES // MIB} MiB there" in guide
