# SPDX-License-Identifier: Apache-2.0
"""The declarations of scenario keys, with one function per kind of value."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from leowarp.base.units import BYTES, PACKETS, RATIO, TIME, Quantity


@dataclass(frozen=True)
class InputFile:
    """A file that a plan names. Two files are equal if they have the same name and the same content. `path` and
    `named_in` are not compared.

    name: The name without folders. The run directory contains the file as ``00-inputs/<name>``.
    sha256: The hash of the file's content, hexadecimal.
    path: The place of the file on this machine.
    named_in: The file that names this file. None means that the user named it, on the command line or in a call.
    """

    name: str
    sha256: str
    path: Path = dataclasses.field(compare=False)
    named_in: Path | None = dataclasses.field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Key:
    """The declaration of a scenario key.

    kind: quantity, queue, word, text, names, command, count, flag, instant, file, files, sysctl, variables, table or
        tables.
    default: The default as a user would write it. None means that the value comes from a preset, the gazetteer or the
        user.
    required: Whether a section without the key is a mistake.
    quantity: The measure (for example time) of a key of kind quantity.
    words: All allowed words of a key of kind word.
    low, high: The smallest and largest value allowed, as a user would write them.
    none: The word in a scenario that becomes None in the plan.
    section: For a key of kind tables, the dataclass of its tables.
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
        """The suffix of the attribute's name after the key. It is ``_ns`` for a time, and "" for values without a
        unit."""
        if self.kind == "queue":
            # A queue limit has two attributes; the decoder sets `queue_bytes`, for which no separate key exists.
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
    """Declare a key whose value is a quantity between `low` and `high`, or the word `none`.

    measure: One of the measures in `leowarp.base.units`. The name of the attribute must end in the measure's suffix.
    doc: The meaning of the key, for the reference page.
    default, low, high, none, required: As in `Key`. A required key has no default.
    Returns: A dataclass field. The declared type is Any, so a class body can annotate the field with its real type.
    """
    value = None if default is None or default == none else measure.parse(default)
    key = Key("quantity", doc, default, required=required, quantity=measure, low=low, high=high, none=none)
    return _field(key, value, required)


def time(doc: str, default: str, high: str) -> Any:
    """Declare a key whose value is a time from 0 s to `high`."""
    return quantity(TIME, doc, default, low="0 s", high=high)


def share(doc: str, default: str | None) -> Any:
    """Declare a key whose value is a share, 0 to 100 %."""
    return quantity(RATIO, doc, default, low="0 %", high="100 %")


def overhead(where: str = "the link", default: str = "14 B") -> Any:
    """Declare the key for the bytes that a link adds to a packet's IP length."""
    doc = f"Bytes that each packet occupies on {where} in addition to its IP length."
    return quantity(BYTES, doc, default, low="0 B", high="1000 B")


def queue(doc: str, default: str) -> Any:
    """Declare a key whose value is a queue limit in packets or bytes. The key sets the attributes `queue_pkts` and
    `queue_bytes`. At least one of them is None."""
    doc += ' In packets, in bytes ("64 kB"), or "unlimited".'
    return _field(Key("queue", doc, default, low="1 pkts", none="unlimited"), PACKETS.parse(default))


def word(doc: str, words: tuple[str, ...], default: str | None) -> Any:
    """Declare a key whose value is one of a fixed set of words, in the order of messages and the reference page."""
    return _field(Key("word", doc, default, words=words), default)


def text(doc: str, default: str | None = None, *, required: bool = False) -> Any:
    """Declare a key whose value is a name or a path. If the default is "none", a user can write "none" for no value."""
    none = "none" if default == "none" else None
    key = Key("text", doc, default, required=required, none=none)
    return _field(key, None if default == none else default, required)


def command(doc: str, *, none: str | None = None) -> Any:
    """Declare a key whose value is a command line. The plan contains the text unchanged. The text is split into words
    as in a shell."""
    return _field(Key("command", doc, none, none=none), None)


