# SPDX-License-Identifier: Apache-2.0
"""Turns a scenario file into a checked `Scenario`. This module reads only the scenario file, the file that it extends,
and the overrides."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from leowarp.scenario import schema
from leowarp.scenario.completion import complete
from leowarp.scenario.document import Overrides, read_document
from leowarp.scenario.media.dishes import DISH
from leowarp.scenario.media.medium import MEDIA
from leowarp.scenario.names.examples import found
from leowarp.scenario.text.decoding import Draft, Node, Section, decode_section
from leowarp.scenario.text.key import keys
from leowarp.scenario.text.problems import Problems, unknown_key_hint
from leowarp.scenario.workload.modules import decode_modules
from leowarp.scenario.workload.traffic import Traffic


@dataclass(frozen=True)
class Scenario:
    """A scenario whose keys are valid: each key alone, and all keys together.

    A `Scenario` contains the values from the text and the values from presets. `plan.resolve` adds the remaining
    defaults and opens the files that the scenario names.

    Attributes
    ----------
    path : Path
        The file from which the scenario was read.
    name : str
        The run's name.
    sections : dict
        The content of each section, by name. A medium or traffic that the text does not mention is missing. Any other
        section that the text does not mention is empty.
    stations, flows : tuple of Section
        The ``[[stations]]`` and ``[[flows]]``, in the order of the file.
    hosts : dict
        A dict from a station's name to its ``[hosts.NAME.tcp]``. The dict is empty if the text has no such table.
    pinned : dict
        A dict from a station's name to its ``[hosts.NAME.sysctl]`` in the text of a plan. The key "" holds
        ``[sysctl]``, the sysctls of the whole guest.
    modules : dict
        The parameters of each kernel module, with values as a plan contains them.
    dishes : dict
        The ``[stations.access]`` of each station that has one, by index of the station.
    """

    path: Path
    name: str
    sections: Mapping[str, Section] = field(repr=False)
    stations: tuple[Section, ...] = field(repr=False)
    flows: tuple[Section, ...] = field(repr=False)
    hosts: Mapping[str, Section] = field(repr=False)
    pinned: Mapping[str, Section] = field(repr=False)
    modules: Mapping[str, Section] = field(repr=False)
    dishes: Mapping[int, Section] = field(repr=False)


def load(path: str | Path, overrides: Overrides = ()) -> Scenario:
    """Read a scenario file, an example by its name, or the plan in a run directory.

    Parameters
    ----------
    path : str or Path
        A TOML file, a run directory, or the name of an example (`leowarp examples`).
    overrides : list of "KEY=VALUE" or dict
        Dotted keys that override the file, with list indexes as numbers (``flows.0.congestion_control``). In a list, a
        value is read as TOML, or as text if it is not TOML. In a dict, a value is used unchanged.

    Returns
    -------
    Scenario
        A valid scenario. Only `resolve` checks whether the named files exist.

    Raises
    ------
    ScenarioError
        With every mistake in the scenario: file, line, key, value, rule and a hint.

    Examples
    --------
    >>> load("examples/chain.toml", ["run.seed=2"]).sections["run"].values["seed"]
    2
    """
    path = found(path)
    document = read_document(path, overrides)
    problems = Problems()
    draft = _decode(document, problems)
    complete(draft, document, problems)
    # Mistakes are raised only after the completion, so that one message lists the mistakes within sections and between
    # sections.
    problems.raise_any()
    return Scenario(
        path=path,
        name=draft.name,
        sections=draft.sections,
        stations=tuple(draft.stations),
        flows=tuple(draft.flows),
        hosts=draft.hosts,
        pinned=draft.pinned,
        modules=draft.modules,
        dishes=draft.dishes,
    )


def _decode(document: Node, problems: Problems) -> Draft:
    """Decode each section of a document separately, and report unknown top-level keys."""
    known = ("schema", "extends", "name", *TABLES, "stations", "flows", "hosts", "modules", "sysctl")
    # The hint about an unknown key names a section that has this key. If several sections have the key, the hint names
    # the last of them.
    elsewhere = {key: name for name, section in TABLES.items() for key in keys(section)}
    for key, node in document.value.items():
        if key not in known:
            problems.add(node.origin, key, "there is no such key", unknown_key_hint(key, known, elsewhere))
    sections = {}
    for name, section in TABLES.items():
        given = document.get(name)
        # Media and traffic exist only if the text mentions them. Every other section exists, with defaults if the text
        # does not mention it.
        if given is not None or name not in (*MEDIA, "traffic"):
            node = given if given is not None else Node({}, document.origin)
            sections[name] = decode_section(name, section, node, problems, elsewhere)
    draft = Draft(
        name=_name(document, problems),
        sections=sections,
        stations=_list(document, "stations", schema.Station, problems, apart=DISH),
        flows=_list(document, "flows", schema.Flow, problems),
        modules=decode_modules(document.get("modules"), problems),
        dishes={
            i: decode_section(f"stations.{i}.{DISH}", schema.Access, node, problems)
            for i, node in _dishes_of(document).items()
        },
    )  # fmt: skip
    _decode_hosts(draft, document, problems)
    return draft


def _name(document: Node, problems: Problems) -> str:
    """Return the run's name, or "" if it has none. The function also checks the schema's version."""
    version = document.get("schema")
    # A Boolean must be excluded explicitly: in Python, True == 1.
    if version is not None and (version.value != schema.SCHEMA_VERSION or isinstance(version.value, bool)):
        rule = f"this leowarp reads schema = {schema.SCHEMA_VERSION}"
        problems.add(version.origin, "schema", rule, "a newer leowarp may have written this file")
    node = document.get("name")
    if node is None:
        problems.add(document.origin, "name", "is missing", 'Write name = "..." first; a variant has a name of its own')
        return ""
    # The name becomes a directory name, so it has no separator, no blank and no leading dot.
    if not isinstance(node.value, str) or re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", node.value) is None:
        rule = f"{node.value!r:.80} is not a name of 1 to 100 letters, digits, dots, dashes and underscores"
        problems.add(node.origin, "name", rule, "the run directory takes its name from it")
        return ""
    return node.value


def _list(document: Node, name: str, section: type, problems: Problems, apart: str | None = None) -> list[Section]:
    """Decode each table of a list, without the key `apart`. The section of a table is named as in ``--set``, for
    example ``flows.0``."""
    node = document.get(name)
    if node is None:
        return []
    if not isinstance(node.value, list):
        problems.add(node.origin, name, "is not a list of tables", f"write [[{name}]] above each")
        return []
    sections = []
    for i, child in enumerate(node.value):
        if isinstance(child.value, dict):
            child = Node({key: value for key, value in child.value.items() if key != apart}, child.origin)
        sections.append(decode_section(f"{name}.{i}", section, child, problems))
    return sections


def _dishes_of(document: Node) -> dict[int, Node]:
    """Return a dict from a station's index to the node with its access link. Mistakes in the list of stations are
    reported where the list is decoded."""
    node = document.get("stations")
    children = node.value if node is not None and isinstance(node.value, list) else []
    tables = {i: child.value for i, child in enumerate(children) if isinstance(child.value, dict)}
    return {i: table[DISH] for i, table in tables.items() if DISH in table}


def _decode_hosts(draft: Draft, document: Node, problems: Problems) -> None:
    """Decode the TCP settings and the sysctls of single hosts."""
    _pin(draft, "", document.get("sysctl"), problems)
    hosts = document.get("hosts")
    if hosts is None:
        return
    if not isinstance(hosts.value, dict):
        problems.add(hosts.origin, "hosts", "is not a table", "write [hosts.NAME.tcp]")
        return
    for name, node in hosts.value.items():
        if not isinstance(node.value, dict):
            problems.add(node.origin, f"hosts.{name}", "is not a table", f"write [hosts.{name}.tcp]")
            continue
        for key, child in node.value.items():
            if key == "tcp":
                draft.hosts[name] = decode_section(f"hosts.{name}.tcp", schema.Tcp, child, problems)
            elif key == "sysctl":
                _pin(draft, name, child, problems)
            else:
                problems.add(child.origin, f"hosts.{name}.{key}", "there is no such key", "known here: tcp, sysctl")


def _pin(draft: Draft, host: str, node: Node | None, problems: Problems) -> None:
    """Store the sysctls that a plan contains. They replace the sysctls that this version would derive. An old plan
    therefore runs unchanged."""
    if node is not None:
        name = f"hosts.{host}" if host else ""
        # The section has only the key `sysctl` of `Tcp`. It has this schema also for the whole guest.
        draft.pinned[host] = decode_section(name, schema.Tcp, Node({"sysctl": node}, node.origin), problems)


TABLES: dict[str, type] = {
    "run": schema.Run,
    **MEDIA,
    "isl": schema.Isl,
    "ground": schema.Ground,
    "routing": schema.Routing,
    "cures": schema.Cures,
    "network": schema.Network,
    "traffic": Traffic,
    "tcp": schema.Tcp,
    "observe": schema.Observe,
    "guest": schema.Guest,
}
"""For each table of a scenario, its dataclass. The tables are in the order in which a plan writes them."""
