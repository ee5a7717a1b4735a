# SPDX-License-Identifier: Apache-2.0
"""The known places, by name. Latitude and longitude are in degrees, and north and east are positive.

Madrid, Tokyo, Aalborg and Cape Town are the ground stations of Frederiksen et al. Madrid and Tokyo are copied from its
emulator (rasmussibbern88/satellite_tcp_emulator at 34e333e). The other places are city centres, rounded to 0.01 deg
(about a kilometre). The rounding changes a path's delay by less than 4 us.

Values are texts with a unit, as a scenario would write them. To add a place, add a line here, in alphabetical order
after the first four, and run `make docs`.
"""

# Coordinates are texts. The parser that checks a user's coordinates thus checks these coordinates too.
PLACES: dict[str, tuple[str, str]] = {
    "Madrid": ("40.228732 deg", "-4.010844 deg"),
    "Tokyo": ("35.678892 deg", "139.768596 deg"),
    "Aalborg": ("57.048 deg", "9.919 deg"),
    "Cape Town": ("-33.925 deg", "18.424 deg"),
    "Amsterdam": ("52.37 deg", "4.9 deg"),
    "Anchorage": ("61.22 deg", "-149.9 deg"),
    "Athens": ("37.98 deg", "23.73 deg"),
    "Auckland": ("-36.85 deg", "174.76 deg"),
    "Bangalore": ("12.97 deg", "77.59 deg"),
    "Beijing": ("39.9 deg", "116.4 deg"),
    "Berlin": ("52.52 deg", "13.4 deg"),
    "Bogota": ("4.71 deg", "-74.07 deg"),
    "Buenos Aires": ("-34.6 deg", "-58.38 deg"),
    "Cairo": ("30.04 deg", "31.24 deg"),
    "Chicago": ("41.88 deg", "-87.63 deg"),
    "Copenhagen": ("55.68 deg", "12.57 deg"),
    "Dalian": ("38.91 deg", "121.6 deg"),
    "Dubai": ("25.2 deg", "55.27 deg"),
    "Frankfurt": ("50.11 deg", "8.68 deg"),
    "Honolulu": ("21.31 deg", "-157.86 deg"),
    "Istanbul": ("41.01 deg", "28.98 deg"),
    "Jakarta": ("-6.21 deg", "106.85 deg"),
    "Johannesburg": ("-26.2 deg", "28.05 deg"),
    "Lagos": ("6.52 deg", "3.38 deg"),
    "Lima": ("-12.05 deg", "-77.04 deg"),
    "London": ("51.51 deg", "-0.13 deg"),
    "Los Angeles": ("34.05 deg", "-118.24 deg"),
    "Manila": ("14.6 deg", "120.98 deg"),
    "Mexico City": ("19.43 deg", "-99.13 deg"),
    "Mumbai": ("19.08 deg", "72.88 deg"),
    "Nairobi": ("-1.29 deg", "36.82 deg"),
    "New York": ("40.71 deg", "-74.01 deg"),
    "Oslo": ("59.91 deg", "10.75 deg"),
    "Paris": ("48.86 deg", "2.35 deg"),
    "Perth": ("-31.95 deg", "115.86 deg"),
    "Reykjavik": ("64.15 deg", "-21.94 deg"),
    "San Francisco": ("37.77 deg", "-122.42 deg"),
    "Santiago": ("-33.45 deg", "-70.67 deg"),
    "Sao Paulo": ("-23.55 deg", "-46.63 deg"),
    "Seattle": ("47.61 deg", "-122.33 deg"),
    "Seoul": ("37.57 deg", "126.98 deg"),
    "Shanghai": ("31.23 deg", "121.47 deg"),
    "Singapore": ("1.35 deg", "103.82 deg"),
    "St Petersburg": ("59.93 deg", "30.34 deg"),
    "Svalbard": ("78.22 deg", "15.65 deg"),
    "Sydney": ("-33.87 deg", "151.21 deg"),
    "Toulouse": ("43.6 deg", "1.44 deg"),
    "Vancouver": ("49.28 deg", "-123.12 deg"),
}
