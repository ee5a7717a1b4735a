# SPDX-License-Identifier: Apache-2.0
"""Find the installed studies, both leowarp's own (in the package `leowarp_studies`) and other packages' studies.

A package lists its studies in the entry point group `leowarp.studies`. An entry gives the key of a study and the name
of its module, which implements `Room`. leowarp imports a study's module only when a user requests the study.
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
"""The entry point group in which packages list their studies."""

NAMES = ("TITLE", "LEAD", "CLAIMS", "OPTIONS", "make")
"""The module of a study must define these names. The class `Room` describes each of these names."""


class Room(Protocol):
    """The interface of a study's module: the names that the module must define.

    TITLE, LEAD: The heading and first paragraph of the page, as plain text.
    CLAIMS: The claims, in the order of the page.
    OPTIONS: The keyword arguments of `reproduce` that apply only to this study.
    """

    TITLE: str
    LEAD: str
    CLAIMS: Sequence[Claim]
    OPTIONS: tuple[str, ...]

    def make(self, making: Making, **options: Any) -> Material:
        """Make the missing runs and the figures of the study. An option that the user does not set is not passed, so
        `make` uses its default."""


def studies() -> dict[str, EntryPoint]:
    """Return the installed studies by key. leowarp's own studies come first, followed by other packages' studies,
    sorted by key.

    Returns
    -------
    dict of str to EntryPoint

    Raises
    ------
    HostError
        If two packages have a study with the same key.
    """
    found: dict[str, EntryPoint] = {}
    for entry in metadata.entry_points(group=GROUP):
        other = found.setdefault(entry.name, entry)
        # If the same study is found twice, in a checkout and in an installation, both entries name the same module.
        if other.value != entry.value:
            raise HostError(
                f"two packages have a study {entry.name!r}: {_package_of(other)} ({other.value}) and "
                f"{_package_of(entry)} ({entry.value})",
                hint=f"pip uninstall {_package_of(entry)}",
            )
    return dict(sorted(found.items(), key=lambda item: (_package_of(item[1]) != "leowarp", item[0])))


def room_of(key: str) -> Room:
    """Import the module of a study and return it. The import also loads matplotlib.

    Raises ScenarioError if no study has this key.
    Raises HostError if the module cannot be imported, or if it lacks one of `NAMES`.
    """
    known = studies()
    if key not in known:
        if not known:
            # An old installation may contain the package `leowarp_studies`, although its metadata list no studies.
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
    return entry.dist.name if entry.dist is not None else "unknown"
