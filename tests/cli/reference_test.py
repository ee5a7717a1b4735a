# SPDX-License-Identifier: Apache-2.0
"""Tests that the reference page of table columns agrees with the code."""

from pathlib import Path

import api_page
import tables_page
from exam_page import exam_page
from leowarp.verification.stages import STAGES
from verify_page import verify_page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "tables.md"


def test_the_page_of_table_columns_is_made_from_the_schemas():
    assert PAGE.read_text(encoding="utf-8") == tables_page.reference_page(), "type: make docs"


def test_the_page_of_verify_is_made_from_the_table_of_stages():
    assert PAGE.with_name("verify.md").read_text(encoding="utf-8") == verify_page(), "type: make docs"
    assert all(f"| {stage.name} |" in verify_page() for stage in STAGES)


def test_the_page_of_the_exam_is_made_from_its_cases_and_stored_results():
    assert PAGE.with_name("exam.md").read_text(encoding="utf-8") == exam_page(), "type: make docs"


def test_a_page_that_differs_is_told(tmp_path, capsys):
    page = tmp_path / "tables.md"
    assert tables_page.main([str(page)]) == 0
    assert tables_page.main(["--check", str(page)]) == 0
    page.write_text(page.read_text() + "\n")
    assert tables_page.main(["--check", str(page)]) == 1
    assert "make docs" in capsys.readouterr().err


def test_the_page_of_the_python_interface_is_made_from_the_docstrings():
    assert PAGE.with_name("api.md").read_text(encoding="utf-8") == api_page.api_page(), "type: make docs"


def test_the_page_of_the_python_interface_has_every_public_name_and_method_of_a_run():
    import leowarp as lw

    page = api_page.api_page()
    for name in lw.__all__:
        assert f"leowarp.{name}" in page
    for method in ("series", "route_changes", "recovery", "sockets", "figure"):
        assert f"#### Run.{method}" in page
    assert " at 0x" not in page


def test_every_series_is_in_the_page_of_tables():
    from leowarp.metrics import SERIES

    page = tables_page.reference_page()
    assert all(f"| `{name}` |" in page for name in SERIES)
