# SPDX-License-Identifier: Apache-2.0
"""tools/fmt_skips.py tells by how many lines the formatter would make a statement longer, wherever it stands."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SOURCE = '''\
NUMBERS = (1,  2)  # fmt: skip


class Table:
    """Not  # fmt: skip"""

    rows = {
        "a": 1, "b": 2, "c": 3,
        "d": 4, "e": 5, "f": 6,
    }  # fmt: skip

    @decorated(first=1,
               second=2)  # fmt: skip
    def head(
        self, one, two, three,
    ):  # fmt: skip
        return [
            one, two, three,
        ]
'''


@pytest.fixture
def fmt_skips():
    spec = importlib.util.spec_from_file_location("fmt_skips", ROOT / "tools" / "fmt_skips.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["fmt_skips"] = module
    spec.loader.exec_module(module)
    return module


def test_what_is_not_worth_it_is_taken_out(fmt_skips, tmp_path):
    path = tmp_path / "a.py"
    path.write_text(SOURCE)
    skips = fmt_skips.skips_of(path)
    assert [(skip.first, skip.last) for skip in skips] == [(1, 1), (7, 10), (12, 13), (14, 16)]
    longer = fmt_skips.longer_by(skips)
    assert longer == [0, 4, -1, 3]
    fmt_skips.take_out([skip for skip, lines in zip(skips, longer, strict=True) if lines < fmt_skips.WORTH_LINES])
    text = path.read_text()
    assert "NUMBERS = (1, 2)\n" in text
    assert "    @decorated(first=1, second=2)\n" in text
    assert '        "a": 1, "b": 2, "c": 3,\n' in text
    assert fmt_skips.longer_by(fmt_skips.skips_of(path)) == [4, 3]
