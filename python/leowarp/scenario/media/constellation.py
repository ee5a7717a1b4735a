# SPDX-License-Identifier: Apache-2.0
"""The section `[constellation]`: the positions of the satellites.

The satellites form a Walker pattern (J. G. Walker, Satellite constellations, J. Brit. Interplanet. Soc. 37, 1984),
described by the Walker keys. Alternatives are several patterns (shells), or a file of orbital elements for SGP4. A
scenario gives one of these three: Walker keys, shells, or a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from leowarp.base import units
from leowarp.base.spelling import one_of
from leowarp.scenario.media.medium_section import Idle, MediumSection
from leowarp.scenario.names.presets import PRESETS
from leowarp.scenario.network.links import Station
from leowarp.scenario.text.decoding import Section
from leowarp.scenario.text.key import InputFile, count, file, instant, keys, names, quantity, tables, text, word
from leowarp.scenario.text.problems import Problems

SHAPE_KEYS = ("pattern", "planes", "satellites_per_plane", "altitude", "inclination", "phasing", "node_offset")
"""The keys that describe a shell. If a constellation has several shells, these keys are in each shell's table."""

ELEMENT_KEYS = ("leave_out", "element_sets")
"""The keys that have no effect without a file of orbital elements."""

WALKER_KEYS = ("preset", *SHAPE_KEYS, "mu", "earth_rotation")
"""These keys have no effect if the satellites come from a file of orbital elements."""


@dataclass(frozen=True, kw_only=True)
class Shell:
    """A shell of a constellation: a Walker pattern with its own altitude and inclination.

    Satellites of the first shell are called ``s-1-PP-SS``, of the second ``s-2-PP-SS``. Shells are numbered in the
    order of the text.
    """

    pattern: str = word(
        "Range over which the ascending nodes are spread: 180 deg (star) or 360 deg (delta).",
        ("star", "delta"),
        "delta",
    )
    planes: int = count("Number of orbital planes.", None, 1, 1000, required=True)
    satellites_per_plane: int = count("Number of satellites in each plane.", None, 1, 1000, required=True)
    altitude_m: float = quantity(
        units.LENGTH, "Altitude of the circular orbits above `earth_radius`.", low="100 km", high="50000 km",
        required=True,
    )  # fmt: skip
    inclination_deg: float = quantity(
        units.ANGLE, "Inclination of every plane.", low="0 deg", high="180 deg", required=True
    )
    phasing: int = count("Walker's phasing factor F of this shell.", 0, 0, 10**6)
    node_offset_deg: float = quantity(
        units.ANGLE, "Right ascension of plane 0's ascending node.", "0 deg", low="-360 deg", high="360 deg"
    )

    @property
    def satellites(self) -> int:
        """The number of satellites in the shell."""
        return self.planes * self.satellites_per_plane


