# SPDX-License-Identifier: Apache-2.0
"""What `summary.json` and `manifest.json` must be like, so that whoever reads one need not ask at every step."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

TEXTS = ("name", "kind", "source", "destination", "congestion_control")
"""Of a summary: what is a text if it is there. Everything else is a number, a truth value or null."""

KINDS = ("tcp", "ping", "udp")


def why_no_summary(value: Mapping[str, Any]) -> str | None:
    """What is wrong with a summary, as the end of a sentence; None if nothing is."""
    flows = value.get("flows")
    if not isinstance(flows, list) or not all(isinstance(flow, dict) for flow in flows):
        return "it has no list `flows` of objects"
    for number, flow in enumerate(flows):
        if flow.get("kind", "tcp") not in KINDS:
            return f"flow {number} is of no kind that leowarp has"
        if not isinstance(flow.get("flow", 0), int):
            return f"the number of flow {number} is no whole number"
    for of in (value, *flows):
        for name, item in of.items():
            if name != "flows" and not _is_scalar(name, item) and not _is_table_of_scalars(item):
                return f"{name!r:.80} is {type(item).__name__} {item!r:.40}, and no scalar of a run is"
    return None


def why_no_manifest(value: Mapping[str, Any]) -> str | None:
    """What is wrong with a manifest, as the end of a sentence; None if nothing is."""
    shapes: dict[str, type] = {
        "warnings": list, "files": dict, "costs": dict, "kernel": dict, "agent": dict, "python": dict, "host": dict,
        "leowarp_version": str,
    }  # fmt: skip
    for name, kind in shapes.items():
        if name in value and not isinstance(value[name], kind):
            return f"its {name} are of another type"
    if not all(isinstance(text, str) for text in value.get("warnings", ())):
        return "its warnings are not texts"
    if not all(isinstance(text, str) for text in value.get("files", {}).values()):
        return "its files have no checksums"
    if not all(_is_number(cost) for cost in value.get("costs", {}).values()):
        return "its costs are not numbers"
    return None


def _is_scalar(name: str, item: Any) -> bool:
    return item is None or (isinstance(item, str) if name in TEXTS else _is_number(item))


def _is_table_of_scalars(item: Any) -> bool:
    return isinstance(item, dict) and all(_is_scalar(name, within) for name, within in item.items())


def _is_number(item: Any) -> bool:
    """Also of a size that a float can have."""
    return isinstance(item, int | float) and abs(item) < 1e300 and math.isfinite(item)
