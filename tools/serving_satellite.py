# SPDX-License-Identifier: Apache-2.0
"""Compare the satellites that `geometry = "constellation"` selects with the satellites that a Starlink dish really
used.

    python tools/serving_satellite.py FOLDER

FOLDER contains the files of clarkzjw/LEOViz, tests/sample-data (GPL-3.0): orbital elements of one day, the serving
satellite of each second, the dish's position and its pings. The authors of LEOViz inferred the serving satellites from
the dish's map of obstructions. Both the recorded satellites and leowarp's satellites are estimates. The script compares
one choice per slot.
"""

from __future__ import annotations

import argparse
import csv
import re
import tempfile
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from leowarp.ephemeris import EcefMetres, Ephemeris, ephemeris_of
from leowarp.media.access.slots import slots_of
from leowarp.scenario import plan_of
from leowarp.scenario.schema import Access, Plan

SLOT_S = 15
SPEED_OF_LIGHT_M_PER_S = 299_792_458.0

# The recording does not name its gateway. This scenario uses North Bend, Washington, one of the first gateways in
# public filings. The gateway's position is known to about 10 km.
SCENARIO = """name = "serving-satellite"
[run]
duration = "{slots_s} s"
[constellation]
tle = "{tle}"
epoch = "{epoch}"
leave_out = ["decayed"]
[access]
geometry = "constellation"
clock = "{epoch}"
phase = "12 s"
terminal_latitude = "{latitude_deg} deg"
terminal_longitude = "{longitude_deg} deg"
gateway_latitude = "47.48 deg"
gateway_longitude = "-121.76 deg"
pop_latitude = "47.61 deg"
pop_longitude = "-122.33 deg"
[[flows]]
source = "dish"
destination = "server"
kind = "ping"
interval = "1 s"
"""


def one(folder: Path, pattern: str) -> Path:
    """Return the file in `folder` that matches `pattern`."""
    found = sorted(folder.rglob(pattern))
    if not found:
        raise SystemExit(f"{folder} has no {pattern}: fetch tests/sample-data of clarkzjw/LEOViz")
    return found[0]


