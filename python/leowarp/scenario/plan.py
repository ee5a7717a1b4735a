# SPDX-License-Identifier: Apache-2.0
"""Turns a `Scenario` into a `Plan`. Every default is written out, and every file is found and hashed."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError
from leowarp.base.layout import INPUTS
from leowarp.scenario import schema
from leowarp.scenario.document import Overrides
from leowarp.scenario.loading import Scenario, load
from leowarp.scenario.media.constellation import FollowsConstellation
from leowarp.scenario.media.medium import MEDIA, Medium, medium_of
from leowarp.scenario.network.profiles import guest_sysctls, host_sysctls
from leowarp.scenario.schema import Plan
from leowarp.scenario.text.counts import MOST_FLOWS
from leowarp.scenario.text.decoding import Section
from leowarp.scenario.text.key import InputFile, keys
from leowarp.scenario.text.problems import Problems
from leowarp.scenario.workload.arrivals import arrivals
from leowarp.scenario.workload.traffic import Traffic

_MOST_BYTES = {"tle": 64 << 20, "environments": 8 << 20, "cc_modules": 8 << 20, "size_file": 16 << 20,
               "obstructions": 1 << 20}  # fmt: skip
"""A dict from key to the maximum size in bytes of its file. These files are read as a whole. 64 MiB hold 460,000
element sets as TLE, or 100,000 in JSON."""


def resolve(scenario: Scenario) -> Plan:
    """Return the plan of a scenario.

    Parameters
    ----------
    scenario : Scenario
        A valid scenario, from `load`.

    Returns
    -------
    Plan
        A plan with every default written out. Each file is an `InputFile` with its sha256.

    Raises
    ------
    ScenarioError
        If a named file is missing, cannot be read, or has another sha256 than the plan says. Also raised if
        ``[traffic]`` gives too many flows, no flow, or more load than an access link can carry.

    Examples
    --------
    >>> resolve(load("examples/mobile.toml")).network.mtu_bytes
    1115
    """
    problems = Problems()
    built: dict[str, Any] = {}
    copies: dict[str, str] = {}
    for name, section in scenario.sections.items():
        built[name] = _built(section, _found_files(section, copies, problems))
    stations: tuple[schema.Station, ...] = tuple(
        _built(section, _found_files(section, copies, problems)) for section in scenario.stations
    )
    # The error is raised after all sections are built, so that one message names every file that is missing or differs.
    problems.raise_any()
    # The kernel may run only if the file that names it is trusted (`guest/building/trust.py`). In the scenario, only
    # the node of the key `kernel` says which file names the kernel.
    kernel = scenario.sections["guest"].nodes.get("kernel")
    if kernel is not None:
        built["guest"] = dataclasses.replace(built["guest"], kernel_named_in=kernel.origin.named_in)
    traffic: Traffic | None = built.pop("traffic", None)
    tcp, guest = built["tcp"], built["guest"]
    medium = _medium({name: built.pop(name) for name in MEDIA if name in built})
    dishes = {stations[place].name: _built(section) for place, section in scenario.dishes.items()}
    flows = tuple(_flow(section) for section in scenario.flows)
    if traffic is not None:
        flows += arrivals(traffic, stations, built["run"], built["ground"], built["network"])
    if traffic is not None and len(flows) > MOST_FLOWS:
        raise ScenarioError(f"{len(flows)} flows with those of [traffic], and at most {MOST_FLOWS} are possible")
    hosts = tuple(_host(scenario, tcp, station.name) for station in stations)
    # net.core.rmem_max and wmem_max are common to all hosts, so they get the largest value of any host.
    largest = max([tcp.buffer_max_bytes, *(host.tcp.buffer_max_bytes for host in hosts)])
    # Sysctls in the text of a plan override those that this version would derive, so that an old plan reproduces its
    # old run.
    whole_guest = guest_sysctls(largest, guest.memory_bytes, guest.sysctl) | _pinned(scenario, "")
    return Plan(
        name=scenario.name,
        medium=medium,
        stations=stations,
        flows=flows,
        hosts=hosts,
        dishes=dishes,
        modules={name: dict(sorted(section.values.items())) for name, section in sorted(scenario.modules.items())},
        sysctl=dict(sorted(whole_guest.items())),
        **built,
    )


def plan_of(scenario: Path | str | Plan, overrides: Overrides = (), kernel: Path | str | None = None) -> Plan:
    """Return the plan of a scenario file with overrides, or the given plan.

    scenario: A scenario file, a run directory or a plan. A plan is returned unchanged, except for `kernel`.
    overrides: As for `load`.
    kernel: The guest kernel to use instead of the plan's kernel. It is a name on the shelf, or the path of a kernel
        tree or binary. A caller who passes this argument permits the kernel to run.
    Raises ScenarioError for the same reasons as `load` and `resolve`; also if overrides are given for a plan, because a
        plan is complete.
    """
    if isinstance(scenario, Plan):
        if overrides:
            raise ScenarioError("a resolved plan takes no overrides", hint="set them when the scenario is loaded")
        plan = scenario
    else:
        plan = resolve(load(scenario, overrides))
    if kernel is None:
        return plan
    # A plan contains the absolute path of the kernel, so that a worker in another directory finds it.
    chosen = kernel if isinstance(kernel, str) and is_kernel_name(kernel) else str(Path(kernel).expanduser().resolve())
    return dataclasses.replace(plan, guest=dataclasses.replace(plan.guest, kernel=chosen, kernel_named_in=None))


def is_kernel_name(kernel: str) -> bool:
    """Return whether a `guest.kernel` is the name of a kernel on the shelf. A value with a slash is a path."""
    return "/" not in kernel


def _medium(built: Mapping[str, Any]) -> Medium:
    """Return the plan's only medium. If the medium follows a constellation, the returned medium contains the
    constellation."""
    medium: Medium = built[medium_of(built).NAME]
    if isinstance(medium, FollowsConstellation):
        return dataclasses.replace(medium, constellation=built.get("constellation"))
    return medium


def _built(section: Section, files: Mapping[str, Any] | None = None) -> Any:
    # The hashes in the text are left out: they were compared when the files were looked up, and the plan contains the
    # files' own hashes.
    values = {name: value for name, value in section.values.items() if not name.endswith("_sha256")}
    return section.schema(**(values | dict(files or {})))


def _flow(section: Section) -> schema.Flow:
    """Return a flow of the plan. The flow of a program also says which file named the program. The named program runs
    only with the user's consent (`guest/building/trust.py`)."""
    flow: schema.Flow = _built(section)
    named = [section.nodes[key].origin.named_in for key in ("client", "server", "environment", "directory", "rootfs")
             if key in section.nodes]  # fmt: skip
    # A file may name only a part of a program's flow, such as its server. The whole flow is then treated as named by
    # that file.
    return dataclasses.replace(flow, named_in=next((file for file in named if file is not None), None))


