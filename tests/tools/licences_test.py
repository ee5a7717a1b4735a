# SPDX-License-Identifier: Apache-2.0
"""Tests that tools/licences.py applies the rules of deny.toml as `cargo deny check` does. The rules are about licences
and sources."""

import importlib.util
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RULES = tomllib.loads((ROOT / "deny.toml").read_text())
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


@pytest.fixture(scope="module")
def licences():
    spec = importlib.util.spec_from_file_location("licences", ROOT / "tools" / "licences.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def crate(licence: str | None, source: str | None = CRATES_IO) -> dict:
    return {"name": "some", "license": licence, "source": source}


@pytest.mark.parametrize(
    ("package", "wrong"),
    [
        (crate("MIT"), []),
        (crate("MIT OR Apache-2.0"), []),
        (crate("(MIT OR Apache-2.0) AND Unicode-3.0"), []),
        (crate("Apache-2.0 WITH LLVM-exception OR GPL-3.0"), []),
        (crate("Apache-2.0", None), []),
        (crate("GPL-3.0-only"), ["some: GPL-3.0-only"]),
        (crate("MIT AND GPL-3.0-only"), ["some: MIT AND GPL-3.0-only"]),
        # MPL-2.0 is compatible, but deny.toml does not list it
        (crate("MPL-2.0"), ["some: MPL-2.0"]),
        (crate(None), ["some: none"]),
        (crate("MIT", "git+https://example.org/some"), ["some: comes from git+https://example.org/some"]),
        (crate("MIT", "registry+https://example.org"), ["some: comes from registry+https://example.org"]),
    ],
)
def test_crates_are_held_to_deny_toml(licences, package, wrong):
    assert licences.against_deny([package], RULES) == wrong


def npm(licence="ISC", resolved="https://registry.npmjs.org/some/-/some-1.0.0.tgz", **more):
    return {"": {}, "node_modules/some": {"license": licence, "resolved": resolved, "integrity": "sha512-x", **more}}


@pytest.mark.parametrize(
    ("packages", "wrong"),
    [
        (npm(), 0),
        (npm("MIT"), 0),
        (npm("GPL-3.0-only"), 1),
        (npm(resolved="https://example.org/some.tgz"), 1),
        ({"node_modules/some": {"license": "ISC", "resolved": "https://registry.npmjs.org/some.tgz"}}, 1),
        ({"node_modules/some": {"license": "ISC", "integrity": "sha512-x"}}, 0),
        ({"node_modules/some": {}}, 2),
    ],
)
def test_packages_of_the_page_are_held_to_the_same_licences(licences, packages, wrong):
    assert len(licences.of_npm_lock(packages)) == wrong
