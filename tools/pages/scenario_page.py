# SPDX-License-Identifier: Apache-2.0
"""Make the reference page of scenario keys from the schema.

``python tools/pages/scenario_page.py FILE`` writes the page. ``--check FILE`` reports whether FILE is up to date.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator

from generated import write_or_check
from leowarp.base.units import QUANTITIES
from leowarp.scenario import schema
from leowarp.scenario.loading import TABLES
from leowarp.scenario.media.dishes import DISH, DISH_IDLE_KEYS
from leowarp.scenario.names.cities import CITIES
from leowarp.scenario.names.gazetteer import PLACES
from leowarp.scenario.names.presets import PRESETS
from leowarp.scenario.network.profiles import PROFILE_SYSCTLS, guest_sysctls, host_sysctls
from leowarp.scenario.network.queues import PARAMETERS
from leowarp.scenario.text.key import Key, keys


def reference_page() -> str:
    """Return the page as Markdown.

    Returns: The units, a table of keys per section, presets, places and profiles. The same schema always gives the same
        bytes.
    """
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    """Yield the lines of the page. The first paragraph of a section's docstring is its description."""
    yield from _INTRODUCTION.splitlines()
    yield ""
    yield "## Units"
    yield ""
    yield "| a value that is | has one of the units | for example |"
    yield "|---|---|---|"
    for quantity in QUANTITIES:
        units = ", ".join(f"`{unit}`" for unit in quantity.units)
        yield f'| {quantity.name} | {units} | `"{quantity.example}"` |'
    yield ""
    yield _UNITS_NOTE
    # All sections are on one page, because a user who looks for a key does not know which module declares it.
    for heading, section in _sections():
        yield ""
        yield f"## {heading}"
        yield ""
        yield from inspect.cleandoc(section.__doc__ or "").split("\n\n")[0].splitlines()
        yield ""
        yield "| key | value | default | meaning |"
        yield "|---|---|---|---|"
        for key, (_, declared) in keys(section).items():
            yield f"| `{key}` | {_value(declared)} | {_default(key, declared)} | {_cell(declared.doc)} |"
        if section is schema.Station:
            yield ""
            yield f"A station of a `[constellation]` may have an access link: a table `[stations.{DISH}]` below the"
            yield "station. The table has the keys of `[access]`, except"
            yield f"{', '.join(f'`{key}`' for key in DISH_IDLE_KEYS)}."
    yield from _queue_parameters()
    yield from _presets()
    yield from _places()
    yield from _cities()
    yield from _profiles()


def _sections() -> Iterator[tuple[str, type]]:
    """Yield the heading and dataclass of each table of keys, in the order of a plan."""
    for name, section in TABLES.items():
        if name == "isl":
            yield "[[stations]]", schema.Station
        if name == "traffic":
            yield "[[flows]]", schema.Flow
        suffix = " and [hosts.NAME.tcp]" if name == "tcp" else ""
        yield f"[{name}]{suffix}", section
        for key, (_, declared) in keys(section).items():
            if declared.section is not None:
                yield f"[[{name}.{key}]]", declared.section


def _value(declared: Key) -> str:
    """Return text for the values that a key accepts. The text lists words, or names a kind of value and its range. It
    also contains the word for "no value", if there is one."""
    if declared.kind == "word":
        return ", ".join(f'`"{word}"`' for word in declared.words)
    names = {"queue": "packets or bytes", "flag": "`true`, `false`", "text": "text", "file": "file name",
             "instant": "instant of UTC", "sysctl": "table of texts", "variables": "table of texts",
             "command": "command line", "count": "integer", "table": "table",
             "files": "list of file names", "tables": "tables", "names": "list of names"}  # fmt: skip
    kind = declared.quantity.name if declared.quantity is not None else names[declared.kind]
    if declared.low is not None and declared.high is not None:
        kind += f", {declared.low} to {declared.high}"
    return kind if declared.none is None else f'{kind}; or `"{declared.none}"`'


def _default(key: str, declared: Key) -> str:
    """Return a key's default as a user would write it, or the name of the default's source."""
    if declared.required:
        return "**required**"
    if declared.default is None:
        # The default of a station's coordinates comes from the gazetteer. Every other key without a default in the
        # schema gets its default from a preset.
        return "place" if key in ("latitude", "longitude") else "preset"
    if isinstance(declared.default, bool):
        return f"`{str(declared.default).lower()}`"
    if isinstance(declared.default, str):
        return f'`"{declared.default}"`'
    return "`{}`" if declared.default == {} else f"`{declared.default}`"


def _cell(text: str) -> str:
    """Escape the bars of a text for a Markdown table, because a bar would end the cell."""
    return text.replace("|", "\\|")


def _queue_parameters() -> Iterator[str]:
    """Yield the lines of the section about the parameters of each queueing discipline."""
    yield ""
    yield "## Queue parameters"
    yield ""
    yield "Parameters that the key `queue_parameters` may contain, for instance"
    yield '`queue_parameters = { target = "5 ms", interval = "100 ms" }`. A fifo has no parameters.'
    yield ""
    yield "| discipline | parameter | value | meaning |"
    yield "|---|---|---|---|"
    for discipline, parameters in PARAMETERS.items():
        for name, declared in parameters.items():
            yield f"| `{discipline}` | `{name}` | {_value(declared)} | {_cell(declared.doc)} |"


