# SPDX-License-Identifier: Apache-2.0
"""Tests that the wheel contains no file that only tests need."""

import ast
import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from leowarp.version import VERSION

ROOT = Path(__file__).parents[2]
ONLY_FOR_TESTS = {"support", "pytest", "_pytest", "hypothesis", "unittest", "skyfield"}


@pytest.fixture(scope="module")
def shipped():
    """The package's files by their path in the wheel."""
    builder = WheelBuilder(str(ROOT))
    return {file.distribution_path: Path(file.path) for file in builder.recurse_included_files()}


def imported(path):
    """Yield the top-level names of all modules that a file imports, in any place."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.partition(".")[0]


def test_no_test_is_in_the_wheel(shipped):
    assert {
        "leowarp/__init__.py",
        "leowarp/exam/cases/leo.toml",
        "leowarp/exam/scenarios/changing/blackout.csv",
        "leowarp/exam/stored/cubic.json",
        "leowarp/report/chart.js",
        "leowarp/study/sweep/maker.py",
        "leowarp_studies/cures/material.py",
    } <= shipped.keys()
    stems = {path: Path(path).stem for path in shipped}
    assert [path for path, stem in stems.items() if stem == "conftest" or stem.endswith(("_test", "_tests"))] == []


@pytest.mark.slow
def test_nothing_in_the_wheel_imports_what_only_tests_have(shipped):
    modules = [path for path in shipped.values() if path.suffix == ".py"]
    assert len(modules) > 200
    assert {str(path): found for path in modules if (found := ONLY_FOR_TESTS.intersection(imported(path)))} == {}


def test_a_wheel_carries_the_commit_of_its_checkout(tmp_path):
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "tools" / "hatch_build.py")
    built = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(built)
    package = tmp_path / "python" / "leowarp"
    package.mkdir(parents=True)
    for name in ("version.py", built.NATIVE):
        shutil.copy(ROOT / "python" / "leowarp" / name, package / name)
    (tmp_path / "build" / "guest").mkdir(parents=True)
    (tmp_path / "build" / "guest" / "linux").touch()

    def carried():
        data = {}
        built.GuestHook(str(tmp_path), {}, None, None, "", "wheel").initialize("standard", data)
        (file,) = [path for path, place in data["force_include"].items() if place == "leowarp/_revision.json"]
        return json.loads(Path(file).read_text())

    assert carried() == {"version": f"{VERSION}.dev0", "git_commit": None, "git_changed": None}
    git = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init"], ["add", "python/leowarp/version.py"], ["commit", "--message", "first"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    assert carried() == {"version": f"{VERSION}.dev0+g{head[:8]}", "git_commit": head, "git_changed": False}
    subprocess.run([*git, "tag", f"v{VERSION}"], check=True)
    assert carried()["version"] == VERSION
