# SPDX-License-Identifier: Apache-2.0
"""Tests that examples in docstrings give their printed results."""

import doctest
import importlib
import pkgutil

import pytest

import leowarp
import leowarp_studies

ALONE = {"leowarp.__main__", "leowarp.applications.programs.http3", "leowarp.guest.boot.launch"}
"""The modules that are programs, or that need a library outside leowarp's installation."""


@pytest.mark.slow
@pytest.mark.parametrize("package", [leowarp, leowarp_studies], ids=lambda package: package.__name__)
def test_examples_in_docstrings_hold(package) -> None:
    tested = 0
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if found.name not in ALONE and not found.name.endswith(("_test", "conftest")):
            result = doctest.testmod(importlib.import_module(found.name))
            assert result.failed == 0, found.name
            tested += result.attempted
    assert tested > 0
    assert doctest.testmod(package).failed == 0
