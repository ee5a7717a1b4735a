# SPDX-License-Identifier: Apache-2.0
"""Verbs that show one stage of a scenario, without a kernel: plan, ephemeris, routes, timeline."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leowarp.cli import options
from leowarp.errors import ScenarioError

if TYPE_CHECKING:
    from leowarp.scenario import Plan


def plan(
    file: options.ScenarioFile,
    set_: options.Settings = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write it to this file.")] = None,
    json_: options.Json = False,
) -> None:
    """The scenario with every default written out: what a run depends on, and a scenario itself."""
    text = _plan(file, set_).to_toml()
    if out is not None:
        out.write_text(text)
    if json_:
        import tomllib

        from leowarp.cli.output import print_json

        print_json(tomllib.loads(text))
    elif out is None:
        print(text, end="")


def ephemeris(
    file: options.ScenarioFile,
    at: Annotated[str, typer.Option("--at", help="When, on the run's clock.")] = "0 s",
    visible: Annotated[bool, typer.Option("--visible", help="Only satellites above some station's horizon.")] = False,
    set_: options.Settings = None,
    json_: options.Json = False,
) -> None:
    """Where every satellite is, and how high each station sees it."""
    import numpy as np

    from leowarp import ephemeris as rooms
    from leowarp import units
    from leowarp.cli.output import print_json, print_table

    resolved = _plan(file, set_)
    t_ns = int(_parsed(units.TIME, "--at", at))
    sky = rooms.ephemeris(resolved)
    if sky is None:
        raise ScenarioError(
            f"{file} has no constellation, so nothing moves", hint="its network: leowarp timeline " + str(file)
        )
    ecef_m = sky.positions_ecef_m(t_ns)
    radius_m = np.linalg.norm(ecef_m, axis=-1)
    # Spherical latitude: the direction from the Earth's centre, whatever figure the stations stand on.
    latitude_deg = np.degrees(np.arcsin(ecef_m[:, 2] / radius_m))
    longitude_deg = np.degrees(np.arctan2(ecef_m[:, 1], ecef_m[:, 0]))
    stations = sky.stations
    elevations_deg = np.array([sky.stations.elevations_deg(i, ecef_m) for i in range(len(stations.names))])
    chosen = [i for i in range(len(sky.names)) if not visible or (elevations_deg[:, i] > 0).any()]
    if json_:
        satellites = [
            {
                "name": sky.names[i],
                "position_ecef_m": ecef_m[i],
                "latitude_deg": latitude_deg[i],
                "longitude_deg": longitude_deg[i],
                "radius_m": radius_m[i],
                "elevation_deg": dict(zip(stations.names, elevations_deg[:, i], strict=True)),
            }
            for i in chosen
        ]
        print_json({"t_ns": t_ns, "satellites": satellites, "warnings": list(sky.warnings)})
        return
    _notes(sky.warnings)
    print_table(
        f"{resolved.name} at {t_ns / 1e9:g} s: {len(chosen)} of {len(sky.names)} satellites",
        (
            "satellite", "x_m", "y_m", "z_m", "latitude_deg", "longitude_deg", "radius_km",
            *(f"elevation_deg {name}" for name in stations.names),
        ),
        [
            (
                sky.names[i], *(f"{metres:.0f}" for metres in ecef_m[i]), f"{latitude_deg[i]:.3f}",
                f"{longitude_deg[i]:.3f}", f"{radius_m[i] / 1e3:.3f}", *(f"{e:.2f}" for e in elevations_deg[:, i]),
            )
            for i in chosen
        ],
    )  # fmt: skip


def _plan(file: Path, settings: list[str] | None) -> Plan:
    from leowarp import scenario

    return scenario.resolve(scenario.load(file, settings or []))


def _parsed(quantity: Any, option: str, text: str) -> int | float:
    try:
        return quantity.parse(text)
    except ScenarioError as error:
        raise ScenarioError(f"{option}: {error.message}", hint=error.hint) from error


def _notes(warnings: Any) -> None:
    from leowarp.cli.output import note

    for warning in warnings:
        note(f"warning: {warning}")
