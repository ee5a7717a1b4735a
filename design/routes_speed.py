# SPDX-License-Identifier: Apache-2.0
"""Prints the CPU time that routes and timelines take: PYTHONPATH=tests python design/routes_speed.py [updates]."""

from __future__ import annotations

import sys
import time

from leowarp.ephemeris import ephemeris_of
from leowarp.media import routes_of
from leowarp.media.constellation.timeline import constellation_timeline
from leowarp.scenario.schema import Isl, Network, Plan, Routing
from support.plans import S, plan, shell, star


def cases(updates: int) -> dict[str, Plan]:
    each_second = Routing(interval_ns=S, link_interval_ns=S)
    study = {"duration_s": 1000}
    return {
        f"72 x 22, plus-grid, {updates} updates": plan(
            shell(), duration_s=updates, isl=Isl(rule="plus-grid"), routing=each_second
        ),
        f"72 x 22, range 1500 km, {updates} updates": plan(
            shell(), duration_s=updates, isl=Isl(max_range_m=1500e3), routing=each_second
        ),
        f"72 x 22, range 3000 km, {updates} updates": plan(shell(), duration_s=updates, routing=each_second),
        f"72 x 22, range 3000 km, 4 terminals, {updates} updates": plan(
            shell(), duration_s=updates, isl=Isl(terminals=4), routing=each_second
        ),
        "18 x 36, the study": plan(star(), **study),
        "72 x 22, plus-grid, all instantiated, 1000 s": plan(
            shell(), isl=Isl(rule="plus-grid"), network=Network(instantiate="all"), **study
        ),
        "18 x 36, range 3000 km, all instantiated, 1000 s": plan(network=Network(instantiate="all"), **study),
    }


def main() -> None:
    updates = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    print(f"{'':55} {'routes':>8} {'timeline':>9} {'events':>9}")
    for name, of in cases(updates).items():
        begin = time.process_time()
        where = ephemeris_of(of)
        assert where is not None
        ways = routes_of(of, where)
        between = time.process_time()
        table = constellation_timeline(of, where, ways)
        end = time.process_time()
        print(f"{name:55} {between - begin:7.2f}s {end - between:8.2f}s {table.num_rows:9}", flush=True)


if __name__ == "__main__":
    main()
