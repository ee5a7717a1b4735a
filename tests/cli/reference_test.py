# SPDX-License-Identifier: Apache-2.0
"""The reference of table columns says what the code says."""

from pathlib import Path

from leowarp.cli import reference

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "tables.md"


def test_the_page_of_table_columns_is_made_from_the_schemas():
    assert PAGE.read_text(encoding="utf-8") == reference.reference_page(), "type: make docs"


def test_a_page_that_differs_is_told(tmp_path, capsys):
    page = tmp_path / "tables.md"
    assert reference.main([str(page)]) == 0
    assert reference.main(["--check", str(page)]) == 0
    page.write_text(page.read_text() + "\n")
    assert reference.main(["--check", str(page)]) == 1
    assert "make docs" in capsys.readouterr().err