@dataclass(frozen=True, kw_only=True)
class Constellation(MediumSection):
    """The keys that define the satellites' positions. The satellites form one Walker pattern, form several patterns
    (`shells`), or come from a file of orbital elements.

    shells: The Walker patterns, if there are several. In this case, the fields `pattern` to `node_offset_deg` are None.
        The tuple is empty for a single pattern, or for a file of elements.
    epoch: The UTC at clock 0, in ISO 8601 with a final Z.
    earth_radius_m, mu_m3_per_s2, earth_rotation_rad_per_s: The radius, gravitational parameter and rotation of the
        Earth. They determine period and ground track of the Walker orbits.
    greenwich_deg: The right ascension of Greenwich at clock 0. None means the sidereal time at `epoch`.
    """

    NAME: ClassVar = "constellation"
    STATIONS: ClassVar = None
    GOVERNS: ClassVar = {
        "preset": (*SHAPE_KEYS, "shells", "tle", "tle_sha256", *ELEMENT_KEYS),
        "tle": (*SHAPE_KEYS, "shells", "preset", "mu", "earth_rotation", "greenwich", "tle_sha256"),
        "shells": (*SHAPE_KEYS, "preset", "tle", "tle_sha256", *ELEMENT_KEYS),
    }

    preset: str | None = text("Name of a built-in constellation; fills the keys below, each can be overridden.", "none")
    pattern: str | None = word(
        "Range over which the ascending nodes are spread: 180 deg (star) or 360 deg (delta).", ("star", "delta"), None
    )
    planes: int | None = count("Number of orbital planes.", None, 1, 1000)
    satellites_per_plane: int | None = count("Number of satellites in each plane.", None, 1, 1000)
    altitude_m: float | None = quantity(
        units.LENGTH, "Altitude of the circular orbits above `earth_radius`.", None, low="100 km", high="50000 km"
    )
    inclination_deg: float | None = quantity(
        units.ANGLE, "Inclination of every plane.", None, low="0 deg", high="180 deg"
    )
    # Walker's F, as in his notation T/P/F: the shift from plane to plane in units of 360 deg / T.
    phasing: int | None = count(
        "Walker's phasing factor F: satellite s of plane p starts at argument of latitude 360 s/S + 360 F p/(P S) deg.",
        0,
        0,
        10**6,
    )
    node_offset_deg: float | None = quantity(
        units.ANGLE, "Right ascension of plane 0's ascending node.", "0 deg", low="-360 deg", high="360 deg"
    )
    shells: tuple[Shell, ...] = tables(
        "Several shells, which replace the six keys above: one `[[constellation.shells]]` per shell, with the keys of "
        "its own table.",
        Shell,
    )
    tle: InputFile | None = file(  # noqa: RUF009
        "A TLE, 3LE or OMM file, which replaces the Walker keys; SGP4 propagates it."
    )
    leave_out: tuple[str, ...] = names(
        "Satellites of `tle` that the run leaves out, by name or catalogue number. `decayed`: all satellites without "
        "an orbit during the run; without this word, such satellites are an error."
    )
    element_sets: str = word(
        "Treatment of several element sets of one satellite in `tle`: error, or nearest: the run uses the set nearest "
        "to its start.",
        ("refuse", "nearest epoch"),
        "refuse",
    )
    epoch: str = instant(
        "Instant (UTC) at which the constellation's clock is 0; required with `tle`.", "2000-01-01T00:00:00Z"
    )
    earth: str = word(
        "Surface on which stations stand: a sphere of `earth_radius`, or the WGS84 ellipsoid (default with `tle`).",
        ("sphere", "wgs84"),
        "sphere",
    )
    # The default is the equatorial radius of WGS84.
    earth_radius_m: float = quantity(
        units.LENGTH,
        "Radius of the sphere; altitudes are measured from its surface.",
        "6378.137 km",
        low="6000 km",
        high="7000 km",
    )
    mu_m3_per_s2: float = quantity(
        units.GRAVITY, "The Earth's gravitational parameter; it sets the orbital period.", "398600.4418 km3/s2",
        low="300000 km3/s2", high="500000 km3/s2",
    )  # fmt: skip
    # The rate is relative to inertial space: 2 pi in a sidereal day of 86,164.09 s.
    earth_rotation_rad_per_s: float = quantity(
        units.ANGULAR_RATE, "How fast the Earth turns.", "7.2921158553e-5 rad/s", low="-1 rad/s", high="1 rad/s"
    )
    greenwich_deg: float | None = quantity(
        units.ANGLE,
        'Angle of Greenwich from the vernal equinox when the constellation\'s clock is 0. "gmst": sidereal time at '
        "`epoch` (always so with `tle`).",
        "0 deg",
        low="-360 deg",
        high="360 deg",
        none="gmst",
    )

    @property
    def patterns(self) -> tuple[Shell, ...]:
        """The Walker patterns. The patterns are the shells, or the single pattern that the constellation's own keys
        describe. With a file of elements, there are no Walker patterns.

        Raises ValueError if there are no shells and no file, and a Walker key is None. This happens only before a plan
        is resolved.
        """
        if self.shells or self.tle is not None:
            return self.shells
        values = {attribute: getattr(self, attribute) for attribute, _ in keys(Shell).values()}
        missing = [attribute for attribute, value in values.items() if value is None]
        if missing:
            raise ValueError(f"constellation lacks {', '.join(missing)}: not a resolved plan")
        return (Shell(**values),)

    @classmethod
    def idle(cls, *, follows: bool) -> Idle:
        return {}

    @classmethod
    def complete(cls, section: Section, problems: Problems) -> None:
        """Fill in the preset, and check the Walker keys. Without a preset, all Walker keys must be present. With a file
        of orbital elements, no Walker key may be present."""
        preset = section.values.get("preset")
        if preset is not None and preset not in PRESETS:
            rule = f'there is no constellation "{preset}"'
            section.refuse(problems, "preset", rule, one_of(preset, PRESETS, "known:"))
        # With a file of elements, the preset's numbers have no effect.
        if section.values.get("tle") is not None:
            _complete_elements(section, problems)
            return
        known = keys(Constellation)
        if preset in PRESETS:
            section.fill_in(PRESETS[preset].keys)
        for key in ("tle_sha256", *ELEMENT_KEYS):
            if section.gave(key):
                section.refuse(problems, key, "has no effect without tle", "take it out")
        # A wrong list of shells has been reported already; the Walker keys, which the shells replace, are then not
        # reported as missing.
        if section.values.get("shells") or (section.gave("shells") and "shells" not in section.values):
            _complete_shells(section, problems)
            return
        for key in ("pattern", "planes", "satellites_per_plane", "altitude", "inclination"):
            # An unknown preset, or a preset that is not text, has already been reported. After the report about the
            # preset, messages about five missing keys would only distract the user.
            wrong_preset = section.gave("preset") and (preset is not None or "preset" not in section.values)
            if known[key][0] not in section.values and not section.gave(key) and not wrong_preset:
                hint = f"write it, or preset = one of: {', '.join(PRESETS)}"
                problems.add(section.origin, f"constellation.{key}", "is missing", hint)
        planes, phasing = section.values.get("planes"), section.values.get("phasing", 0)
        # Walker's F and F + P give the same positions. The positions are equal, because P times 360 / T deg is the
        # distance between two satellites of a plane.
        if planes is not None and phasing >= planes:
            rule = f"{phasing} is not below the number of planes ({planes}), as Walker's F is"
            section.refuse(problems, "phasing", rule, f"allowed: 0 to {planes - 1}")


