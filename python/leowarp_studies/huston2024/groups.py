# SPDX-License-Identifier: Apache-2.0
"""The settings that several of the study's groups of runs have in common: scenarios, hours, seeds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

TCP_SCENARIO, PING_SCENARIO, CAPACITY_SCENARIO = "starlink-tcp.toml", "starlink-ping.toml", "starlink-capacity.toml"

PEAK, OFF_PEAK = "peak", "off-peak"
CLEAN_PEAK = "peak, no isolated loss"
"""The name of sessions at peak hours without isolated loss. These sessions have this name instead of the name of a
preset."""

DURATION_S = 60
"""The length of every TCP session in s. A session contains four reconfigurations."""

LOSS_KEYS = ("access.residual_loss", "access.residual_loss_up")
NO_LOSS = dict.fromkeys(LOSS_KEYS, "0 %")
"""The scenario keys that set isolated loss to 0 in both directions, so that only handovers cause losses. In the
direction of ACKs, isolated loss has little effect, because a lost ACK costs little."""


def few_seeds(count: int) -> Callable[[Mapping[str, Any], int], bool]:
    """Return a filter that selects the runs with the first `count` seeds, for a quick reproduction."""
    return lambda values, seed: seed <= count


def content(name: str, scenario: str, parameters: dict[str, Any], seeds: int | None) -> dict[str, Any]:
    """Return the content of a study file. If `seeds` is None, the parameters set the seed of each run."""
    made = {"name": name, "scenario": scenario, "set": {}, "parameters": dict(parameters)}
    return made if seeds is None else made | {"seeds": {"first": 1, "count": seeds}}