def _host(scenario: Scenario, tcp: schema.Tcp, name: str) -> schema.Host:
    own = scenario.hosts[name].values if name in scenario.hosts else {}
    # The host's sysctls are added to the sysctls of [tcp]. Every other key of the host replaces the same key of [tcp].
    mixed = dict(sorted({**tcp.sysctl, **own.get("sysctl", {})}.items()))
    merged = dataclasses.replace(tcp, **(own | {"sysctl": mixed}))
    sysctl = host_sysctls(merged) | _pinned(scenario, name)
    return schema.Host(name=name, tcp=merged, sysctl=dict(sorted(sysctl.items())))


def _pinned(scenario: Scenario, host: str) -> dict[str, str]:
    """Return the sysctls that a plan contains for a host, or for the whole guest ("")."""
    section = scenario.pinned.get(host)
    return section.values.get("sysctl", {}) if section is not None else {}


def _found_files(
    section: Section, copies: dict[str, str], problems: Problems
) -> dict[str, InputFile | tuple[InputFile, ...]]:
    """Find and hash the files that a section names.

    copies: The sha256 of each file of earlier sections, by name. The function adds the files of this section.
    Returns: The files that were found, by attribute of the section.
    """
    # The text of a plan also contains hashes of files, which are not attributes of a section.
    files: dict[str, InputFile | tuple[InputFile, ...]] = {}
    for key, (attribute, declared) in keys(section.schema).items():
        named, wanted = section.values.get(attribute), section.values.get(f"{key}_sha256")
        if declared.kind == "file" and named is not None:
            one = _found_file(section, key, named, wanted, problems)
            files |= {attribute: one} if one is not None else {}
        elif declared.kind == "files" and named is not None:
            hashes = wanted if wanted is not None else (None,) * len(named)
            if len(hashes) != len(named):
                rule = f"has {len(hashes)} sha256, and {key} names {len(named)} files"
                problems.add(section.where(f"{key}_sha256"), f"{section.name}.{key}_sha256", rule, "take it out")
                continue
            several = [_found_file(section, key, *pair, problems) for pair in zip(named, hashes, strict=True)]
            files[attribute] = tuple(one for one in several if one is not None)
    _check_names(section, files, copies, problems)
    return files


