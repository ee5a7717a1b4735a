# SPDX-License-Identifier: Apache-2.0
"""A value of a scenario text that knows where it was written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leowarp.scenario.problems import Origin


@dataclass(frozen=True)
class Node:
    """A value of a scenario text: a dict or a list of nodes, or a scalar."""

    value: Any
    origin: Origin

    def get(self, *path: str) -> Node | None:
        """The node at a path of keys, or None."""
        node: Node | None = self
        for part in path:
            node = node.value.get(part) if node is not None and isinstance(node.value, dict) else None
        return node