def _presets() -> Iterator[str]:
    """Yield a table of the constellations that a scenario can name, with the sources of their numbers."""
    yield ""
    yield "## Constellations by name"
    yield ""
    yield "| preset | pattern | planes x satellites | altitude | inclination | F | source |"
    yield "|---|---|---|---|---|---|---|"
    for name, preset in PRESETS.items():
        # One row per shell; the first row of a constellation has the source.
        for number, k in enumerate(preset.shells):
            size = f"{k['planes']} x {k['satellites_per_plane']}"
            orbit = f"{k['altitude']} | {k['inclination']} | {k['phasing']}"
            first, source = (f"`{name}`", _cell(preset.source)) if number == 0 else (f"shell {number + 1}", "")
            yield f"| {first} | {k['pattern']} | {size} | {orbit} | {source} |"


def _places() -> Iterator[str]:
    """Yield the places of the gazetteer, by name."""
    yield ""
    yield "## Places by name"
    yield ""
    yield "Latitudes are positive in the north, longitudes in the east."
    yield ""
    yield "| place | latitude | longitude |"
    yield "|---|---|---|"
    for name, (latitude, longitude) in sorted(PLACES.items()):
        yield f"| {name} | {latitude} | {longitude} |"


def _cities() -> Iterator[str]:
    """Yield the cities of ``[traffic]``, the most populous first."""
    yield ""
    yield "## Cities by population"
    yield ""
    yield "The cities of `[traffic]`, with the population of each urban agglomeration in 2018, rounded to 100,000."
    yield "Source: United Nations, World Urbanization Prospects, 2018 revision (CC BY 3.0 IGO)."
    yield ""
    yield "| city | people |"
    yield "|---|---|"
    for name, people in CITIES.items():
        yield f"| {name} | {people:,} |"


def _profiles() -> Iterator[str]:
    """Yield a table of every sysctl of a host with a column per profile, then a table of the sysctls of the whole
    guest."""
    names = list(PROFILE_SYSCTLS)
    yield ""
    yield "## TCP profiles"
    yield ""
    yield "Sysctls of a host with the default buffers, by profile. A plan contains them under `[hosts.NAME.sysctl]`."
    yield ""
    yield f"| sysctl | {' | '.join(names)} |"
    yield f"|---|{'---|' * len(names)}"
    # The functions that make plans also set buffers and ECN. The values therefore come from these functions, and not
    # only from the tables of profiles.
    profiles = [host_sysctls(schema.Tcp(profile=name)) for name in names]
    for sysctl in profiles[0]:
        yield f"| `{sysctl}` | {' | '.join(profile[sysctl] for profile in profiles)} |"
    yield ""
    yield "Sysctls of the whole guest with the default buffers and memory. A plan contains them under `[sysctl]`."
    yield ""
    yield "| sysctl | value |"
    yield "|---|---|"
    for sysctl, value in guest_sysctls(schema.Tcp.buffer_max_bytes, schema.Guest.memory_bytes, {}).items():
        yield f"| `{sysctl}` | {value} |"


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page. Return the exit status of `write_or_check`."""
    return write_or_check(reference_page(), "tools/pages/scenario_page.py", arguments)


_INTRODUCTION = """\
<!-- Made from the schema by `python tools/pages/scenario_page.py docs/reference/scenario.md`; do not edit. -->
# Scenario keys

A scenario is a TOML file. Quantities are strings with a unit, and counts are integers without one. A quantity without
a unit, an unknown key, a wrong unit and a value out of range are errors. `leowarp plan FILE` prints the plan: the
scenario with every default. A plan can be loaded as a scenario, and the plan of that scenario is the same plan.

| at the top | meaning |
|---|---|
| `name` | The run's name: letters, digits, dots, dashes, underscores. Required; a variant has a name of its own. |
| `schema` | Version of these keys, `1`. |
| `extends` | A scenario (relative to this file) below this one: tables are merged key by key, lists replaced whole. |

A scenario has exactly one medium, which carries the packets: `[constellation]`, `[measured]`, `[chain]`, `[jittered]`,
`[access]` or `[mobile]`. Two media also need a section `[constellation]`. These media are `[access]` with
`geometry = "constellation"`, and `[mobile]` with `delays = "constellation"`.

A key that has no effect with the scenario's medium is an error. If the medium is not the constellation, `[isl]`,
`[ground]` and `[routing]` have no effect, and the medium's two stations have fixed names: `dish` and `server` with
`[access]`, `mobile` and `server` with `[mobile]`, otherwise `A` and `B`. With `[jittered]`, `[access]` and `[mobile]`,
most keys of `[network]` have no effect.

A mobile channel with `delays = "constellation"` is an exception: it uses the keys of `[isl]`, `[ground]` and
`[routing]` that determine routes. Some defaults then differ: `isl.rule = "plus-grid"`, `isl.seam = false`,
`isl.polar_cutoff = "60 deg"`, `ground.rule = "min-elevation"`, `ground.min_elevation = "8.2 deg"`,
`routing.interval = "10 s"`, `routing.link_interval = "1 s"`. With `constellation.tle`, `[isl]` keeps its own defaults.

`--set KEY=VALUE` overrides a key of the file. Dots separate the parts of the key, and a number from 0 selects an
element of a list: `--set run.duration="60 s"`, `--set flows.0.congestion_control=bbr`. Some keys determine other keys:
`constellation.preset`, `constellation.tle`, `constellation.shells`, `measured.file`, `jittered.distribution`,
`access.preset`, a link's `queue_discipline`, a station's `name`, a flow's `packet_rate`, `interval`, `flood` or `rate`,
and every key of `[tcp]` and `[guest]`. If `--set` sets such a key, leowarp ignores the file's values of the dependent
keys. Therefore `--set` also works on a plan, which contains every key.
"""

_UNITS_NOTE = """\
`"m"` is metres; minutes are `"min"`. Rates are in bits per second; `bps` and bytes per second are refused. Times are
whole nanoseconds, rates whole bits per second, and sizes whole bytes; for example, `"0.5 ns"` is an error."""

if __name__ == "__main__":
    sys.exit(main())
