# SPDX-License-Identifier: Apache-2.0
"""Tests that no code calls `getattr` with a default, which would hide a wrong or renamed attribute."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]


def defaults(text):
    """Yield the numbers of the lines that call `getattr` with three arguments."""
    if "getattr" not in text:
        return
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[_, _, _]):
                yield node.lineno


def test_no_attribute_is_read_with_a_default():
    package = ROOT / "python"
    modules = [path for path in sorted(package.rglob("*.py")) if not path.name.endswith("_test.py")]
    assert len(modules) > 200
    assert [(path.name, line) for path in modules for line in defaults(path.read_text())] == []


def test_a_default_is_seen():
    assert list(defaults("a = getattr(b, 'c')\nd = getattr(b, 'c', None)\n")) == [2]
