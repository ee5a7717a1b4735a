# SPDX-License-Identifier: Apache-2.0
"""The load of links on a page: utilisation, queues and drops, per second and over the run's whole duration."""

from __future__ import annotations

from typing import Any

import numpy as np

from leowarp.metrics import link_loads
from leowarp.metrics.inputs.tables import floats
from leowarp.results.run import Run
from leowarp.view.container import Arrays

STEP_NS = 1_000_000_000
"""The length of a step, in ns. A packet is counted in the step in which it was sent. A step should therefore be much
longer than a packet's travel time of about 0.1 s."""

MOST_ROWS = 100_000
"""The maximum number of rows of all directions and steps together. If a run needs more rows, its steps become
longer."""


def load_of(run: Run, arrays: Arrays) -> dict[str, Any] | None:
    """Return the load, longest queue and drops of each direction in each step. The result is None if no link carried
    packets, or if their number is unknown.

    Returns: The `step_s`, and the rows of all directions, one direction after another. `rows` has the number of rows of
        each direction in `directions`. Each row has `steps`, `busy_permille`, `queue_pkts` and `dropped_pkts`.
        `busy_permille` is missing if the direction has no rate limit, or if its load was not recorded. `queue_pkts` is
        missing if it was not sampled. In the first row of a direction, `steps` is the number of the row's step. In each
        further row, `steps` is the number of steps since the previous row. If all values of a step are 0, the step has
        no row. `run` has the values of the whole run, as in `Run.links`. Each direction in `run.directions` has
        `busy_permille` (of the time on a path), `queue_pkts` and `dropped_pkts`.
    """
    step_ns = STEP_NS
    flows, header_bytes = run.observed_plan.flows, run.plan.network.ip_header_bytes
    while True:
        frame = link_loads(run.tables, flows, run.end_ns, step_ns, header_bytes)
        if len(frame) <= MOST_ROWS:
            break
        step_ns *= -(-len(frame) // MOST_ROWS)
    if len(frame) == 0:
        return None
    directions, rows = np.unique(frame["direction"].to_numpy(), return_counts=True)
    step = frame["step"].to_numpy()
    first = np.append(0, np.cumsum(rows)[:-1])
    steps = np.diff(step, prepend=0)
    steps[first] = step[first]
    # The load over the whole run follows from counters of all packets.
    links = run.links()
    dropped = sum(floats(links[f"dropped_{cause}_pkts"]) for cause in ("queue", "loss", "down"))
    return {
        "step_s": step_ns / 1e9,
        "directions": arrays.integers(directions),
        "rows": arrays.integers(rows),
        "steps": arrays.integers(steps),
        "busy_permille": arrays.integers(1e3 * frame["busy_ratio"].to_numpy()),
        "queue_pkts": arrays.integers(frame["queue_max_pkts"].to_numpy()),
        "dropped_pkts": arrays.integers(frame["dropped_pkts"].to_numpy()),
        "run": {
            "directions": arrays.integers(links["direction"].to_numpy()),
            "busy_permille": arrays.integers(1e3 * floats(links["use_on_path_ratio"])),
            "queue_pkts": arrays.integers(floats(links["queue_max_pkts"])),
            "dropped_pkts": arrays.integers(dropped),
        },
    }
