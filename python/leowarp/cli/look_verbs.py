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
    cc_module: options.CcModules = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Write it to this file.")] = None,
    json_: options.Json = False,
) -> None:
    """The scenario with every default written out: what a run depends on, and a scenario itself."""
    text = _plan(file, options.settings(set_, cc_module)).to_toml()
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


def routes(
    file: options.ScenarioFile,
    changes: Annotated[bool, typer.Option("--changes", help="Only updates at which the path changed.")] = False,
    both: Annotated[bool, typer.Option("--both-ways", help="The way back, too.")] = False,
    set_: options.Settings = None,
    json_: options.Json = False,
) -> None:
    """The path between the stations at each route update: hops, delay, change, nodes."""
    from leowarp import ephemeris as skies
    from leowarp import routes as rooms
    from leowarp.cli.output import print_json, print_table

    resolved = _plan(file, set_)
    found = rooms.routes(resolved, skies.ephemeris(resolved))
    # Ordered pairs come as the way there, then the way back.
    ways = [(found.nodes[a], found.nodes[b]) for a, b in found.pairs][:: 1 if both else 2]
    rows = [row for row in found.table.to_pylist() if _talks(row, ways, resolved) and (row["is_change"] or not changes)]
    if json_:
        print_json({"summary": found.summary, "warnings": list(found.warnings), "routes": rows})
        return
    _notes(found.warnings)
    print(f"{resolved.name}: {_scalars(found.summary)}")
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


def timeline(
    file: options.ScenarioFile,
    events: Annotated[bool, typer.Option("--events", help="Every event, not only how many there are.")] = False,
    from_: Annotated[str, typer.Option("--from", help="Events from this time on.")] = "0 s",
    to: Annotated[str, typer.Option("--to", help="Events before this time; the run's end if not given.")] = "",
    node: Annotated[str, typer.Option("--node", help="Only events that name this node.")] = "",
    set_: options.Settings = None,
    json_: options.Json = False,
) -> None:
    """The events of the emulated network: links, delays, rates, routes."""
    from leowarp import ephemeris as skies
    from leowarp import routes as ways
    from leowarp import timeline as rooms
    from leowarp import units
    from leowarp.cli.output import print_json, print_table

    resolved = _plan(file, set_)
    sky = skies.ephemeris(resolved)
    table = rooms.timeline(resolved, sky, ways.routes(resolved, sky))
    begin_ns = _parsed(units.TIME, "--from", from_)
    end_ns = _parsed(units.TIME, "--to", to) if to else resolved.run.duration_ns + 1
    rows = [
        {key: value for key, value in row.items() if value is not None}
        for row in table.to_pylist()
        if begin_ns <= row["t_ns"] < end_ns and (not node or node in row.values())
    ]
    if json_:
        print_json({**rooms.describe(table), **({"events": rows} if events else {})})
    elif events:
        print_table(
            f"{resolved.name}: {len(rows)} events",
            ("t_s", "event", "what"),
            [(f"{row['t_ns'] / 1e9:.9f}", row["event"], _event(row)) for row in rows],
            text=("event", "what"),
        )
    else:
        described = [(key, value) for key, value in rooms.describe(table).items() if not isinstance(value, dict)]
        counts = [
            (f"{key}: {kind}", n)
            for key, part in rooms.describe(table).items()
            if isinstance(part, dict)
            for kind, n in part.items()
        ]
        print_table(resolved.name, ("quantity", "value"), [*counts, *described])
        if resolved.access is not None:
            _print_slots(rooms.slots_of_timeline(table), begin_ns, end_ns)


def _print_slots(slots: list[dict[str, Any]], begin_ns: float, end_ns: float) -> None:
    """What was drawn for each slot of an access link that begins in the given time, or holds at its beginning."""
    from leowarp.cli.output import print_table

    held = max((slot["begin_ns"] for slot in slots if slot["begin_ns"] <= begin_ns), default=begin_ns)
    print_table(
        "what was drawn for each slot",
        ("slot", "begin_s", "satellite", "elevation_deg", "base_ms", "handover_ms", "spike_ms", "outages", "outage_ms",
         "down_mbps", "up_mbps"),
        [
            (
                slot["slot"], f"{slot['begin_ns'] / 1e9:g}", slot["satellite"],
                None if slot["elevation_deg"] is None else f"{slot['elevation_deg']:.1f}",
                f"{slot['base_ns'] / 1e6:.3f}", f"{slot['handover_ns'] / 1e6:.1f}",
                None if slot["spike_ns"] is None else f"{slot['spike_ns'] / 1e6:.1f}", slot["outages"],
                f"{slot['outage_ns'] / 1e6:.1f}", f"{slot['capacity_bps'] / 1e6:.1f}",
                f"{slot['capacity_up_bps'] / 1e6:.1f}",
            )
            for slot in slots
            if held <= slot["begin_ns"] < end_ns
        ],
        text=("satellite",),
    )  # fmt: skip


def _talks(row: dict[str, Any], ways: list[tuple[str, str]], plan: Plan) -> bool:
    # The pairs of a chain are named by their routers, the rows by its hosts A and B.
    named_alike = plan.constellation is not None or plan.access is not None
    return not named_alike or (row["source"], row["destination"]) in ways


def _event(row: dict[str, Any]) -> str:
    ends = f"{row['a']} > {row['b']}" if "a" in row and "b" in row else row.get("a", row.get("node", ""))
    rest = [f"{key}={value}" for key, value in row.items() if key not in ("t_ns", "event", "a", "b", "node")]
    return " ".join([ends, *rest])


def _scalars(summary: dict[str, Any]) -> str:
    return ", ".join(
        f"{key} {f'{value:.10g}' if isinstance(value, float) else value}" for key, value in summary.items()
    )


def _ms(nanoseconds: int | None) -> str | None:
    return None if nanoseconds is None else f"{nanoseconds / 1e6:.6f}"


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
