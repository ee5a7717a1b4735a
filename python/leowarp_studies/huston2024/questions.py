# SPDX-License-Identifier: Apache-2.0
"""Runs that answer questions about the study: what causes the peak, why BBR does well, and what effect HyStart and
jitter have.

Each group changes one property of the profile. The runs use the seeds of the study's other groups, so that the paths
are the same.
"""

from __future__ import annotations

import itertools
from typing import Any

from leowarp.study.parts import Part
from leowarp_studies.huston2024.groups import NO_LOSS, OFF_PEAK, PEAK, TCP_SCENARIO, content, few_seeds

SHARED_SEEDS = CONDITION_SEEDS = 6
"""With at least this many seeds, the range of the values contains the median with 95 % confidence."""
CONTROL_SEEDS = 10

CUSTOMERS = (2, 4, 8)
"""The numbers of flows that other customers have on the link. The study does not state the number of flows. If other
customers had 4 or 5 flows, a fair share of about 250 Mbit/s would be 45 Mbit/s, as the study measured."""
SHARING = ("cubic", "bbr")

STILL = {
    "capacity": {"access.capacity_spread": "0 %", "access.wander": "0 %", "access.modulation": "0 %"},
    # 27.5 ms is the middle of the profile's range of base RTTs, 20 to 35 ms.
    "base": {"access.base_rtt_min": "27.5 ms", "access.base_rtt_max": "27.5 ms", "access.base_step_min": "0 s"},
    "jitter": {"access.jitter": "0 s", "access.jitter_up": "0 s"},
}
"""A dict from each property of the path to the scenario keys that make it constant."""
_VARIES: dict[str, Any] = {
    "access.capacity_spread": "20 %", "access.wander": "8 %", "access.modulation": "12 %",
    "access.base_rtt_min": "20 ms", "access.base_rtt_max": "35 ms", "access.base_step_min": "3 ms",
    "access.jitter": "2.2 ms", "access.jitter_up": "10.5 ms",
}  # fmt: skip
"""The profile's own values for the scenario keys in `STILL`."""
ALL_STILL = tuple(STILL)

NO_JITTER, MEAN_KEPT = "no-jitter", "no-jitter-same-mean"
"""The two conditions for CUBIC without jitter. With `NO_JITTER`, round trips are shorter by the mean jitter of 12.7 ms.
`MEAN_KEPT` adds 12.7 ms to the base RTT, so the mean round trip is the same as with jitter."""
JITTER = {
    NO_JITTER: {"access.base_rtt_min": "20 ms", "access.base_rtt_max": "35 ms"},
    MEAN_KEPT: {"access.base_rtt_min": "32.7 ms", "access.base_rtt_max": "47.7 ms"},
}


def condition(still: tuple[str, ...]) -> str:
    """Return the name that a condition has in the results.

    >>> condition(()), condition(("capacity", "jitter"))
    ('still-nothing', 'still-capacity-jitter')
    """
    return f"still-{'-'.join(still) or 'nothing'}"


def conditions() -> dict[str, tuple[str, ...]]:
    """Return the eight conditions as a dict. Each key is the name of a condition, and its value contains the path
    properties that are constant."""
    every = [still for count in range(len(ALL_STILL) + 1) for still in itertools.combinations(ALL_STILL, count)]
    return {condition(still): still for still in every}


def parts() -> tuple[Part, ...]:
    """Return all groups of runs."""
    return _hystart(), _jitter(), _conditions(), *(_shared(count) for count in CUSTOMERS)


def shared_name(customers: int) -> str:
    """Return the name of the group with this number of flows of other customers.

    >>> shared_name(4)
    'shared-4'
    """
    return f"shared-{customers}"


def _hystart() -> Part:
    """Return a group of runs with CUBIC at peak, but without HyStart. This group tests whether HyStart causes the first
    peak."""
    made = content("hystart", TCP_SCENARIO, {}, CONTROL_SEEDS)
    made["set"] |= {"name": "cubic-nohystart", "access.preset": PEAK, "modules.tcp_cubic.hystart": "0"}
    made["keep"] = {"runs": "all"}
    return Part("hystart", "CUBIC at peak without HyStart", made, CONTROL_SEEDS, few_seeds(1))


def _jitter() -> Part:
    """Return a group of CUBIC runs without jitter. Half of the runs have isolated loss."""
    made = content("jitter", TCP_SCENARIO, {}, CONTROL_SEEDS)
    made["set"] |= STILL["jitter"] | {"access.preset": PEAK}
    keys = ("access.base_rtt_min", "access.base_rtt_max")
    cells = [(name, loss) for name in JITTER for loss in ("0.01 %", "0 %")]
    made["together"] = [
        {"name": [name for name, _ in cells]}
        | {key: [JITTER[name][key] for name, _ in cells] for key in keys}
        | {key: {"label": key.removeprefix("access."), "values": [loss for _, loss in cells]} for key in NO_LOSS}
    ]
    return Part("jitter", "CUBIC without jitter", made, len(cells) * CONTROL_SEEDS, few_seeds(1))


def _conditions() -> Part:
    """Return a group of runs with BBR over several paths. Each of capacity, base delay and jitter varies or is
    constant, and the group has all combinations."""
    made = content("conditions", TCP_SCENARIO, {}, CONDITION_SEEDS)
    made["set"] |= {"flows.0.congestion_control": "bbr", "access.preset": PEAK}
    every = conditions()
    # The keys of a condition vary together. The name of a condition lists the properties that are constant.
    cells = [_VARIES | {key: value for what in still for key, value in STILL[what].items()} for still in every.values()]
    made["together"] = [{"name": list(every)} | {key: [cell[key] for cell in cells] for key in _VARIES}]
    made["keep"] = {"runs": "all"}
    return Part("conditions", "why BBR does well: what of the path stands still", made, len(cells) * CONDITION_SEEDS,
                few_seeds(1))  # fmt: skip


def _shared(customers: int) -> Part:
    """Return a group of runs in which a CUBIC or BBR flow shares the link with CUBIC flows of other customers. All runs
    have the isolated loss of off-peak hours."""
    made = content(shared_name(customers), TCP_SCENARIO, {}, SHARED_SEEDS)
    made["set"] |= {"access.preset": OFF_PEAK}
    for number in range(1, customers + 1):
        made["set"] |= {
            f"flows.{number}.kind": "tcp", f"flows.{number}.source": "server", f"flows.{number}.destination": "dish",
            f"flows.{number}.congestion_control": "cubic",
        }  # fmt: skip
    made["parameters"]["flows.0.congestion_control"] = {"label": "congestion_control", "values": list(SHARING)}
    return Part(shared_name(customers), f"beside {customers} flows of other customers", made,
                len(SHARING) * SHARED_SEEDS, few_seeds(1))  # fmt: skip
