# SPDX-License-Identifier: Apache-2.0
"""A value of a scenario text together with its origin.

The values of `tomllib` are wrapped in nodes, so that error messages can name the line of a mistake.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leowarp.scenario.text.problems import Origin


@dataclass(frozen=True)
class Node:
    """A value of a scenario text: a dict or a list of nodes, or a scalar.

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