def variables(doc: str) -> Any:
    """Declare a table of environment variables, with names and values as strings."""
    return _field(Key("variables", doc, {}), _EMPTY)


def names(doc: str) -> Any:
    """Declare a key whose value is a list of names."""
    return _field(Key("names", doc, []), ())


def count(
    doc: str, default: int | str | None, low: int, high: int, *, none: str | None = None, required: bool = False
) -> Any:
    """Declare a key whose value is a bare integer between `low` and `high`, or the word `none`. If `required`, a
    section without the key is a mistake."""
    key = Key("count", doc, default, required=required, low=low, high=high, none=none)
    return _field(key, None if isinstance(default, str) else default, required)


def flag(doc: str, default: bool | str, *, none: str | None = None) -> Any:
    """Declare a key whose value is true, false, or the word `none`."""
    return _field(Key("flag", doc, default, none=none), None if isinstance(default, str) else default)


def instant(doc: str, default: str, *, none: str | None = None) -> Any:
    """Declare a key whose value is an instant of UTC, or the word `none`."""
    return _field(Key("instant", doc, default, none=none), None if default == none else default)


def file(doc: str, *, required: bool = False) -> Any:
    """Declare a key whose value is a file name relative to the scenario. The plan adds a key with the file's sha256."""
    key = Key("file", doc, None if required else "none", required=required, none=None if required else "none")
    return _field(key, None, required)


def files(doc: str) -> Any:
    """Declare a key whose value is a list of file names relative to the scenario. The plan adds a key with the sha256
    of each file."""
    return _field(Key("files", doc, []), ())


def sysctl(doc: str) -> Any:
    """Declare a table of sysctls, with names and values as strings."""
    return _field(Key("sysctl", doc, {}), _EMPTY)


def table(doc: str) -> Any:
    """Declare a table. Rules of the section check its keys."""
    return _field(Key("table", doc, {}), _EMPTY)


def tables(doc: str, section: type) -> Any:
    """Declare a list of tables. Each table has the keys of the dataclass `section`. In a plan, each table has the
    header ``[[name]]``."""
    return _field(Key("tables", doc, [], section=section), ())


# The result is cached, because declarations do not change, and a study decodes each section once per combination.
@cache
def keys(section: type) -> Mapping[str, tuple[str, Key]]:
    """Return a section's declarations. For each name in TOML, the result has the attribute's name and the declaration.
    Keys of base classes come last.

    section: A dataclass. The functions of this module made its fields. Fields without a declaration are not keys.

    >>> from leowarp.scenario import schema
    >>> keys(schema.Chain)["delay"][0]
    'delay_ns'
    """
    declared = {}
    # From Python 3.14 on, a class's __dict__ does not contain its annotations, so `get_annotations` is needed.
    own = list(inspect.get_annotations(section))
    place = {name: number for number, name in enumerate(own)}
    # `fields` lists the fields of base classes first. A plan lists the section's own keys first, because a user reads
    # it from top to bottom.
    for field in sorted(dataclasses.fields(section), key=lambda field: place.get(field.name, len(own))):
        key = field.metadata.get("key")
        if key is not None:
            declared[field.name.removesuffix(key.suffix)] = (field.name, key)
    return MappingProxyType(declared)


def _field(key: Key, value: object, required: bool = False) -> Any:
    """Return a dataclass field that carries the declaration of a key."""
    if required:
        return dataclasses.field(metadata={"key": key})
    # A dataclass rejects a mutable default.
    if isinstance(value, Mapping):
        return dataclasses.field(default_factory=dict, metadata={"key": key})
    return dataclasses.field(default=value, metadata={"key": key})


# All sections share the empty default `_EMPTY`, so `_EMPTY` is read-only.
_EMPTY: Mapping[str, Any] = MappingProxyType({})
