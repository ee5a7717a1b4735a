# SPDX-License-Identifier: Apache-2.0
"""Tests with traces of Mahimahi that occur in practice. They have zeros, gaps or damaged lines, or are in another
format of the same name."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings import Capacity, Measurement, read_capacity
from leowarp.timeline.recordings.capacity_description import described_capacity
from leowarp.timeline.recordings.formats.mahimahi import capacity_of
from support.synthetic.dish import MS


def capacity(folder: Path, text: str) -> Capacity:
    path = folder / "down.trace"
    path.write_text(text)
    return read_capacity(path, "mahimahi")[0]


def none_at_all_ms(times_ms: list[int]) -> float:
    found = described_capacity(capacity_of(np.array(times_ms)))
    assert found is not None
    return found.zero_ns / MS


@pytest.mark.parametrize("every_ms", [1, 4, 12, 120])
def test_a_steady_trace_never_stops(every_ms: int) -> None:
    assert none_at_all_ms(list(range(every_ms, 20_001, every_ms))) == 0


def test_a_rate_that_changes_is_no_gap() -> None:
    assert none_at_all_ms([*range(1, 3000), *range(3000, 6000, 12), *range(6000, 9000)]) == 0


def test_gaps_are_what_is_longer_than_the_spacing() -> None:
    first = [0] * 4 + [1] * 5 + [2, 2, 3, 3, 3, 7, 7, 7, 7, 8, 8, 131, 131, 131, *range(140, 1001, 4)]
    assert none_at_all_ms(first) == 122
    assert none_at_all_ms([5000 + time for time in first]) == 122 + 4999
    assert none_at_all_ms([*range(4, 5001, 4), *range(15_000, 20_001, 4)]) == 9999


def test_a_trace_of_weeks_takes_no_row_for_each_millisecond(tmp_path: Path) -> None:
    found = capacity(tmp_path, "1\n2592000000\n")
    assert (len(found.t_ns), found.end_ns) == (3, 2_592_000_000 * MS)


def test_a_damaged_line_is_counted_and_the_rest_read(tmp_path: Path) -> None:
    lines = [str(4 * n) for n in range(1, 101)]
    lines[40] = "1x4"
    found = capacity(tmp_path, "\n".join(lines) + "\n")
    assert found.notes == ("skipped 1 line that is no time in ms (line 41, '1x4')",)
    assert Measurement(source="a", format="mahimahi").with_capacity(found, None).notes == found.notes
    assert capacity(tmp_path, "\n".join(lines[:40]) + "\n16").notes[0].startswith("skipped 1 last line ")


def test_other_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="Pensieve") as raised:
        capacity(tmp_path, "0.0\t2.0\n0.5\t2.7\n1.0\t3.4\n")
    assert "rate_mbps" in str(raised.value.hint)
    trace = "".join(f"{4 * n}\n" for n in range(1, 101))
    with pytest.raises(ScenarioError, match="a second trace begins here") as raised:
        capacity(tmp_path, trace * 2)
    assert "head -n 100" in str(raised.value.hint)


change = st.tuples(st.sampled_from(["cut", "double", "swap", "drop"]), st.integers(0, 99))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.lists(change, max_size=5))
def test_every_line_is_an_opportunity_or_skipped_or_the_trace_refused(
    tmp_path: Path, changes: list[tuple[str, int]]
) -> None:
    lines = [str(4 * n) for n in range(1, 101)]
    for kind, place in changes:
        place = min(place, len(lines) - 1)
        match kind:
            case "cut":
                lines[place] = "x"
            case "double":
                lines.insert(place, lines[place])
            case "swap":
                lines[place], lines[place - 1] = lines[place - 1], lines[place]
            case "drop":
                del lines[place]
    try:
        found = capacity(tmp_path, "\n".join(lines) + "\n")
    except ScenarioError:
        return
    bits = float((found.rate_bps * np.diff(np.append(found.t_ns, found.end_ns))).sum() / 1e9)
    skipped = int(found.notes[0].split()[1]) if found.notes else 0
    assert round(bits / 12_000) + skipped == len(lines)
