# SPDX-License-Identifier: Apache-2.0
"""A value of a scenario text together with its origin.

The values that `tomllib` returns are wrapped in nodes, each with an `Origin`, so that error messages can name the line
of a mistake.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leowarp.scenario.text.problems import Origin


@dataclass(frozen=True)
class Node:
    """A value of a scenario text: a dict or a list of nodes, or a scalar.

    value: dict of str to Node, list of Node, or scalar. The TOML value; a scalar is a str, int, float, bool, date or
        time as in `tomllib`.
    origin: The line, the ``--set`` or the call from which the value comes.
    """

    value: Any
    origin: Origin

    def get(self, *path: str) -> Node | None:
        """The node at a path of keys; None if there is none.

        *path: Keys of nested tables; the path cannot go through lists.
        Returns: None if a key is missing, or if the path meets a list or a scalar instead of a table: the decoder
            reports that wrong type.
        """
        node: Node | None = self
        for part in path:
            node = node.value.get(part) if node is not None and isinstance(node.value, dict) else None
        return node
