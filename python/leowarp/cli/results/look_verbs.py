# SPDX-License-Identifier: Apache-2.0
"""The verbs that show one stage of a scenario, without a kernel: plan, ephemeris, routes.

The verbs call functions on a plan. A run calls the same functions on this plan before its guest boots. The verbs print
what a run directory would contain.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError
from leowarp.cli import options
from leowarp.cli.output import note, notes, print_json, print_table, say

if TYPE_CHECKING:
    from leowarp.scenario import Plan

MOST_FIBRES = 3
"""The maximum number of station pairs for which `routes` prints the delay of a fibre. --json includes all pairs."""


def plan(
    file: options.ScenarioFile,
    set_: options.Settings = None,
    leave_out: options.LeaveOut = None,
    cc_module: options.CcModules = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write it to this file.")] = None,
    json_: options.Json = False,
) -> None:
    """Print the plan, which is the scenario with all default values. A plan is itself a scenario."""
    from leowarp.scenario.schema import Mobile

    resolved = plan_of(file, options.settings(set_, cc_module, leave_out))
    if isinstance(resolved.medium, Mobile):
        # The module is imported here, because plans of another kind do not need the packages that it imports.
        from leowarp.media import check

        check(resolved)
    if resolved.constellation is not None and resolved.constellation.tle is not None:
        from leowarp.ephemeris import planned_places

        # The plan has no keys for the orbital planes that are found in orbital elements, so they are printed in
        # addition to the plan.
        places = planned_places(resolved)
        notes("warning", () if places is None else places.sentences)
    from leowarp.scenario import long_run

    if (sentence := long_run(resolved)) is not None:
        note(f"warning: {sentence}")
    text = resolved.to_toml()
    if out is not None:
        # leowarp never writes through a symbolic link (docs/security.md, "What a plan cannot do").
        plainfiles.refuse_link(out)
        out.write_text(text, encoding="utf-8")
    if json_:
        import tomllib

        # The plan's text is parsed, so that --json has values with units, like the plan in a run directory.
        print_json(tomllib.loads(text))
    elif out is None:
        say(text, end="")


def ephemeris(
    file: options.ScenarioFile,
    at: Annotated[str, typer.Option(help="When, on the run's clock.")] = "0 s",
    visible: Annotated[
        bool, typer.Option("--visible", help="Only satellites above the horizon of some station.")
    ] = False,
    set_: options.Settings = None,
    leave_out: options.LeaveOut = None,
    json_: options.Json = False,
) -> None:
    """Print the position of each satellite, and its elevation at each station."""
    import numpy as np

    from leowarp import ephemeris as rooms

    resolved = plan_of(file, options.settings(set_, leave_out=leave_out))
    t_ns = time_ns("--at", at)
    # `sky` is None if the medium has no satellites.
    sky = rooms.ephemeris_of(resolved)
    if sky is None:
        raise ScenarioError(
            f"{file} has no constellation, so nothing moves", hint="its network: leowarp timeline " + str(file)
        )
    ecef_m = sky.positions_ecef_m(t_ns)
    radius_m = np.linalg.norm(ecef_m, axis=-1)
    # The printed latitude is spherical (the angle at the Earth's centre), so it does not depend on the ellipsoid of the
    # stations.
    latitude_deg = np.degrees(np.arcsin(ecef_m[:, 2] / radius_m))
    longitude_deg = np.degrees(np.arctan2(ecef_m[:, 1], ecef_m[:, 0]))
    stations = sky.stations
    # Elevation in degrees, of shape (stations, satellites); a satellite below 0 is not visible from the station.
    elevations_deg = np.array([sky.stations.elevations_deg(i, ecef_m) for i in range(len(stations.names))])
    chosen = [i for i in range(len(sky.names)) if not visible or (elevations_deg[:, i] > 0).any()]
    places = [None if sky.places is None else sky.places.name(i) for i in range(len(sky.names))]
    if json_:
        satellites = [
            {
                "name": sky.names[i],
                "position_ecef_m": ecef_m[i],
                "latitude_deg": latitude_deg[i],
                "longitude_deg": longitude_deg[i],
                "radius_m": radius_m[i],
                "elevation_deg": dict(zip(stations.names, elevations_deg[:, i], strict=True)),
                "place": places[i],
            }
            for i in chosen
        ]
        print_json({"t_ns": t_ns, "satellites": satellites, "warnings": list(sky.warnings)})
        return
    notes("warning", sky.warnings)
    print_table(
        f"{resolved.name} at {t_ns / 1e9:g} s: {len(chosen)} of {len(sky.names)} satellites",
        (
            "satellite", *(() if sky.places is None else ("place",)), "x_m", "y_m", "z_m", "latitude_deg",
            "longitude_deg", "radius_km", *(f"elevation_deg {name}" for name in stations.names),
        ),
        [
            (
                sky.names[i], *(() if sky.places is None else (places[i],)), *(f"{metres:.0f}" for metres in ecef_m[i]),
                f"{latitude_deg[i]:.3f}", f"{longitude_deg[i]:.3f}", f"{radius_m[i] / 1e3:.3f}",
                *(f"{e:.2f}" for e in elevations_deg[:, i]),
            )
            for i in chosen
        ],
    )  # fmt: skip


def routes(
    file: options.ScenarioFile,
    changes: Annotated[bool, typer.Option("--changes", help="Only updates at which the path changed.")] = False,
    both: Annotated[bool, typer.Option("--both-ways", help="The way back, too.")] = False,
    set_: options.Settings = None,
    leave_out: options.LeaveOut = None,
    json_: options.Json = False,
) -> None:
    """Print the hops, delay, change and nodes of the path between two stations, at each route update."""
    from leowarp import ephemeris as skies
    from leowarp import media
    from leowarp.scenario.schema import Access

    resolved = plan_of(file, options.settings(set_, leave_out=leave_out))
    planned = media.routes_of(resolved, skies.ephemeris_of(resolved))
    # `planned.pairs` has the forward and the return direction of each pair of stations alternately.
    ways = [(planned.nodes[a], planned.nodes[b]) for a, b in planned.pairs][:: 1 if both else 2]
    table = planned.table.to_pylist()
    fibres = skies.fibres(resolved)
    # For a chain, pairs have the names of its routers, but rows have the names of its hosts A and B. Rows of such media
    # are all printed.
    named_alike = resolved.constellation is not None or isinstance(resolved.medium, Access)
    asked = [row for row in table if not named_alike or (row["source"], row["destination"]) in ways]
    rows = [row for row in asked if row["is_change"] or not changes]
    if json_:
        beside = [{**asdict(fibre), "delay_ns": fibre.delay_ns} for fibre in fibres]
        print_json({"summary": planned.summary, "fibres": beside, "warnings": list(planned.warnings), "routes": rows})
        return
    notes("warning", planned.warnings)
    say(f"{resolved.name}: {_scalars(planned.summary)}")
    for fibre in fibres[:MOST_FIBRES]:
        say(f"beside it {fibre.text()}")
    # If there is only one pair of stations, source and destination would be the same in each row, so these columns are
    # left out.
    several = ("source", "destination") if len({(row["source"], row["destination"]) for row in rows}) > 1 else ()
    print_table(
        None,
        ("t_s", *several, "hops", "delay_ms", "was_ms", "path_id", "change", "path"),
        [
            (
                f"{row['t_ns'] / 1e9:g}", *(row[end] for end in several), row["hops"], _ms(row["delay_ns"]),
                _ms(row["old_delay_ns"]), row["path_id"], "yes" if row["is_change"] else "",
                "no path" if row["path"] is None else " ".join(row["path"]),
            )
            for row in rows
        ],
        text=("source", "destination", "path"),
    )  # fmt: skip


def _scalars(summary: dict[str, Any]) -> str:
    """Return the summary of the routes as one line of text.

    >>> _scalars({"updates": 3, "mean_ms": 1.5})
    'updates 3, mean_ms 1.5'
    """
    return ", ".join(
        f"{key} {f'{value:.10g}' if isinstance(value, float) else value}" for key, value in summary.items()
    )


def _ms(nanoseconds: int | None) -> str | None:
    """Return a delay as text, in ms with a resolution of 1 ns.

    >>> _ms(1_234_567)
    '1.234567'
    """
    return None if nanoseconds is None else f"{nanoseconds / 1e6:.6f}"


def plan_of(file: Path, settings: list[str] | None) -> Plan:
    """Return the plan of a scenario, of a plan file or of a run directory, with the texts ``KEY=VALUE`` of `--set`
    applied. A plan that is too large to run is rejected."""
    from leowarp import scenario

    resolved = scenario.plan_of(file, settings or [])
    scenario.check_extent(resolved)
    return resolved


def time_ns(option: str, text: str) -> int:
    """Convert the text of an option to a time in ns. An error message names the option.

    >>> time_ns("--at", "5 s")
    5000000000
    """
    from leowarp.base import units

    try:
        return int(units.TIME.parse(text))
    except ScenarioError as error:
        raise ScenarioError(f"{option}: {error.message}", hint=error.hint) from error
