# SPDX-License-Identifier: Apache-2.0
"""Tests that CITATION.cff agrees with the metadata of the package."""

import tomllib
from pathlib import Path

import yaml

from leowarp.version import VERSION

ROOT = Path(__file__).parents[2]
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_it_has_what_its_format_asks_for():
    # Schema 1.2.0 of https://github.com/citation-file-format requires these keys.
    assert {"cff-version", "message", "title", "authors"} <= CITATION.keys()
    assert CITATION["cff-version"] == "1.2.0"
    assert CITATION["type"] == "software"
    assert all(author["name"] for author in CITATION["authors"])
    assert len(set(CITATION["keywords"])) == len(CITATION["keywords"])


def test_its_version_is_the_package_s():
    crates = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]
    assert CITATION["version"] == crates["version"] == VERSION


def test_its_licences_are_the_package_s():
    # In CITATION.cff, a licence expression cannot contain AND, so the key `license` has the licence of most files. The
    # abstract names all licences.
    assert CITATION["license"] == PROJECT["license"].partition(" AND ")[0]
    assert PROJECT["license"] in CITATION["abstract"]


def test_its_title_is_the_package_s():
    assert CITATION["title"] == f"leowarp: {PROJECT['description'][0].lower()}{PROJECT['description'][1:]}"
