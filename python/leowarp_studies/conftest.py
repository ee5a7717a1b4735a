# SPDX-License-Identifier: Apache-2.0
"""For the tests of all studies."""

import functools

import pytest

from leowarp.study import drawing


@pytest.fixture
def svg_alone(monkeypatch):
    """Figures are drawn in one format instead of three; the others are looked at for one study."""
    monkeypatch.setattr(drawing, "save", functools.partial(drawing.save, formats=("svg",)))
