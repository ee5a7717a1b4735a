# SPDX-License-Identifier: Apache-2.0
"""The dotted keys and values of a study file, read from TOML tables and written as TOML text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from leowarp.base.errors import ScenarioError
from leowarp.scenario.document import Node, override_key
from leowarp.scenario.text.problems import Problems

_DEPTH = {"flows": 3, "stations": 3, "modules": 3, "hosts": 4}
"""The number of a dotted key's parts, by its first part. All other keys have two parts, but those of queue parameters
have three in every table."""


def tables(document: Node, name: str, problems: Problems) -> list[Node]:
    node = document.get(name)
    if node is None:
        return []
    # The most likely mistake is `[together]` with single brackets, which is a plain table in TOML.
    if not isinstance(node.value, list) or not all(isinstance(child.value, dict) for child in node.value):
        problems.add(node.origin, name, "is not a list of tables", f"write [[{name}]] above each")
        return []
    return list(node.value)


def dotted(table: Node | None, where: str, problems: Problems) -> list[tuple[str, tuple[str, ...], Node]]:
    """Return (dotted key, its parts, value) for each entry of a table of dotted keys, with or without quotes."""
    if table is None:
        return []
    if not isinstance(table.value, dict):
        problems.add(table.origin, where, "is not a table", f'write [{where}] and below it "run.duration" = ...')
        return []
    leaves = []
    for text, node in table.value.items():
        try:
            parts = tuple(override_key(text, node.origin))
        except ScenarioError as error:
            problems.add(node.origin, where, error.message, error.hint)
            continue
        leaves += _leaves(parts, node)
    return [(".".join(_quoted(part) for part in parts), parts, node) for parts, node in leaves]


def _leaves(parts: tuple[str, ...], node: Node) -> list[tuple[tuple[str, ...], Node]]:
    """Return the keys below a table, each with its value. In TOML, `run.duration` without quotes is a nested table.

    A table that is the value of a key, such as a queue's parameters, is not split.
    """
    # Below this depth, a table is a value: the sysctls of `tcp.sysctl`, for example, are one value.
    depth = 3 if parts[1:2] == ("queue_parameters",) else _DEPTH.get(parts[0], 2)
    if not isinstance(node.value, dict) or len(parts) >= depth:
        return [(parts, node)]
    return [leaf for key, child in node.value.items() for leaf in _leaves((*parts, key), child)]


def _quoted(part: str) -> str:
    """Return a part of a dotted key as TOML.

    >>> _quoted("isl"), _quoted("Cape Town")
    ('isl', '"Cape Town"')
    """
    return part if re.fullmatch(r"[A-Za-z0-9_-]+", part) else json.dumps(part, ensure_ascii=False)


def plain_value(node: Node) -> Any:
    """Return the value of a node in plain TOML types, without positions in the source."""
    if isinstance(node.value, dict):
        return {key: plain_value(child) for key, child in node.value.items()}
    if isinstance(node.value, list):
        return [plain_value(child) for child in node.value]
    return node.value


def toml_text(content: Mapping[str, Any]) -> str:
    """Return the content of a study as TOML text. A study that is started from Python can then be continued later."""
    return "".join(f"{_quoted(key)} = {toml_value(value)}\n" for key, value in content.items())


def toml_value(value: Any) -> str:
    """Return a value as TOML text on one line. A JSON string is also a valid TOML string.

    >>> toml_value({"label": "cc", "values": ["reno", "bbr"]})
    '{ "label" = "cc", "values" = ["reno", "bbr"] }'
    """
    if isinstance(value, Mapping):
        inner = ", ".join(
            f"{json.dumps(str(key), ensure_ascii=False)} = {toml_value(child)}" for key, child in value.items()
        )
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(toml_value(child) for child in value) + "]"
    return json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