def _check_names(
    section: Section,
    files: Mapping[str, InputFile | tuple[InputFile, ...]],
    copies: dict[str, str],
    problems: Problems,
) -> None:
    """Check that no two files have the same name. A run copies all files into one folder."""
    for attribute, named in files.items():
        for one in named if isinstance(named, tuple) else (named,):
            if copies.setdefault(one.name, one.sha256) != one.sha256:
                rule = f'another file of the scenario is called "{one.name}" too, and a run keeps copies of both'
                section.refuse(problems, attribute, rule, "rename one of them")


def _found_file(section: Section, key: str, name: str, wanted: str | None, problems: Problems) -> InputFile | None:
    """Find one file that a section names. The file is in the directory of the text that names it, or among the copies
    in a run's directory. The file's hash must equal `wanted`.

    wanted: The sha256 in the plan. None means that any content is accepted, as in a user's scenario.
    Returns: The file, or None after a mistake was added to `problems`.
    """
    origin = section.where(key)
    if origin.is_of_a_run and not plainfiles.is_plain_name(name):
        rule = f'"{name}" leads out of the run directory, and the plan of a run names files of {INPUTS}/ alone'
        problems.add(origin, f"{section.name}.{key}", rule, "copy the plan to another name to use other files")
        return None
    # A plan names files without their folders. Copies of these files are in a folder beside the plan, in the run
    # directory.
    places = [origin.folder / INPUTS / name, origin.folder / name]
    if origin.is_of_a_run:
        places = places[:1]
    # If no hash is given, as in a user's scenario, the file beside the scenario is looked for first. If a hash is
    # given, as in a plan, the copy in the run directory is looked for first.
    elif wanted is None:
        places.reverse()
    try:
        path = next((place for place in places if os.path.lexists(place)), None)
    except ValueError:  # A name that contains a NUL cannot be a file's name.
        path = None
    if path is None:
        looked = " and ".join(dict.fromkeys(str(place) for place in places))
        hint = f"looked for {looked}; a name is relative to the folder of the scenario"
        problems.add(origin, f"{section.name}.{key}", f'there is no file "{name}"', hint)
        return None
    try:
        # The path comes from a run directory, in which somebody else may have placed a link.
        if origin.is_of_a_run and path.parent.is_symlink():
            raise OSError(0, f"{path.parent.name} is a symbolic link", str(path.parent))
        most_bytes = _MOST_BYTES.get(key, plainfiles.MOST_INPUT_BYTES)
        sha256 = plainfiles.sha256_of(path, most_bytes, links=not origin.is_of_a_run)
    except OSError as error:
        advice = "take a part of it" if "more than" in str(error.strerror) else None
        problems.add(origin, f"{section.name}.{key}", f'cannot read "{path}": {error.strerror}', advice)
        return None
    if wanted is not None and wanted != sha256:
        rule = f'"{path}" has sha256 {sha256[:12]}..., and the plan was made with {wanted[:12]}...'
        hint = f"put the file back as it was, or take {key}_sha256 out to use the new content"
        problems.add(origin, f"{section.name}.{key}", rule, hint)
        return None
    return InputFile(path.name, sha256, path, origin.named_in)
