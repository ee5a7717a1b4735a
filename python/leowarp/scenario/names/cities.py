# SPDX-License-Identifier: Apache-2.0
"""The large cities with the population of their urban agglomerations in 2018, for traffic between them.

Populations: United Nations, Department of Economic and Social Affairs, Population Division, World Urbanization
Prospects: The 2018 Revision (estimates of 2018, licence CC BY 3.0 IGO), rounded to 100,000. Most of the largest cities
are in the table, but cities of any size may be missing. The coordinates are those of city centres, rounded to 0.01 deg.
The gazetteer holds the coordinates of the cities that it contains.
"""

from __future__ import annotations

from leowarp.scenario.names.gazetteer import PLACES

# Name, population in units of 100,000, and latitude and longitude in deg (None: the gazetteer has them).
_TABLE: tuple[tuple[str, int, float | None, float | None], ...] = (
    ("Tokyo", 375, None, None),
    ("Delhi", 285, 28.61, 77.21),
    ("Shanghai", 256, None, None),
    ("Sao Paulo", 217, None, None),
    ("Mexico City", 216, None, None),
    ("Cairo", 201, None, None),
    ("Mumbai", 200, None, None),
    ("Beijing", 196, None, None),
    ("Dhaka", 196, 23.81, 90.41),
    ("Osaka", 193, 34.69, 135.50),
    ("New York", 188, None, None),
    ("Karachi", 154, 24.86, 67.01),
    ("Buenos Aires", 150, None, None),
    ("Chongqing", 148, 29.56, 106.55),
    ("Istanbul", 148, None, None),
    ("Kolkata", 147, 22.57, 88.36),
    ("Manila", 135, None, None),
    ("Lagos", 135, None, None),
    ("Rio de Janeiro", 133, -22.91, -43.17),
    ("Tianjin", 132, 39.13, 117.20),
    ("Kinshasa", 132, -4.32, 15.31),
    ("Guangzhou", 126, 23.13, 113.26),
    ("Los Angeles", 125, None, None),
    ("Moscow", 124, 55.76, 37.62),
    ("Shenzhen", 119, 22.54, 114.06),
    ("Lahore", 117, 31.55, 74.34),
    ("Bangalore", 114, None, None),
    ("Paris", 109, None, None),
    ("Bogota", 106, None, None),
    ("Jakarta", 105, None, None),
    ("Chennai", 105, 13.08, 80.27),
    ("Lima", 104, None, None),
    ("Bangkok", 102, 13.76, 100.50),
    ("Seoul", 100, None, None),
    ("Nagoya", 95, 35.18, 136.91),
    ("Hyderabad", 95, 17.39, 78.49),
    ("London", 90, None, None),
    ("Tehran", 89, 35.69, 51.39),
    ("Chicago", 89, None, None),
    ("Ho Chi Minh City", 81, 10.82, 106.63),
    ("Luanda", 78, -8.84, 13.23),
    ("Kuala Lumpur", 76, 3.14, 101.69),
    ("Hong Kong", 74, 22.32, 114.17),
    ("Riyadh", 69, 24.71, 46.68),
    ("Baghdad", 68, 33.31, 44.36),
    ("Santiago", 67, None, None),
    ("Madrid", 65, None, None),
    ("Toronto", 61, 43.65, -79.38),
    ("Singapore", 58, None, None),
    ("Johannesburg", 55, None, None),
    ("St Petersburg", 54, None, None),
    ("Sydney", 48, None, None),
    ("Nairobi", 44, None, None),
    ("Cape Town", 44, None, None),
    ("Berlin", 36, None, None),
)

CITIES: dict[str, int] = {name: people * 100_000 for name, people, _, _ in _TABLE}
"""A dict from city to population, largest first. Cities of the same population are in the order of the table above."""

COORDINATES: dict[str, tuple[str, str]] = {
    name: PLACES[name] if latitude is None else (f"{latitude} deg", f"{longitude} deg")
    for name, _, latitude, longitude in _TABLE
}
"""The latitude and longitude of each city, as a scenario would write them."""
