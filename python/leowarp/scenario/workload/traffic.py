# SPDX-License-Identifier: Apache-2.0
"""The section `[traffic]`: many short TCP flows between cities. A plan contains each of these flows as an ordinary
flow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from leowarp.base import units
from leowarp.base.spelling import one_of
from leowarp.scenario.names.cities import CITIES, COORDINATES
from leowarp.scenario.network.links import Station
from leowarp.scenario.text.decoding import Draft, Node, Section, decode_section
from leowarp.scenario.text.key import InputFile, count, file, keys, names, quantity, table, time, word
from leowarp.scenario.text.problems import Problems

_ONLY_OF = {
    "mean_size": ("lognormal", "pareto", "fixed"),
    "median_size": ("lognormal",),
    "smallest_size": ("pareto",),
    "size_file": ("file",),
}
"""For each key of `[traffic]` that only some size distributions have, these distributions."""


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """The TCP flows that arrive at random between cities. The plan lists each flow under `[[flows]]`.

    In the plan, these flows come after the flows that the scenario gives under ``[[flows]]``. A plan does not contain
    ``[traffic]``. To change the seed or a key of ``[traffic]``, edit the scenario instead of the plan. Each city
    becomes a station, unless the text already has a station with the city's name.

    distance_exponent: The number of flows from city i to j is proportional to P_i P_j / d_ij^exponent, with populations
        P and distance d.
    """

    cities: tuple[str, ...] = names("Names of the cities between which flows run.")
    largest: int | None = count(
        "Number of most populous cities; replaces `cities`.", "none", 2, len(CITIES), none="none"
    )
    distance_exponent: int = count(
        "Gravity model: the share of a pair is the product of its populations divided by the distance to this power.",
        0,
        0,
        4,
    )
    arrival_rate_flows_per_s: float = quantity(
        units.FLOW_RATE, "Flows that arrive per second, over all pairs together (Poisson).", low="0.001 flows/s",
        high="1000000 flows/s", required=True,
    )  # fmt: skip
    start_ns: int = time("When the first may arrive.", "0 s", "30 d")
    stop_ns: int | None = quantity(units.TIME, "When no more arrive.", "end", low="1 ms", high="30 d", none="end")
    sizes: str = word(
        "Distribution of the flows' sizes; `file`: each size is sampled from a list.",
        ("lognormal", "pareto", "fixed", "file"),
        "lognormal",
    )
    mean_size_bytes: int = quantity(units.BYTES, "Mean size.", "100 kB", low="1 B", high="1000 GB")
    # mean size = median exp(sigma^2 / 2), with sigma the standard deviation of the logarithm
    median_size_bytes: int = quantity(
        units.BYTES, "lognormal: median, below the mean; sigma follows from both.", "20 kB", low="1 B",
        high="1000 GB",
    )  # fmt: skip
    # mean size = smallest a / (a - 1), with the exponent a
    smallest_size_bytes: int = quantity(
        units.BYTES, "pareto: smallest size, below the mean; the exponent follows from both.", "20 kB", low="1 B",
        high="1000 GB",
    )  # fmt: skip
    size_file: InputFile | None = file(  # noqa: RUF009
        "file: a text file of sizes in bytes, one whole number per line."
    )
    congestion_controls: Mapping[str, int] = table(
        "Congestion controls with their weights, for instance `{ cubic = 3, bbr = 1 }`; none: only cubic."
    )


def complete_traffic(draft: Draft, problems: Problems) -> None:
    """Check ``[traffic]`` and add its cities to the stations. The medium must be a constellation."""
    section = draft.sections["traffic"]
    _complete_cities(section, problems)
    _check_sizes(section, problems)
    _check_mix(section, problems)
    there = {station.values.get("name") for station in draft.stations}
    for name in section.values.get("cities", ()):
        if name in COORDINATES and name not in there:
            # Cities are added as if the text contained them, so that they are checked like every other station.
            written = dict(zip(("latitude", "longitude"), COORDINATES[name], strict=True))
            nodes = {key: Node(text, section.origin) for key, text in {"name": name, **written}.items()}
            place = f"stations.{len(draft.stations)}"
            draft.stations.append(decode_section(place, Station, Node(nodes, section.origin), problems))


def _complete_cities(section: Section, problems: Problems) -> None:
    """Check that there are at least two known cities. They are named in the text, or are the `largest` ones."""
    cities, largest = section.values.get("cities", ()), section.values.get("largest")
    if section.gave("cities") == (largest is not None):
        rule = "are given, and largest too" if largest is not None else "are missing"
        section.refuse(problems, "cities", rule, 'write either cities = ["Tokyo", "Delhi"] or largest = 20')
        return
    if largest is not None:
        section.values["cities"] = tuple(list(CITIES)[:largest])
        return
    for name in cities:
        if name not in CITIES:
            section.refuse(problems, "cities", f'"{name}" is not in the list of cities', one_of(name, CITIES, "known:"))
    if len(set(cities)) < max(2, len(cities)):
        rule = f"{', '.join(cities) or 'none'}: flows need two cities at least, each named once"
        section.refuse(problems, "cities", rule)


def _check_sizes(section: Section, problems: Problems) -> None:
    """Report each given key that the chosen distribution of flow sizes does not use. Check that the chosen distribution
    can have the given mean."""
    sizes = section.value("sizes")
    for key, kinds in _ONLY_OF.items():
        if section.gave(key) and sizes not in kinds and section.values.get(keys(Traffic)[key][0]) is not None:
            rule = f"is a key of sizes = {' and '.join(kinds)}, and sizes is {sizes}"
            section.refuse(problems, key, rule, "take it out")
    if sizes == "file" and section.values.get("size_file") is None and "size_file" not in section.nodes:
        problems.add(section.where("sizes"), "traffic.size_file", "is missing", 'write size_file = "sizes.txt"')
    low = {"lognormal": "median_size", "pareto": "smallest_size"}.get(sizes)
    if low is not None:
        least_bytes, mean_bytes = (section.value(f"{key}_bytes") for key in (low, "mean_size"))
        if least_bytes >= mean_bytes:
            rule = f'"{units.BYTES.format(least_bytes)}" is not below mean_size ("{units.BYTES.format(mean_bytes)}")'
            section.refuse(problems, low, rule, f"a {sizes} distribution has a larger mean")


def _check_mix(section: Section, problems: Problems) -> None:
    for name, weight in section.values.get("congestion_controls", {}).items():
        if isinstance(weight, bool) or not isinstance(weight, int) or not 1 <= weight <= 10**6:
            rule = f"{weight!r:.40} is not a weight, a whole number from 1 to 1000000"
            where = section.where("congestion_controls")
            problems.add(where, f"traffic.congestion_controls.{name}", rule, "write { cubic = 3, bbr = 1 }")
