# SPDX-License-Identifier: Apache-2.0
"""What of the package goes into a wheel: nothing that only tests need."""

import ast
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
ONLY_FOR_TESTS = {"support", "pytest", "_pytest", "hypothesis", "unittest", "skyfield"}


@pytest.fixture(scope="module")
def shipped():
    """The package's files by their path in the wheel, as hatchling selects them; nothing is built."""
    builder = WheelBuilder(str(ROOT))
    return {file.distribution_path: Path(file.path) for file in builder.recurse_included_files()}


def imported(path):
    """First parts of the names of all modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.partition(".")[0]


def test_no_test_is_in_the_wheel(shipped):
    assert {"leowarp/__init__.py", "leowarp/report/chart.js", "leowarp/study/sweep/maker.py"} <= shipped.keys()
    stems = {path: Path(path).stem for path in shipped}
    assert [path for path, stem in stems.items() if stem == "conftest" or stem.endswith(("_test", "_tests"))] == []


@pytest.mark.slow
def test_nothing_in_the_wheel_imports_what_only_tests_have(shipped):
    modules = [path for path in shipped.values() if path.suffix == ".py"]
    assert len(modules) > 200
    assert {str(path): found for path in modules if (found := ONLY_FOR_TESTS.intersection(imported(path)))} == {}
