# SPDX-License-Identifier: Apache-2.0
"""The step from a section's nodes to the values of its keys. It checks units, words and ranges. Rules that concern
several sections are checked later.

A wrong value is reported and left out of the result, so that one pass finds all mistakes. `Section.nodes` contains no
missing keys. It does contain keys with wrong values.
"""

from __future__ import annotations

import datetime
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from leowarp.base.errors import ScenarioError
from leowarp.base.spelling import one_of
from leowarp.base.units import BYTES, PACKETS
from leowarp.scenario.text.key import Key, keys
from leowarp.scenario.text.problems import Origin, Problems, unknown_key_hint


@dataclass(frozen=True)
class Node:
    """A value of a scenario text with its origin, so that messages can name its line.

    value: A dict from str to Node, a list of Node, or a scalar. A scalar is a str, int, float, bool, date or time, as
        in `tomllib`.
    origin: The line, the ``--set`` or the call from which the value comes.
    """

    value: Any
    origin: Origin

    def get(self, *path: str) -> Node | None:
        """Return the node at a path of keys, or None if there is none.

        The result is also None if the path leads through a list or a scalar, whose wrong type the decoder reports.
        """
        node: Node | None = self
        for part in path:
            node = node.value.get(part) if node is not None and isinstance(node.value, dict) else None
        return node


@dataclass
class Section:
    """The contents of one section of a scenario.

    name: The dotted name of the section, for example ``flows.0``.
    origin: The file and line at which the section begins.
    values: The valid values in the text, by attribute.
    nodes: The nodes of all known keys in the text, including keys with a wrong value.
    schema: The dataclass of the section. Its class attributes are the defaults.
    """

    name: str
    origin: Origin
    values: dict[str, Any] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    schema: type = object

    def where(self, key: str) -> Origin:
        """Return the position of a key in the text, by its name in TOML. If the key is missing, return the position of
        the section's beginning."""
        return self.nodes[key].origin if key in self.nodes else self.origin

    def gave(self, key: str) -> bool:
        """Return whether the text contains the key. The value of the key may be wrong."""
        return key in self.nodes

    def value(self, attribute: str) -> Any:
        """Return the value in the text. If the text has no value, return the default of the key.

        attribute: The name with the suffix of its unit, for example ``duration_ns``. The key must have a default. For a
            key without a default, use `values.get` instead.
        """
        return self.values.get(attribute, getattr(self.schema, attribute))

    def fill_in(self, texts: Mapping[str, object]) -> None:
        """Set keys that the text does not contain, to the values in `texts`. Like the values of a user, they have units
        and are checked.
        """
        for key, text in texts.items():
            attribute, declared = keys(self.schema)[key]
            if not self.gave(key):
                self.values[attribute] = decode(text, declared, self.origin)

    def refuse(self, problems: Problems, key: str, rule: str, hint: str | None = None) -> None:
        """Add a mistake in the value of a key to `problems`."""
        problems.add(self.where(key), f"{self.name}.{key}", rule, hint)


@dataclass(kw_only=True)
class Draft:
    """A mutable scenario, from which the `Scenario` is made. The docstring of `Scenario` explains the attributes.

    First, all sections are decoded. Then, presets, the medium's defaults and the medium's stations are added.

    name: The run's name, or "" if it is missing or wrong.
    sections: The content of the tables of `loading.TABLES`. Only media that the text mentions are present.
    stations, flows: The sections in the order of the file. If the medium defines the stations, `completion` replaces
        them.
    modules: The parameters of each kernel module, as texts.
    hosts, pinned: For each station name, `hosts` has the content of ``[hosts.NAME.tcp]``, and `pinned` has the content
        of ``[hosts.NAME.sysctl]``.
    dishes: A dict from the index of a station to its ``[stations.access]``.
    """

    # Unlike a `Scenario`, a draft is changed in place; a `Scenario` is made from it only if there is no mistake.
    name: str
    sections: dict[str, Section]
    stations: list[Section]
    flows: list[Section]
    modules: dict[str, Section]
    hosts: dict[str, Section] = field(default_factory=dict)
    pinned: dict[str, Section] = field(default_factory=dict)
    dishes: dict[int, Section] = field(default_factory=dict)

    def tcp(self, host: str, attribute: str) -> Any:
        """Return a TCP key's value for a host, from the host's section, from [tcp], or the default."""
        common = self.sections["tcp"].value(attribute)
        return self.hosts[host].values.get(attribute, common) if host in self.hosts else common


