# SPDX-License-Identifier: Apache-2.0
"""Reads guest/overrides.toml, the list of all differences between the guest kernel and an unmodified Linux."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from leowarp.base.errors import HostError
from leowarp.guest.building import recipe

SPEED = "speed"
"""The purpose of overrides that only save time. A kernel without these overrides gives the same traces."""


@dataclass(frozen=True)
class Override:
    """An override of the list. guest/overrides.toml explains the fields."""

    name: str
    purpose: str
    parts: tuple[str, ...]
    mechanism: str
    changes: str
    without: str
    saves: str
    asked_by: str
    test: str
    page: str


@dataclass(frozen=True)
class Option:
    """A kernel configuration option that differs from its value in distributions and may affect a run."""

    name: str
    ours: str
    distribution: str
    why: str


def overrides() -> tuple[Override, ...]:
    """Return all overrides, in the list's order."""
    keys = ("name", "purpose", "changes", "without", "test", "page")
    return tuple(
        Override(
            parts=tuple(entry["parts"]), mechanism=_mechanism(entry), saves=entry.get("saves", ""),
            asked_by=entry.get("asked_by", ""), **{key: entry[key] for key in keys},
        )
        for entry in _document()["override"]
    )  # fmt: skip


def options() -> tuple[Option, ...]:
    """Return all configuration options that differ, in the list's order."""
    return tuple(Option(**entry) for entry in _document()["option"])


def _mechanism(entry: dict) -> str:
    steps = []
    if included := entry.get("included_in"):
        steps.append(f"a header included first in {_counted(included, 'object')}")
    elif entry.get("compiled") == "host":
        steps.append("an object for the host's side of User Mode Linux")
    else:
        steps.append("an object linked in")
    if wraps := entry.get("wraps"):
        steps.append(f"in front of {_counted(wraps, 'function')} (`--wrap`)")
    if symbols := [symbol for names in entry.get("globals", {}).values() for symbol in names]:
        steps.append(f"makes {_counted(symbols, 'static symbol')} global")
    if beside := list(entry.get("beside", {}).values()):
        steps.append(f"replaces {_counted(beside, 'function')} (made weak)")
    if copies := [copy["struct"] for copy in entry.get("copies", ())]:
        steps.append(f"declares again {', '.join(f'`struct {name}`' for name in copies)}")
    return "; ".join(steps)


def _counted(names: list[str], noun: str) -> str:
    shown = [f"`{name}`" for name in names]
    return f"{len(names)} {noun}s" if len(names) > 4 else " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _document() -> dict:
    directory = recipe.guest_sources()
    if directory is None:
        raise HostError(
            "reading the list of overrides: this installation has no guest/",
            hint="install a wheel made by `make wheel`",
        )
    return _read(directory)


@cache
def _read(directory: Path) -> dict:
    return tomllib.loads((directory / recipe.LIST).read_text())
