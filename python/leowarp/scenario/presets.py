# SPDX-License-Identifier: Apache-2.0
"""Constellations by name, each with where its numbers come from.

Values are written as a scenario would write them. The reference page prints this table.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Preset:
    """Keys under a name: of a constellation, or of an access link.

    Attributes
    ----------
    keys : dict
        Keys of the section that it fills, with values as a scenario would write them.
    source : str
        Where the numbers come from, and what is an idealisation; printed by the reference page.
    """

    keys: dict[str, str | int]
    source: str


def _walker(
    pattern: str, planes: int, per_plane: int, altitude: str, inclination: str, phasing: int, source: str
) -> Preset:
    """A preset of the six numbers of a Walker pattern, so that `PRESETS` reads as a table.

    Parameters
    ----------
    altitude, inclination : str
        With units, as in a scenario.
    phasing : int
        Walker's F, 0 to planes - 1.
    """
    keys: dict[str, str | int] = {
        "pattern": pattern,
        "planes": planes,
        "satellites_per_plane": per_plane,
        "altitude": altitude,
        "inclination": inclination,
        "phasing": phasing,
    }
    return Preset(keys, source)


# Arguments: pattern, planes P, satellites a plane S, altitude, inclination, Walker's F, source. F shifts a plane
# against the one before it by 360 F / (P S) deg.
PRESETS = {
    "oneweb-study": _walker(
        "star", 18, 36, "1200 km", "86.4 deg", 0,
        "Frederiksen et al., End-to-End Delivery in LEO Mega-constellations and the Reordering Problem, Table I; "
        "F = 0 from the code of its emulator (rasmussibbern88/satellite_tcp_emulator at 34e333e). 86.4 deg is "
        "Iridium's inclination; OneWeb's is 87.9 deg.",
    ),
    "oneweb": _walker(
        "star", 18, 36, "1200 km", "87.9 deg", 0,
        "OneWeb's original 648 satellites with the inclination as flown (87.90 deg in the TLEs of May 2026). F = 0 is "
        "an idealisation: the flown planes stand 4 km apart in altitude and have no fixed phase to each other.",
    ),
    "oneweb-9x36": _walker(
        "star", 9, 36, "1200 km", "86.4 deg", 0,
        "Frederiksen et al., Table I: the study's constellation with 9 planes.",
    ),
    "iridium": _walker(
        "star", 6, 11, "780 km", "86.4 deg", 3,
        "ns-2, tcl/ex/sat-iridium.tcl: 780 km, 86.4 deg, 6 x 11. Idealised: planes every 30 deg (flown: 31.6 deg, seam "
        "22 deg). F = 3 puts neighbouring planes half a slot apart (360 x 3 / 66 = 16.4 deg).",
    ),
    "tauran-study": _walker(
        "star", 6, 11, "800 km", "86.4 deg", 3,
        "Tauran et al., Impact of Delayed Acknowledgment on TCP performance over LEO satellite constellations: 66 "
        "satellites at 800 km that cover every point. It says no more; assumed is the layout of the one constellation "
        "of 66 satellites that then flew, Iridium (the preset iridium, 780 km), at the study's height.",
    ),
    "starlink-shell1": _walker(
        "delta", 72, 22, "550 km", "53 deg", 39,
        "Starlink's first shell as filed with the FCC (also in Hypatia, StarPerf, Celestial). The filing gives no F; "
        "39 is the estimate of doi:10.1109/ASMS/SPSC55670.2022.9914716. The TLEs of 2022-09-14 show 18 slots a plane "
        "and F = 45.",
    ),
    "kuiper-630": _walker(
        "delta", 34, 34, "630 km", "51.9 deg", 17,
        "Kuiper's 630 km shell as in Hypatia (snkas/hypatia at 0ac531c), which shifts every odd plane by half a slot: "
        "F = 17 puts satellites at the same places (half a slot more from plane to plane, whole slots being alike).",
    ),
    "telesat-1015": _walker(
        "delta", 27, 13, "1015 km", "98.98 deg", 13,
        "Telesat's polar shell (2020 modification) as in Hypatia and StarPerf: planes over 360 deg, odd planes shifted "
        "by half a slot. F = 13 is as near to half a slot as 27 planes allow (13/27).",
    ),
}  # fmt: skip