@dataclass(frozen=True, kw_only=True)
class FollowsConstellation(MediumSection):
    """The base class of media that can take their delays from moving satellites.

    FOLLOWS: A key of the medium, and a preset. If this key has the value "constellation", the medium follows a
        constellation. Hints propose this preset.
    constellation: The section ``[constellation]`` of the scenario. It is not a key of the medium's section. None means
        that the medium does not follow a constellation.
    """

    FOLLOWS: ClassVar[tuple[str, str]]
    # These media always use leolink, because only leolink supports tables of delays and capacities.
    IDLE_NETWORK: ClassVar = ("instantiate", "endpoints", "link_model", "delay_rounding", "queue_counts")

    constellation: Constellation | None = None

    def place(self, key: str, name: str) -> Station:
        """Return a station at height 0 m, with the coordinates of the keys ``KEY_latitude`` and ``KEY_longitude``."""
        latitude_deg, longitude_deg = (getattr(self, f"{key}_{angle}_deg") for angle in ("latitude", "longitude"))
        return Station(name=name, latitude_deg=latitude_deg, longitude_deg=longitude_deg, height_m=0.0)


def _complete_shells(section: Section, problems: Problems) -> None:
    for key in SHAPE_KEYS:
        if section.gave(key):
            rule = "has no effect: each of [[constellation.shells]] has one of its own"
            section.refuse(problems, key, rule, f"write constellation.shells.0.{key}, or a preset of one shell")
        section.values[keys(Constellation)[key][0]] = None
    for number, shell in enumerate(section.values.get("shells", ())):
        if shell.phasing >= shell.planes:
            rule = f"{shell.phasing} is not below the number of planes ({shell.planes}), as Walker's F is"
            name = f"constellation.shells.{number}.phasing"
            problems.add(section.where("shells"), name, rule, f"allowed: 0 to {shell.planes - 1}")


def _complete_elements(section: Section, problems: Problems) -> None:
    """Check the keys beside a file of orbital elements. The text must give an epoch but no Walker keys, and `earth`
    must be the ellipsoid."""
    for key in WALKER_KEYS:
        if section.gave(key) and not (key == "preset" and section.values.get("preset") is None):
            rule = "has no effect: the orbits come from the file named by tle"
            section.refuse(problems, key, rule, f"take out {key} or tle")
    # The key `epoch` has no default with a file of elements. Elements are valid only near their own epoch, so at a
    # default date the satellites' positions would be wrong.
    if not section.gave("epoch"):
        rule = "is missing, and a file of orbital elements (tle) is only right near its own epoch"
        problems.add(section.where("tle"), "constellation.epoch", rule, 'write epoch = "2022-09-14T00:00:00Z"')
    if section.gave("greenwich") and section.values.get("greenwich_deg", 0.0) is not None:
        rule = "satellites from orbital elements are turned to the Earth by sidereal time"
        section.refuse(problems, "greenwich", rule, 'write greenwich = "gmst", or nothing')
    if section.gave("shells") and section.values.get("shells") != ():
        rule = "have no effect: the orbits come from the file named by tle"
        section.refuse(problems, "shells", rule, "take out the shells or tle")
    # The Walker keys are set to None: with their defaults, the plan would describe planes without satellites.
    for attribute in ("pattern", "planes", "satellites_per_plane", "altitude_m", "inclination_deg", "phasing",
                      "node_offset_deg", "greenwich_deg", "preset"):  # fmt: skip
        section.values[attribute] = None
    # Elements describe orbits around the real Earth. A station with a geodetic latitude lies on the real Earth's
    # ellipsoid.
    section.values.setdefault("earth", "wgs84")
