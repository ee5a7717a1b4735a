# SPDX-License-Identifier: Apache-2.0
"""The constellations that a scenario can name, each with the source of its numbers.

Values are written as in a scenario. The reference page of the scenario keys prints the table of presets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Shell = Mapping[str, str | int]
"""The keys of a Walker pattern, with values as in a scenario."""


@dataclass(frozen=True)
class Preset:
    """The values of a constellation's or an access link's keys, under one name.

    keys: The keys of the section, with the values that the preset gives them, written as in a scenario.
    source: A text for the reference page. It names the source of the numbers, and says what was idealised.
    """

    keys: Mapping[str, str | int | Sequence[Shell]]
    source: str

    @property
    def shells(self) -> Sequence[Mapping[str, object]]:
        """The Walker patterns of a constellation. There is at least one."""
        shells = self.keys.get("shells", (self.keys,))
        assert not isinstance(shells, str | int), "a preset's shells are a list"
        return shells


def _shell(
    pattern: str, planes: int, per_plane: int, altitude: str, inclination: str, phasing: int, node_offset: str = "0 deg"
) -> dict[str, str | int]:
    """Return the keys of a Walker pattern with their values.

    altitude, inclination, node_offset: The values with units, as in a scenario.
    phasing: Walker's F, 0 to planes - 1.
    """
    return {
        "pattern": pattern,
        "planes": planes,
        "satellites_per_plane": per_plane,
        "altitude": altitude,
        "inclination": inclination,
        "phasing": phasing,
        "node_offset": node_offset,
    }


# The arguments of `_shell` are pattern, planes P, satellites per plane S, altitude, inclination and Walker's F. F
# shifts each plane by 360 F / (P S) deg relative to the previous plane.
PRESETS = {
    "oneweb-study": Preset(
        _shell("star", 18, 36, "1200 km", "86.4 deg", 0),
        "Frederiksen et al., End-to-End Delivery in LEO Mega-constellations and the Reordering Problem, Table I; "
        "F = 0 from the code of its emulator (rasmussibbern88/satellite_tcp_emulator at 34e333e). 86.4 deg is "
        "Iridium's inclination; OneWeb's is 87.9 deg.",
    ),
    "oneweb": Preset(
        _shell("star", 18, 36, "1200 km", "87.9 deg", 0),
        "OneWeb's original 648 satellites with the inclination as flown (87.90 deg in the TLEs of May 2026). F = 0 is "
        "an idealisation: the flown planes stand 4 km apart in altitude and have no fixed phase to each other.",
    ),
    "oneweb-9x36": Preset(
        _shell("star", 9, 36, "1200 km", "86.4 deg", 0),
        "Frederiksen et al., Table I: the study's constellation with 9 planes.",
    ),
    "iridium": Preset(
        _shell("star", 6, 11, "780 km", "86.4 deg", 3),
        "ns-2, tcl/ex/sat-iridium.tcl: 780 km, 86.4 deg, 6 x 11. Idealised: planes every 30 deg (flown: 31.6 deg, seam "
        "22 deg). F = 3 puts neighbouring planes half a slot apart (360 x 3 / 66 = 16.4 deg).",
    ),
    "tauran-study": Preset(
        _shell("star", 6, 11, "800 km", "86.4 deg", 3),
        "Tauran et al., Impact of Delayed Acknowledgment on TCP performance over LEO satellite constellations: 66 "
        "satellites at 800 km that cover every point. It says no more; assumed is the layout of the one constellation "
        "of 66 satellites that then flew, Iridium (the preset iridium, 780 km), at the study's height.",
    ),
    "starlink-shell1": Preset(
        _shell("delta", 72, 22, "550 km", "53 deg", 39),
        "Starlink's first shell as filed with the FCC (also in Hypatia, StarPerf, Celestial). The filing gives no F; "
        "39 is the estimate of doi:10.1109/ASMS/SPSC55670.2022.9914716. The TLEs of 2022-09-14 show 18 slots a plane "
        "and F = 45.",
    ),
    "kuiper-630": Preset(
        _shell("delta", 34, 34, "630 km", "51.9 deg", 17),
        "Kuiper's 630 km shell as in Hypatia (snkas/hypatia at 0ac531c), which shifts every odd plane by half a slot: "
        "F = 17 puts satellites at the same places (half a slot more from plane to plane, whole slots being alike).",
    ),
    "telesat-1015": Preset(
        _shell("delta", 27, 13, "1015 km", "98.98 deg", 13),
        "Telesat's polar shell (2020 modification) as in Hypatia and StarPerf: planes over 360 deg, odd planes shifted "
        "by half a slot. F = 13 is as near to half a slot as 27 planes allow (13/27).",
    ),
    "starlink-gen1": Preset(
        {"shells": [
            _shell("delta", 72, 22, "550 km", "53 deg", 39),
            _shell("delta", 72, 22, "540 km", "53.2 deg", 39),
            _shell("delta", 36, 20, "570 km", "70 deg", 18),
            _shell("delta", 6, 58, "560 km", "97.6 deg", 3),
            _shell("delta", 4, 43, "560 km", "97.6 deg", 2, "15 deg"),
        ]},
        "Starlink's first generation, 4408 satellites in five shells, as authorised in FCC 21-48 (April 2021; planes "
        "also in Celestial). It gives no F: 39 is the estimate for the first shell (see starlink-shell1), taken for "
        "the second too; of the others every odd plane is shifted by half a slot, as Hypatia does. The last shell's "
        "nodes are turned by 15 deg, so that no plane of it is one of the shell before, at the same height and "
        "inclination.",
    ),
    "kuiper": Preset(
        {"shells": [
            _shell("delta", 34, 34, "630 km", "51.9 deg", 17),
            _shell("delta", 36, 36, "610 km", "42 deg", 18),
            _shell("delta", 28, 28, "590 km", "33 deg", 14),
        ]},
        "Kuiper, 3236 satellites in three shells, as authorised in FCC 20-102 (July 2020; also in Hypatia and "
        "StarPerf). F as Hypatia has it: every odd plane is shifted by half a slot.",
    ),
    "telesat": Preset(
        {"shells": [
            _shell("delta", 27, 13, "1015 km", "98.98 deg", 13),
            _shell("delta", 40, 33, "1325 km", "50.88 deg", 20),
        ]},
        "Telesat, 1671 satellites in two shells (2020 modification, as in Hypatia and StarPerf): planes over 360 deg, "
        "every odd plane shifted by half a slot (of 27 planes as near as they allow, 13/27).",
    ),
    "oneweb-phase2": Preset(
        {"shells": [
            _shell("star", 36, 49, "1200 km", "87.9 deg", 0),
            _shell("delta", 32, 72, "1200 km", "40 deg", 16),
            _shell("delta", 32, 72, "1200 km", "55 deg", 16),
        ]},
        "OneWeb's second phase, 6372 satellites in three shells as amended in January 2021 (planes as in Celestial). "
        "No F is known: 0 of the polar shell as of the preset oneweb, half a slot from plane to plane of the inclined "
        "ones.",
    ),
}  # fmt: skip
