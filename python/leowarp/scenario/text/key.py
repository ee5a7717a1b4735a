# SPDX-License-Identifier: Apache-2.0
"""Declarations of a scenario's keys: one function per kind of value."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from leowarp.base.units import PACKETS, Quantity


@dataclass(frozen=True)
class InputFile:
    """A file that a plan names. Two files are equal if their contents are equal, wherever the files are.

    name: Name without folders; the run directory contains the file as ``00-inputs/<name>``.
    sha256: Hash of its content, hexadecimal.
    path: The place where the file was found on this machine.
    named_in: The file that names this file; None: the user named it, on the command line or in a call.
    """

    name: str
    sha256: str
    path: Path = dataclasses.field(compare=False)
    named_in: Path | None = dataclasses.field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Key:
    """A key's declaration.

    kind: quantity, queue, word, text, names, command, count, flag, instant, file, files, sysctl, variables, table or
        tables.
    default: The default as a user would write it; None: a preset, the gazetteer or the user provides the value.
    required: Whether leaving the key out is an error.
    quantity: The measure, for kind quantity.
    words: All allowed words, for kind word.
    low, high: Smallest and largest value allowed, as a user would write them.
    none: The word that means "no value" (None in the plan).
    section: The dataclass of each table, for kind tables.
    """

    kind: str
    doc: str
    default: object = None
    required: bool = False
    quantity: Quantity | None = None
    words: tuple[str, ...] = ()
    low: Any = None
    high: Any = None
    none: str | None = None
    section: type | None = None

    @property
    def suffix(self) -> str:
        """Suffix that the attribute's name has and the key lacks: ``_ns`` for a time; "" for values without a unit."""
        if self.kind == "queue":
            # A queue limit has two attributes: the decoder fills in `queue_bytes`, which has no key of its own.
            return "_pkts"
        return self.quantity.suffix if self.quantity is not None else ""


def quantity(
    measure: Quantity,
    doc: str,
    default: str | None = None,
    *,
    low: str,
    high: str,
    none: str | None = None,
    required: bool = False,
) -> Any:
    """A quantity between `low` and `high`, or the word `none`.

    measure: One of the measures in `leowarp.base.units`; its suffix ends the attribute's name.
    doc: The meaning of the key, for the reference page.
    default, low, high: Values with units, as a user would write them. A default of None means that the preset, the
        gazetteer or the user provides the value.
    none: The word for "no value".
    required: Whether omitting the key is an error; there is then no default.
    Returns: The return type is Any, so that a class body may annotate the field with the type of its values.
    """
    value = None if default is None or default == none else measure.parse(default)
    key = Key("quantity", doc, default, required=required, quantity=measure, low=low, high=high, none=none)
    return _field(key, value, required)


def queue(doc: str, default: str) -> Any:
    """A limit in packets or bytes. The key fills two attributes, `queue_pkts` and `queue_bytes`, one of which is
    None."""
    doc += ' In packets, in bytes ("64 kB"), or "unlimited".'
    return _field(Key("queue", doc, default, low="1 pkts", none="unlimited"), PACKETS.parse(default))


def word(doc: str, words: tuple[str, ...], default: str | None) -> Any:
    """One of a fixed set of words.

    words: All allowed words; messages and the reference page list them in this order.
    default: One of the words; None: a preset provides the value.
    """
    return _field(Key("word", doc, default, words=words), default)


def text(doc: str, default: str | None = None, *, required: bool = False) -> Any:
    """A name or a path. The word "none" means no value."""
    none = "none" if default == "none" else None
    key = Key("text", doc, default, required=required, none=none)
    return _field(key, None if default == none else default, required)


def command(doc: str, *, none: str | None = None) -> Any:
    """A program and its arguments, as words of a shell; the plan contains the text unchanged."""
    return _field(Key("command", doc, none, none=none), None)


def variables(doc: str) -> Any:
    """A table of environment variables, names and values as strings."""
    return _field(Key("variables", doc, {}), _EMPTY)


def names(doc: str) -> Any:
    """A list of names."""
    return _field(Key("names", doc, []), ())


def count(
    doc: str, default: int | str | None, low: int, high: int, *, none: str | None = None, required: bool = False
) -> Any:
    """A bare integer between `low` and `high`, or the word `none`. If `required`, omitting it is an error."""
    key = Key("count", doc, default, required=required, low=low, high=high, none=none)
    return _field(key, None if isinstance(default, str) else default, required)


def flag(doc: str, default: bool | str, *, none: str | None = None) -> Any:
    """True or false, or the word `none`."""
    return _field(Key("flag", doc, default, none=none), None if isinstance(default, str) else default)


def instant(doc: str, default: str, *, none: str | None = None) -> Any:
    """An instant of UTC, or the word `none`."""
    return _field(Key("instant", doc, default, none=none), None if default == none else default)


def file(doc: str, *, required: bool = False) -> Any:
    """A file, given relative to the scenario; the plan adds a key with its sha256."""
    key = Key("file", doc, None if required else "none", required=required, none=None if required else "none")
    return _field(key, None, required)


def files(doc: str) -> Any:
    """A list of files, given relative to the scenario; the plan adds a key with the sha256 of each."""
    return _field(Key("files", doc, []), ())


def sysctl(doc: str) -> Any:
    """A table of sysctls, names and values as strings."""
    return _field(Key("sysctl", doc, {}), _EMPTY)


def table(doc: str) -> Any:
    """A table with keys that are checked by separate rules."""
    return _field(Key("table", doc, {}), _EMPTY)


def tables(doc: str, section: type) -> Any:
    """A list of tables, each with the keys of the dataclass `section`; a plan writes ``[[name]]`` above each."""
    return _field(Key("tables", doc, [], section=section), ())


# The result is cached: declarations never change while a program runs, and a study decodes each section once per
# combination.
@cache
def keys(section: type) -> Mapping[str, tuple[str, Key]]:
    """The keys of a section as written in TOML, each with its attribute's name. Keys of base classes come last.

    section: A dataclass whose fields were made by the functions above. Fields without a declaration are not keys.
    Returns: mapping of str to (str, Key). The result is read-only and cached, one per class.

    >>> from leowarp.scenario import schema
    >>> keys(schema.Chain)["delay"][0]
    'delay_ns'
    """
    declared = {}
    # `get_annotations` is the portable way to a class's annotations, which are not in its __dict__ from Python 3.14 on.
    own = list(inspect.get_annotations(section))
    place = {name: number for number, name in enumerate(own)}
    # `fields` lists the fields of base classes first. A plan is read from top to bottom, so the section's own keys come
    # first.
    for field in sorted(dataclasses.fields(section), key=lambda field: place.get(field.name, len(own))):
        key = field.metadata.get("key")
        if key is not None:
            declared[field.name.removesuffix(key.suffix)] = (field.name, key)
    return MappingProxyType(declared)


def _field(key: Key, value: object, required: bool = False) -> Any:
    if required:
        return dataclasses.field(metadata={"key": key})
    # A dataclass rejects a mutable default.
    if isinstance(value, Mapping):
        return dataclasses.field(default_factory=dict, metadata={"key": key})
    return dataclasses.field(default=value, metadata={"key": key})


# The mapping is read-only, because every section's class shares this default.
_EMPTY: Mapping[str, Any] = MappingProxyType({})
