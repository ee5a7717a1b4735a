# SPDX-License-Identifier: Apache-2.0
"""Studies that are installed: leowarp's own (the package `leowarp_studies`) and those of other packages.

A package names its studies in the entry point group `leowarp.studies`, each by its key and the module that is its
`Room`. Nothing is imported before a study is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from importlib.metadata import EntryPoint
from typing import Any, Protocol, cast

from leowarp.base.errors import HostError, ScenarioError
from leowarp.base.spelling import one_of
from leowarp.study.claim import Claim
from leowarp.study.making import Making, Material

GROUP = "leowarp.studies"
"""Entry point group in which packages name their studies."""

NAMES = ("TITLE", "LEAD", "CLAIMS", "OPTIONS", "make")
"""Names that the module of a study must have; `Room` describes each."""


class Room(Protocol):
    """The module of a study, as its entry point names it.

    TITLE, LEAD: Heading and first paragraph of the page, plain text.
    CLAIMS: In the order of the page.
    OPTIONS: Keyword arguments of `reproduce` that are this study's own.
    """

    TITLE: str
    LEAD: str
    CLAIMS: Sequence[Claim]
    OPTIONS: tuple[str, ...]

    def make(self, making: Making, **options: Any) -> Material:
        """Make the runs that are not there yet, and the figures. An option that was not given is left out."""


def studies() -> dict[str, EntryPoint]:
    """Installed studies by their keys, leowarp's own first, then by key.

    Returns
    -------
    dict of str to EntryPoint

    Raises
    ------
    HostError
        If two packages name a study alike.
    """
    found: dict[str, EntryPoint] = {}
    for entry in metadata.entry_points(group=GROUP):
        other = found.setdefault(entry.name, entry)
        # The same package may be found twice: in a checkout and as an installation.
        if other.value != entry.value:
            raise HostError(
                f"two packages have a study {entry.name!r}: {_package_of(other)} ({other.value}) and "
                f"{_package_of(entry)} ({entry.value})",
                hint=f"pip uninstall {_package_of(entry)}",
            )
    return dict(sorted(found.items(), key=lambda item: (_package_of(item[1]) != "leowarp", item[0])))


def room_of(key: str) -> Room:
    """The module of a study, imported now, and matplotlib with it.

    key: One of `studies`.
    Raises ScenarioError if there is no such study.
    Raises HostError if its module cannot be imported, or lacks one of `NAMES`.
    """
    known = studies()
    if key not in known:
        if not known:
            # Installed before its metadata named any: the packages are there, the entry points are not.
            raise HostError("no study is installed", hint="pip install --force-reinstall leowarp, or make setup")
        raise ScenarioError(f"there is no study {key!r}", hint=one_of(key, tuple(known)))
    entry = known[key]
    try:
        module = entry.load()
    except (ImportError, AttributeError) as error:
        raise HostError(
            f"the study {key} of the package {_package_of(entry)} cannot be imported: {error}",
            hint=f"python -c 'import {entry.module}' prints where",
        ) from error
    missing = [name for name in NAMES if not hasattr(module, name)]
    if missing:
        raise HostError(
            f"{entry.value} of the package {_package_of(entry)} is no study: it lacks {', '.join(missing)}",
            hint="docs/guides/your-own-study.md says what a study has",
        )
    return cast(Room, module)


def _package_of(entry: EntryPoint) -> str:
    """The distribution that names an entry point."""
    return entry.dist.name if entry.dist is not None else "unknown"
