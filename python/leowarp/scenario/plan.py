# SPDX-License-Identifier: Apache-2.0
"""A `Scenario` to a `Plan`: every default written out, every file found and hashed."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import Any, TypeVar

from leowarp.scenario import schema
from leowarp.scenario.decode import Section
from leowarp.scenario.key import InputFile
from leowarp.scenario.load import TABLES, Scenario
from leowarp.scenario.problems import Problems
from leowarp.scenario.profiles import guest_sysctls, host_sysctls
from leowarp.scenario.schema import Plan

INPUTS_FOLDER = "00-inputs"
"""Where a run directory keeps copies of the files that its plan names."""

T = TypeVar("T")


def resolve(scenario: Scenario) -> Plan:
    """The plan of a scenario.

    Raises
    ------
    ScenarioError
        If a file that it names is not there, cannot be read, or has another sha256 than the plan says.
    """
    problems = Problems()
    built: dict[str, Any] = {}
    for name, section in scenario.sections.items():
        built[name] = _built(TABLES[name], section, _found_files(scenario, section, problems))
    problems.raise_any()
    tcp, guest = built["tcp"], built["guest"]
    stations = tuple(_built(schema.Station, section) for section in scenario.stations)
    hosts = tuple(_host(scenario, tcp, station.name) for station in stations)
    largest = max([tcp.buffer_max_bytes, *(host.tcp.buffer_max_bytes for host in hosts)])
    whole_guest = guest_sysctls(largest, guest.memory_bytes, guest.sysctl) | _pinned(scenario, "")
    return Plan(
        name=scenario.name,
        stations=stations,
        flows=tuple(_built(schema.Flow, section) for section in scenario.flows),
        hosts=hosts,
        sysctl=dict(sorted(whole_guest.items())),
        **built,
    )


def plan_inputs(plan: Plan) -> list[Path]:
    """Files that a plan names, to be copied into ``00-inputs/`` of the run directory."""
    return plan.inputs()


def _built(schema_class: type[T], section: Section, files: dict[str, InputFile] | None = None) -> T:
    values = {name: value for name, value in section.values.items() if not name.endswith("_sha256")}
    return schema_class(**(values | (files or {})))


def _host(scenario: Scenario, tcp: schema.Tcp, name: str) -> schema.Host:
    own = scenario.hosts[name].values if name in scenario.hosts else {}
    mixed = dict(sorted({**tcp.sysctl, **own.get("sysctl", {})}.items()))
    merged = dataclasses.replace(tcp, **(own | {"sysctl": mixed}))
    sysctl = host_sysctls(merged) | _pinned(scenario, name)
    return schema.Host(name=name, tcp=merged, sysctl=dict(sorted(sysctl.items())))


def _pinned(scenario: Scenario, host: str) -> dict[str, str]:
    section = scenario.pinned.get(host)
    return section.values.get("sysctl", {}) if section is not None else {}


def _found_files(scenario: Scenario, section: Section, problems: Problems) -> dict[str, InputFile]:
    found = {}
    for key in _FILE_KEYS.get(section.name, ()):
        name = section.values.get(key)
        if name is None:
            continue
        origin, wanted = section.where(key), section.values.get(f"{key}_sha256")
        # A plan names a file without its folder; beside it, in a run directory, lies the folder of copies.
        places = [origin.folder / INPUTS_FOLDER / name, origin.folder / name]
        if wanted is None:
            places.reverse()
        path = next((place for place in places if place.is_file()), None)
        if path is None:
            looked = " and ".join(str(place) for place in places)
            hint = f"looked for {looked}; a name is relative to the folder of the scenario"
            problems.add(origin, f"{section.name}.{key}", f'there is no file "{name}"', hint)
            continue
        try:
            sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        except OSError as error:
            problems.add(origin, f"{section.name}.{key}", f'cannot read "{path}": {error.strerror}')
            continue
        if wanted is not None and wanted != sha256:
            rule = f'"{path}" has sha256 {sha256[:12]}..., and the plan was made with {wanted[:12]}...'
            hint = f"put the file back as it was, or take {key}_sha256 out to use the new content"
            problems.add(origin, f"{section.name}.{key}", rule, hint)
            continue
        found[key] = InputFile(path.name, sha256, path)
    return found


_FILE_KEYS = {"constellation": ("tle",), "measured": ("file",), "jittered": ("table",)}
