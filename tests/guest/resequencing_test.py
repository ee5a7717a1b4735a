# SPDX-License-Identifier: Apache-2.0
"""Tests that stations number packets and restore their order. A second implementation of RFC 9550's algorithms must
give the same results."""

from __future__ import annotations

from collections.abc import Iterable, Set

import pytest

from support.route_changes import (
    AT_A_SATELLITE,
    AT_THE_STATION,
    MS,
    expected,
    late_pkts,
    made,
    received,
    went_a_new_way,
)

pytestmark = pytest.mark.guest


def resequenced(
    arrivals: Iterable[tuple[int, int]], delay_ns: int, may_wait: Set[int] | None = None
) -> tuple[dict[int, int], dict[str, int]]:
    """Return the times at which the packets 0, 1, ... are passed on, and the counts. They are computed from the pairs
    (arrival, number) in `arrivals`.

    With the advanced algorithm, a packet waits for earlier packets only if it is on a new path (`may_wait`).
    """
    waiting: dict[int, int] = {}
    left: dict[int, int] = {}
    last = -1
    did = {"waited_pkts": 0, "given_up_pkts": 0, "late_pkts": 0, "longest_ns": 0}

    def leave(number: int, at_ns: int) -> None:
        nonlocal last
        if number in waiting:
            did["longest_ns"] = max(did["longest_ns"], at_ns - waiting.pop(number))
        did["given_up_pkts"] += number - last - 1
        left[number], last = at_ns, number
        while last + 1 in waiting:
            leave(last + 1, at_ns)

    def end_waits(now_ns: int) -> None:
        while waiting and min(waiting.values()) + delay_ns <= now_ns:
            first = min(waiting, key=lambda number: (waiting[number], number))
            at_ns = waiting[first] + delay_ns
            for number in sorted(n for n in waiting if n <= first):
                if number in waiting:
                    leave(number, at_ns)

    for at_ns, number in sorted(arrivals):
        end_waits(at_ns)
        if number <= last:
            did["late_pkts"] += 1
            left[number] = at_ns
        elif number == last + 1:
            leave(number, at_ns)
        elif may_wait is not None and number not in may_wait:
            for before in sorted(n for n in waiting if n < number):
                if before in waiting:
                    leave(before, at_ns)
            leave(number, at_ns)
        else:
            did["waited_pkts"] += 1
            waiting[number] = at_ns
    end_waits(1 << 62)
    return left, did


def test_the_algorithm_by_hand():
    left, did = resequenced([(1, 0), (2, 2), (3, 3), (9, 1), (10, 4)], 5)
    assert left == {0: 1, 2: 7, 3: 7, 1: 9, 4: 10}
    assert did == {"waited_pkts": 2, "given_up_pkts": 1, "late_pkts": 1, "longest_ns": 5}


def test_the_advanced_algorithm_by_hand():
    # packet 2 took the old path, so packet 1 is lost; packet 4 took the new path, so it waits for packet 3
    left, did = resequenced([(1, 0), (2, 2), (3, 4), (6, 3), (7, 6), (20, 5)], 5, {4, 6})
    assert left == {0: 1, 2: 2, 3: 6, 4: 6, 6: 12, 5: 20}
    assert did == {"waited_pkts": 2, "given_up_pkts": 2, "late_pkts": 1, "longest_ns": 5}


@pytest.mark.parametrize("change", [AT_A_SATELLITE, AT_THE_STATION])
@pytest.mark.parametrize("delay", ["50 ms", "4 ms"])
@pytest.mark.parametrize("by", ["flow", "aggregate"])
def test_each_packet_leaves_when_the_algorithm_says(tmp_path, change, delay, by):
    run = made(tmp_path, change, {"resequence": by, "resequence_delay": delay})
    arrival_ns, _ = expected(run, change, moves=False, holds=False)
    assert late_pkts(arrival_ns) > 0
    left_ns, did = resequenced(((at_ns, n) for n, at_ns in arrival_ns.items()), int(delay.split()[0]) * MS)
    assert received(run) == left_ns
    [order] = run.orders().to_dict("records")
    assert {name: int(order[name]) for name in did} == did
    assert (order["source_host"], order["destination_host"]) == ("host:Madrid", "host:Tokyo")
    assert order["numbered_pkts"] == 40
    assert (order["protocol"] == 17) == (by == "flow")
    # the queue at the station needs more than 4 ms to drain
    assert (late_pkts(received(run)) == 0) == (delay == "50 ms" or change is AT_A_SATELLITE)


def test_a_packet_that_is_lost_holds_the_others_up_for_the_delay(tmp_path):
    lossy = {"isl.loss": "3 %", "run.seed": 4}
    run = made(tmp_path / "run", AT_A_SATELLITE, {"resequence": "flow", "resequence_delay": "3 ms"}, **lossy)
    arrived = made(tmp_path / "plain", AT_A_SATELLITE, {}, **lossy)
    assert len(arrived.drops()) > 0
    left_ns, did = resequenced(((at_ns, n) for n, at_ns in received(arrived).items()), 3 * MS)
    assert received(run) == left_ns
    assert did["given_up_pkts"] > 0
    assert run.orders().iloc[0].given_up_pkts == did["given_up_pkts"]


@pytest.mark.parametrize("change", [AT_A_SATELLITE, AT_THE_STATION])
@pytest.mark.parametrize("loss", ["0 %", "3 %"])
def test_by_the_advanced_algorithm_only_packets_of_a_new_way_wait(tmp_path, change, loss):
    lossy = {"isl.loss": loss, "run.seed": 4}
    cures = {"resequence": "flow", "resequence_delay": "50 ms"}
    run = made(tmp_path / "run", change, {**cures, "resequence_kind": "advanced"}, **lossy)
    arrived = made(tmp_path / "plain", change, {}, **lossy)
    assert (len(arrived.drops()) > 0) == (loss != "0 %")
    arrivals = [(at_ns, n) for n, at_ns in received(arrived).items()]
    left_ns, did = resequenced(arrivals, 50 * MS, went_a_new_way(arrived, change))
    assert received(run) == left_ns
    [order] = run.orders().fillna(0).to_dict("records")
    assert {name: int(order[name]) for name in did} == did
    assert late_pkts(left_ns) == 0 < late_pkts(received(arrived))
    # with the basic algorithm, packets also wait for a packet that was lost before the change
    _, basic = resequenced(arrivals, 50 * MS)
    assert basic["waited_pkts"] >= did["waited_pkts"] > 0
    assert (basic["waited_pkts"] > did["waited_pkts"]) == (loss != "0 %")


def test_what_a_full_queue_refuses_was_never_numbered(tmp_path):
    run = made(tmp_path, AT_THE_STATION, {"resequence": "flow"}, **{"ground.queue": "10 pkts"})
    dropped = len(run.drops())
    assert dropped > 0
    order = run.orders().iloc[0]
    assert order.numbered_pkts == 40 - dropped
    assert order.given_up_pkts == 0