def decode_section(
    name: str, schema: type, node: Node, problems: Problems, elsewhere: dict[str, str] | None = None
) -> Section:
    """Decode the values of a section, and report every mistake to `problems`.

    name: The dotted name for messages, or "" for keys at the top.
    node: The table of the section. A node that is not a table is a mistake and gives an empty section.
    elsewhere: A dict from key to another section that has this key. If a key is in the wrong section, the hint names
        the section that has this key.
    Returns: A section with a value for every valid key in the text. Defaults are filled in later, because a preset may
        still give these values.
    """
    section = Section(name, node.origin, schema=schema)
    prefix = f"{name}." if name else ""
    known = keys(schema)
    # A plan writes the hash of the content beside each file name. A section therefore has an undeclared hash key for
    # each key that names files.
    hashes = {f"{key}_sha256": declared for key, (_, declared) in known.items() if declared.kind in ("file", "files")}
    if not isinstance(node.value, dict):
        problems.add(node.origin, name, f"{_shown(node.value)} is not a table", f"write [{name}] and its keys below")
        return section
    for key, child in node.value.items():
        if key in known:
            section.nodes[key] = child
            _decode_key(section, key, *known[key], child, problems)
        elif key in hashes:
            section.nodes[key] = child
            decoder = _hashes if hashes[key].kind == "files" else _hash
            section.values[key] = _checked(decoder, child, prefix + key, problems)
        else:
            hint = unknown_key_hint(key, known, elsewhere or {})
            problems.add(child.origin, prefix + key, "there is no such key", hint)
    for key, (_, declared) in known.items():
        if declared.required and key not in node.value:
            problems.add(node.origin, prefix + key, "is missing", f"{declared.doc} {_example(key, declared)}")
    return section


def _decode_key(section: Section, key: str, attribute: str, declared: Key, node: Node, problems: Problems) -> None:
    """Decode one key, and store the value under its attribute's name. The limit of a queue is stored in two
    attributes."""
    name = f"{section.name}.{key}".lstrip(".")
    if declared.kind == "queue":
        value = _checked(lambda raw: _queue(raw, declared), node, name, problems)
        if value is not None:
            section.values["queue_pkts"], section.values["queue_bytes"] = value
        return
    # For some keys, None is a valid value and does not mean a mistake. A mistake is recognised by an additional
    # problem.
    before = len(problems.found)
    if declared.kind == "tables":
        # Each node knows its line. Tables are decoded from nodes, so that a message can name the line in the table.
        tables = _tables(name, declared, node, problems)
        if len(problems.found) == before:
            section.values[attribute] = tables
        return
    value = _checked(lambda raw: decode(raw, declared, node.origin), node, name, problems)
    if len(problems.found) == before:
        section.values[attribute] = value


def decode(raw: Any, declared: Key, origin: Origin) -> Any:
    """Decode the value of a key into the form of a plan.

    origin: The file and line of the value, or its ``--set``. In a ``--set``, the value of a sysctl may be a bare
        integer.
    Returns: A quantity in the plan's unit (ns, bytes, bit/s, m, deg), or None for the key's word for "no value". Lists
        of files and tables become tuples. Sysctls become a dict sorted by name.
    Raises ScenarioError: The message names the value and the rule that it breaks.

    >>> from pathlib import Path
    >>> from leowarp.scenario import schema
    >>> decode("1200 km", keys(schema.Constellation)["altitude"][1], Origin(Path("a.toml")))
    1200000.0
    """
    # The word for "no value" is compared first, so that every kind of key accepts it.
    if declared.none is not None and raw == declared.none:
        return None
    match declared.kind:
        case "quantity":
            return _quantity(raw, declared)
        case "count":
            return _count(raw, declared)
        case "word":
            return _word(raw, declared)
        case "flag":
            if not isinstance(raw, bool):
                hint = "write true or false, without quotes" + (f', or "{declared.none}"' if declared.none else "")
                raise ScenarioError(f"{_shown(raw)} is neither true nor false", hint)
            return raw
        case "instant":
            return _instant(raw)
        case "sysctl":
            return _sysctl(raw, lenient=origin.override is not None)
        case "file" | "text":
            return _text(raw)
        case "command":
            return _command(raw)
        case "variables":
            return _variables(raw)
        case "files" | "names":
            if not isinstance(raw, list):
                raise ScenarioError(
                    f"{_shown(raw)} is not a list",
                    'write ["one.c"], in brackets' if declared.kind == "files" else 'write ["one", "two"]',
                )
            return tuple(_text(name) for name in raw)
        case "tables":
            problems = Problems()
            nodes = [Node({key: Node(value, origin) for key, value in one.items()}, origin) for one in raw]
            found = _tables("", declared, Node(nodes, origin), problems)
            problems.raise_any()
            return found
        case "table":
            if not isinstance(raw, dict):
                raise ScenarioError(f"{_shown(raw)} is not a table", 'write { target = "5 ms" }')
            return raw
    raise AssertionError(f"no decoder for keys of kind {declared.kind}")