def seconds_of(path: Path) -> list[tuple[int, dict[str, str]]]:
    """Return the rows of a table. Each row comes with its time in whole seconds since 1970."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    named = "Timestamp" if "Timestamp" in rows[0] else "timestamp"
    return [(round(datetime.fromisoformat(row[named]).timestamp()), row) for row in rows]


def recorded_slots(rows: list[tuple[int, dict[str, str]]]) -> dict[int, str]:
    """Return a dict from the start of each slot to the satellite of this slot. Two satellites in a slot would be an
    error in the recording."""
    named: dict[int, Counter[str]] = {}
    for second, row in rows:
        named.setdefault(second - (second - 12) % SLOT_S, Counter())[row["Connected_Satellite"]] += 1
    for begin_s, names in named.items():
        assert len(names) == 1, f"slot {begin_s}: {names}"
    return {begin_s: names.most_common(1)[0][0] for begin_s, names in named.items()}


def least_rtt_ms(ping: Path, begin_s: int) -> tuple[float, int]:
    """Return the minimum round-trip time in a slot, and the number of round trips in it."""
    found = re.findall(r"^\[(\d+\.\d+)\].*time=([\d.]+) ms", ping.read_text(), re.MULTILINE)
    inside = [float(rtt) for at, rtt in found if begin_s <= float(at) < begin_s + SLOT_S]
    return (min(inside) if inside else float("nan")), len(inside)


def plan_for(tle: Path, where: dict[str, str], begin_s: int, slots: int) -> Plan:
    """Return a plan with the dish at `where`. The plan's clock begins with the first slot."""
    text = SCENARIO.format(
        tle=tle.resolve(), epoch=datetime.fromtimestamp(begin_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        slots_s=slots * SLOT_S, latitude_deg=round(float(where["lat"]), 4), longitude_deg=round(float(where["lon"]), 4),
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "serving.toml"
        scenario.write_text(text, encoding="utf-8")
        return plan_of(scenario)


def range_errors_m(sky: Ephemeris, rows: list[tuple[int, dict[str, str]]], first_s: int) -> list[float]:
    """Return the errors of the distances from the dish to its satellites. An error is leowarp's distance minus the
    recorded distance."""
    errors_m = []
    for second, row in rows:
        here_m = sky.positions_ecef_m(np.array([(second - first_s) * 1_000_000_000]))
        satellite = sky.names.index(row["Connected_Satellite"])
        range_m = sky.stations.slant_ranges_m(0, EcefMetres(here_m[0, [satellite]]))[0]
        errors_m.append(float(range_m) - 1e3 * float(row["Distance"]))
    return errors_m


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    serving = seconds_of(one(options.folder, "serving_satellite_data-*.csv"))
    where = seconds_of(one(options.folder, "processed_obstruction-data-*.csv"))[-1][1]
    ping = one(options.folder, "ping-*.txt")
    recorded = recorded_slots(serving)
    first_s = min(recorded)
    plan = plan_for(one(options.folder, "starlink-tle-*.txt"), where, first_s, len(recorded))
    sky, access = ephemeris_of(plan), plan.medium
    assert sky is not None
    assert isinstance(access, Access)
    errors_m = range_errors_m(sky, serving, first_s)
    most_m = np.abs(errors_m).max()
    print(f"ranges of {len(errors_m)} seconds: {np.median(errors_m):.0f} m median, {most_m:.0f} m at most")
    highest = slots_of(plan, replace(access, scheduler="highest"), sky)
    youngest_of = {name: number for number, name in enumerate(sorted(sky.names, key=_launch))}
    print("| slot | seconds | recorded | seen by dish, by both | highest | youngest | weighted | least RTT, light |")
    print("|---|---:|---|---:|---|---|---:|---|")
    for number, (begin_s, name) in enumerate(sorted(recorded.items())):
        ends_ns = np.array([begin_s - first_s, begin_s - first_s + SLOT_S]) * 1_000_000_000 - np.array([0, 1])
        here_m = EcefMetres(sky.positions_ecef_m(ends_ns))
        dish_deg = sky.stations.elevations_deg(0, here_m)
        both_deg = np.minimum(dish_deg, sky.stations.elevations_deg(1, here_m))
        seen = (dish_deg >= access.min_elevation_deg).all(axis=0)
        by_both = np.flatnonzero((both_deg >= access.min_elevation_deg).all(axis=0))
        satellite = sky.names.index(name)
        rank = 1 + int((dish_deg[0, by_both] > dish_deg[0, satellite]).sum())
        youngest = max((sky.names[each] for each in by_both.tolist()), key=youngest_of.__getitem__)
        over_deg = dish_deg[0, by_both] - access.min_elevation_deg
        share = float(over_deg[by_both == satellite].sum() / over_deg.sum())
        least_ms, probes = least_rtt_ms(ping, begin_s)
        ranges_m = np.array([sky.stations.slant_ranges_m(station, here_m)[:, satellite] for station in (0, 1)])
        light_ms = 2e3 * float(ranges_m.sum(axis=0).min()) / SPEED_OF_LIGHT_M_PER_S
        seconds = sum(second - (second - 12) % SLOT_S == begin_s for second, _ in serving)
        at = datetime.fromtimestamp(begin_s, UTC).strftime("%H:%M:%S")
        assert highest.elevation_deg is not None
        cells = (
            at, seconds, f"{name}, {dish_deg[0, satellite]:.0f} deg, rank {rank}", f"{seen.sum()}, {len(by_both)}",
            f"{highest.names[number]}, {highest.elevation_deg[number]:.0f} deg", youngest,
            f"{100 * share:.1f} % (by chance {100 / len(by_both):.1f} %)",
            f"{least_ms} ms of {probes}, {light_ms:.1f} ms",
        )  # fmt: skip
        print("| " + " | ".join(map(str, cells)) + " |")


def _launch(name: str) -> tuple[int, str]:
    """Return a satellite's number and name. Numbers of Starlink satellites increase from launch to launch, with
    exceptions."""
    digits = re.sub(r"\D", "", name)
    return int(digits or 0), name


if __name__ == "__main__":
    main()
