# SPDX-License-Identifier: Apache-2.0
"""A value of a scenario text that knows where it was written.

Nodes are what `tomllib` gives with an `Origin` on every value, so that a mistake found much later still names its line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leowarp.scenario.text.problems import Origin


@dataclass(frozen=True)
class Node:
    """A value of a scenario text: a dict or a list of nodes, or a scalar.

    value: dict of str to Node, list of Node, or scalar. What TOML has there; a scalar is a str, int, float, bool, date
        or time as `tomllib` gives it.
    origin: The line, the ``--set`` or the call that it comes from.
    """

    value: Any
    origin: Origin

    def get(self, *path: str) -> Node | None:
        """The node at a path of keys, or None.

        *path: Keys of tables one below the other; places in lists are not followed.
        Returns: None also where a table is asked for below a list or a scalar: a wrong type is the decoder's to report.
        """
        node: Node | None = self
        for part in path:
            node = node.value.get(part) if node is not None and isinstance(node.value, dict) else None
        return node
