# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the tests of all studies."""

import functools

import pytest

from leowarp.study import drawing


@pytest.fixture
def svg_alone(monkeypatch):
    """Make each figure in SVG alone instead of in three formats."""
    monkeypatch.setattr(drawing, "save", functools.partial(drawing.save, formats=("svg",)))