def _tables(name: str, declared: Key, node: Node, problems: Problems) -> tuple[Any, ...]:
    """Decode a list of tables as instances of the key's dataclass. A table with a mistake is reported and left out."""
    assert declared.section is not None
    if not isinstance(node.value, list):
        problems.add(node.origin, name, "is not a list of tables", f"write [[{name}]] above each")
        return ()
    found: list[Any] = []
    for number, child in enumerate(node.value):
        before = len(problems.found)
        section = decode_section(f"{name}.{number}", declared.section, child, problems)
        if len(problems.found) == before:
            found.append(declared.section(**section.values))
    return tuple(found)


def _checked(decoder: Callable[[Any], Any], node: Node, name: str, problems: Problems) -> Any:
    """Return the result of `decoder` for a node. If it raises, add the error to `problems` and return None."""
    try:
        return decoder(_plain(node))
    except ScenarioError as error:
        problems.add(node.origin, name, error.message, error.hint)
        return None


def _plain(node: Node) -> Any:
    """Return the value of a node as plain Python values. Nodes inside a dict or list are also replaced by their
    values."""
    if isinstance(node.value, dict):
        return {key: _plain(child) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [_plain(child) for child in node.value]
    return node.value


def _quantity(raw: Any, declared: Key) -> int | float:
    """Convert a number to the plan's unit of the quantity."""
    assert declared.quantity is not None
    try:
        value = declared.quantity.parse(raw, like=declared.default)
    except ScenarioError as error:
        hint = error.hint
        if declared.none is not None:
            hint = f'{hint}; or the word "{declared.none}"' if hint else f'or the word "{declared.none}"'
        raise ScenarioError(error.message, hint) from None
    # Limits are compared after the conversion, because "0.5 s" and "500 ms" are equal.
    if not declared.quantity.parse(declared.low) <= value <= declared.quantity.parse(declared.high):
        raise ScenarioError(f'"{raw}" is out of range', f"allowed: {declared.low} to {declared.high}")
    return value


def _queue(raw: Any, declared: Key) -> tuple[int | None, int | None]:
    """Decode a queue limit as (packets, bytes). At least one of the two is None. If the queue is unlimited, both values
    are None.

    >>> from leowarp.scenario import schema
    >>> _queue("64 kB", keys(schema.Chain)["queue"][1])
    (None, 64000)
    """
    if raw == declared.none:
        return None, None
    unit = re.search(r"[^\W\d_]+\s*$", raw) if isinstance(raw, str) else None
    try:
        # The unit is read first, because it decides whether the limit is in packets or in bytes.
        in_bytes = unit is not None and unit[0].strip() in BYTES.units
        limit = (BYTES if in_bytes else PACKETS).parse(raw)
    except ScenarioError as error:
        rule = error.message.replace(PACKETS.name, "a queue")
        raise ScenarioError(rule, 'a queue is like "500 pkts", "64 kB" or "unlimited"') from None
    if not 1 <= limit <= _LARGEST_QUEUE:
        raise ScenarioError(f'"{raw}" is out of range', f"allowed: 1 to {_LARGEST_QUEUE} packets or bytes")
    return (None, int(limit)) if in_bytes else (int(limit), None)


def _count(raw: Any, declared: Key) -> int:
    """Check that a value is a bare integer within the key's range. 3.0 is rejected because it is a float."""
    # In Python `True` is an int; in TOML it is not a number.
    if isinstance(raw, bool) or not isinstance(raw, int):
        also = f' or "{declared.none}"' if declared.none else ""
        raise ScenarioError(f"{_shown(raw)} is not a bare integer", f"a count is an integer without quotes{also}")
    if not declared.low <= raw <= declared.high:
        raise ScenarioError(f"{_shown(raw)} is out of range", f"allowed: {declared.low} to {declared.high}")
    return raw


def _word(raw: Any, declared: Key) -> str:
    """Check that a value is one of the allowed words."""
    if raw not in declared.words:
        raise ScenarioError(f"{_shown(raw)} is not allowed here", one_of(raw, declared.words, "allowed:"))
    return str(raw)


def _text(raw: Any) -> str:
    """Check that a value is a printable text of 1 to 200 characters, without blanks at its ends."""
    if not isinstance(raw, str):
        raise ScenarioError(f"{_shown(raw)} is not a string", "write it in quotes")
    if not raw or raw != raw.strip() or not raw.isprintable() or len(raw) > _LONGEST_TEXT:
        rule = f"{_shown(raw)} is empty, too long, or has blanks at its ends or control characters"
        raise ScenarioError(rule, f"a name has 1 to {_LONGEST_TEXT} printable characters")
    return raw


def _command(raw: Any) -> str:
    """Check a command line, and return it unchanged. The command line is split into words as in a shell. Quotes and
    backslashes have their shell meaning. Other special characters are ordinary characters."""
    if not isinstance(raw, str):
        raise ScenarioError(f"{_shown(raw)} is not a string", "write it in quotes, as on a command line")
    if not raw.isprintable() or len(raw) > _LONGEST_COMMAND:
        rule = f"{_shown(raw)} is too long or has control characters"
        raise ScenarioError(rule, f"a command has {_LONGEST_COMMAND} characters at most")
    try:
        words = shlex.split(raw)
    except ValueError as error:
        raise ScenarioError(f"{_shown(raw)} is no command: {error}", "close the quotes") from None
    if not words or not words[0]:
        raise ScenarioError(f"{_shown(raw)} names no program", 'write it like "iperf3 -c {server} -p {port}"')
    return raw


def _variables(raw: Any) -> dict[str, str]:
    """Check environment variables, and sort them by name, because their order has no effect on the plan."""
    if not isinstance(raw, dict):
        raise ScenarioError(f"{_shown(raw)} is not a table", 'write { "SSLKEYLOGFILE" = "{run_dir}/keys" }')
    for name, value in raw.items():
        if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is None:
            raise ScenarioError(f"{name!r:.80} is not the name of a variable", "letters, digits and _")
        if not isinstance(value, str) or "\0" in value or len(value) > _LONGEST_COMMAND:
            raise ScenarioError(f"{name} = {_shown(value)} is not a string", f'write "{name}" = "1", value in quotes')
    return dict(sorted(raw.items()))


def _instant(raw: Any) -> str:
    """Rewrite an instant as ISO 8601 in UTC, ending in Z. If two texts mean the same instant, the results are equal, so
    the plans are equal too."""
    hint = 'an instant of UTC is like "2022-09-14T00:00:00Z"'
    try:
        instant = raw if isinstance(raw, datetime.datetime) else datetime.datetime.fromisoformat(raw)
    except (ValueError, TypeError):
        raise ScenarioError(f"{_shown(raw)} is not an instant", hint) from None
    if instant.tzinfo is None:
        raise ScenarioError(f'"{raw}" has no time zone', hint)
    try:
        utc = instant.astimezone(datetime.UTC)
    except OverflowError:
        raise ScenarioError(f'"{raw}" is out of range', hint) from None
    # The limits follow from the first satellite, launched in 1957, and from two-digit years in TLE, which mean 1957 to
    # 2056.
    if not 1957 <= utc.year <= 2200:
        raise ScenarioError(f'"{raw}" is out of range', "allowed: the years 1957 to 2200")
    return utc.isoformat().replace("+00:00", "Z")


def _sysctl(raw: Any, lenient: bool) -> dict[str, str]:
    """Check the form of sysctls' names and values. Only the booted kernel knows whether a sysctl exists.

    lenient: Whether a bare integer is accepted as text, as in ``--set``.
    """
    if not isinstance(raw, dict):
        raise ScenarioError(f"{_shown(raw)} is not a table", 'write { "net.ipv4.tcp_ecn" = "1" }')
    values: dict[str, str] = {}
    for name, value in raw.items():
        # A shell removes the quotes in --set tcp.sysctl.net.ipv4.tcp_ecn="1", so an integer without quotes is accepted
        # as text in a --set.
        if lenient and isinstance(value, int) and not isinstance(value, bool):
            value = str(value)
        # The sysctls in `_SYSCTLS_THAT_START` would start a program. A scenario may come from somebody else, and code
        # that a file names runs only if the user allows it (guest/building/trust.py).
        if name in _SYSCTLS_THAT_START:
            raise ScenarioError(f"{name} would have the guest's kernel start a program", "leave it out")
        if _SYSCTL_NAME.fullmatch(name) is None:
            raise ScenarioError(f"{name!r} is not the name of a sysctl", "names are like net.ipv4.tcp_ecn")
        if not isinstance(value, str) or not value or not value.isprintable() or len(value) > _LONGEST_TEXT:
            raise ScenarioError(f"{name} = {_shown(value)} is not a string", f'write "{name}" = "1", value in quotes')
        values[name] = value
    # The sysctls are sorted, so that the plan's text and hash do not depend on the order in the scenario.
    return dict(sorted(values.items()))


def _hash(raw: Any) -> str:
    """Check for 64 hexadecimal digits in lower case, as `hashlib` and `sha256sum` write them."""
    if not isinstance(raw, str) or re.fullmatch(r"[0-9a-f]{64}", raw) is None:
        rule = f"{_shown(raw)} is not a sha256 (64 hexadecimal digits)"
        raise ScenarioError(rule, "leave it out to accept any content")
    return raw


def _hashes(raw: Any) -> tuple[str, ...]:
    """Check a list of hashes. In a scenario, each hash is for the file at the same position in a list of files."""
    if not isinstance(raw, list):
        raise ScenarioError(f"{_shown(raw)} is not a list of sha256", "leave it out to accept any content")
    return tuple(_hash(one) for one in raw)


def _example(key: str, declared: Key) -> str:
    """Return a hint about what to write for a missing key."""
    return f'Write {key} = "..."' if declared.quantity is None else f'Write {key} = "{declared.quantity.example}"'


def _shown(raw: Any) -> str:
    """Return a wrong value as printable and short text, for a message."""
    if isinstance(raw, str):
        text = f'"{raw}"' if raw.isprintable() else repr(raw)
    elif isinstance(raw, bool):
        text = str(raw).lower()
    elif isinstance(raw, dict):
        text = "a table"
    elif isinstance(raw, list):
        text = "a list"
    elif isinstance(raw, int) and abs(raw) >= 10**_LONGEST_SHOWN:
        text = f"an integer beyond 10^{_LONGEST_SHOWN}"  # Python refuses str() of a huge integer.
    else:
        text = str(raw)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


_LARGEST_QUEUE = 10**9
"""The largest limit of a queue, in packets or bytes. `access.queue_up` has the same limit."""
_LONGEST_TEXT = 200
_LONGEST_COMMAND = 4000
_LONGEST_SHOWN = 60
"""A message shows at most this number of characters of a wrong value. A value in a file may be megabytes long."""
# Sysctls that contain the name of a program that the kernel starts (Linux 6.12: fs/coredump.c, kernel/module/kmod.c,
# lib/kobject_uevent.c, kernel/reboot.c).
_SYSCTLS_THAT_START = ("kernel.core_pattern", "kernel.modprobe", "kernel.hotplug", "kernel.poweroff_cmd")
_SYSCTL_NAME = re.compile(r"[a-z][a-z0-9_]*(?:\.[A-Za-z0-9_*-]+)+")
