# SPDX-License-Identifier: Apache-2.0
"""The common part of the study's groups of runs: scenarios, hours, seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

TCP_SCENARIO, PING_SCENARIO, CAPACITY_SCENARIO = "starlink-tcp.toml", "starlink-ping.toml", "starlink-capacity.toml"

PEAK, OFF_PEAK = "peak", "off-peak"
CLEAN_PEAK = "peak, no isolated loss"
"""The name of sessions in the groups without isolated loss, as if it were a preset."""

DURATION_S = 60
"""Length of every TCP session: four reconfigurations."""

LOSS_KEYS = ("access.residual_loss", "access.residual_loss_up")
NO_LOSS = dict.fromkeys(LOSS_KEYS, "0 %")
"""Both directions: a lost ACK of a window costs little, but handovers alone are asked for."""


def few_seeds(count: int) -> Callable[[Mapping[str, Any], int], bool]:
    """The runs of a quick reproduction: those of the first `count` seeds."""
    return lambda values, seed: seed <= count


def content(name: str, scenario: str, parameters: dict[str, Any], seeds: int | None) -> dict[str, Any]:
    """The content of a study file; without `seeds` each run has the seed that its parameters give it."""
    made = {"name": name, "scenario": scenario, "set": {}, "parameters": dict(parameters)}
    return made if seeds is None else made | {"seeds": {"first": 1, "count": seeds}}
