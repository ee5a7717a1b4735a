# SPDX-License-Identifier: Apache-2.0
"""Settings that the study's groups of runs share: scenarios, hours, seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

TCP_SCENARIO, PING_SCENARIO, CAPACITY_SCENARIO = "starlink-tcp.toml", "starlink-ping.toml", "starlink-capacity.toml"

PEAK, OFF_PEAK = "peak", "off-peak"
CLEAN_PEAK = "peak, no isolated loss"
"""Name of the sessions without isolated loss. The name is used like the name of a preset."""

DURATION_S = 60
"""Length of every TCP session; this time contains four reconfigurations."""

LOSS_KEYS = ("access.residual_loss", "access.residual_loss_up")
NO_LOSS = dict.fromkeys(LOSS_KEYS, "0 %")
"""Isolated loss is set to 0 in both directions, so that only handovers act. A lost ACK would cost little anyway."""


def few_seeds(count: int) -> Callable[[Mapping[str, Any], int], bool]:
    """Filter for a quick reproduction: it selects the runs with the first `count` seeds."""
    return lambda values, seed: seed <= count


def content(name: str, scenario: str, parameters: dict[str, Any], seeds: int | None) -> dict[str, Any]:
    """Content of a study file. If `seeds` is None, the parameters set the seed of each run."""
    made = {"name": name, "scenario": scenario, "set": {}, "parameters": dict(parameters)}
    return made if seeds is None else made | {"seeds": {"first": 1, "count": seeds}}
