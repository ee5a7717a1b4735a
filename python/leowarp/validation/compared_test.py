# SPDX-License-Identifier: Apache-2.0
"""Tests of distances and verdicts, and of skipped recordings. tests/guest/validate_test.py tests runs in the guest."""

import numpy as np
import pytest

from leowarp.timeline.recordings.measurement import Series, Transfer
from leowarp.timeline.recordings.period.schedule import Schedule
from leowarp.validation import LIMIT_RATIO, PUBLIC, Skipped, validate
from leowarp.validation.compared import _row
from leowarp.validation.made import printed_ns
from leowarp.validation.quantities import (
    ABOVE,
    DIFFERENCES,
    GOODPUT,
    LOSSES,
    RETRANSMISSIONS,
    STEPS,
    of_probes,
    of_transfer,
)

SECOND_NS = 1_000_000_000


def test_a_missing_recording_is_skipped_with_the_line_that_fetches_it(tmp_path):
    found = validate(["starlink-lagos", "nowhere.txt"], tmp_path / "out", recordings_folder=tmp_path)
    assert all(isinstance(one, Skipped) for one in found)
    assert PUBLIC["starlink-lagos"].address in found[0].fetch
    assert "leowarp validate --list" in found[1].why


def test_another_content_under_a_public_name_is_not_taken(tmp_path):
    public = PUBLIC["starlink-lagos"]
    (tmp_path / public.file_name).write_text("1 2 3\n")
    (found,) = validate([public.name], tmp_path / "out", recordings_folder=tmp_path)
    assert "another content" in found.why


def test_a_file_that_cannot_be_read_is_skipped_with_why(tmp_path):
    (tmp_path / "x.txt").write_text("no recording\n")
    (found,) = validate([str(tmp_path / "x.txt")], tmp_path / "out", recordings_folder=tmp_path)
    assert isinstance(found, Skipped)
    assert "x.txt" in found.why


@pytest.mark.parametrize("count", [1, 2, 12])
def test_a_few_round_trips_are_skipped_with_how_many_it_takes(tmp_path, count):
    replies = [f"[{1715947200 + n}.5] 64 bytes from 192.0.2.1: icmp_seq={n} ttl=54 time=25.3 ms" for n in range(count)]
    (tmp_path / "x.txt").write_text("\n".join(["PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data.", *replies]) + "\n")
    (found,) = validate([str(tmp_path / "x.txt")], tmp_path / "out", recordings_folder=tmp_path)
    assert "8 are the fewest" in found.why


def test_every_public_recording_says_where_and_what_it_is():
    for public in PUBLIC.values():
        assert len(public.sha256) == 64
        assert len(public.commit) == 40
        assert public.licence
    assert len({public.sha256 for public in PUBLIC.values()}) == len(PUBLIC)


def test_quantities_of_probes():
    t_ns = np.arange(0, 60 * SECOND_NS, SECOND_NS // 10, dtype=np.int64)
    delay_ns = np.where((t_ns // (15 * SECOND_NS)) % 2 == 0, 30e6, 38e6)
    delay_ns[105:108] = np.nan
    found = of_probes(Series.of(t_ns, delay_ns), Schedule(15 * SECOND_NS, 0))
    assert found[STEPS].tolist() == [8.0, 8.0, 8.0]
    assert found[LOSSES].tolist() == [3.0]
    assert found[DIFFERENCES].max() == 8.0
    # No difference is computed between a lost probe and its neighbours.
    assert len(found[DIFFERENCES]) == len(t_ns) - 1 - 4
    assert found[ABOVE].max() == 0.0


def test_quantities_of_a_transfer_add_up():
    count = 105
    transfer = Transfer(
        t_ns=np.arange(count, dtype=np.int64) * (SECOND_NS // 10),
        length_ns=np.full(count, SECOND_NS // 10),
        way="down",
        rate_bps=np.linspace(1e6, 9e6, count),
        retransmissions=np.arange(count, dtype=np.float64),
        cwnd_bytes=np.full(count, np.nan),
        rtt_ns=np.full(count, np.nan),
    )
    found = of_transfer(transfer)
    # The goodput has ten samples, one per whole second; the half second at the end has none.
    assert found[GOODPUT].sum() * 1e6 == pytest.approx(transfer.rate_bps[:100].sum() / 10)
    assert found[RETRANSMISSIONS].sum() == sum(range(100))
    assert len(found[GOODPUT]) == 10


def verdict(recorded, fitted, before=None):
    before = recorded[::2] if before is None else before
    return _row(GOODPUT, {"recording": recorded, "fitted": fitted, "default": fitted}, before)


def test_verdicts_go_by_distance_floor_and_noise():
    rng = np.random.default_rng(1)
    recorded = rng.normal(size=4000)
    assert verdict(recorded, rng.normal(size=4000)).verdict.startswith("holds")
    far = verdict(recorded, rng.normal(loc=2.0, size=4000))
    assert far.distances["fitted"] > LIMIT_RATIO
    assert far.verdict.startswith("differs")
    assert "burst of loss" in far.verdict
    apart = recorded + 6.0
    assert verdict(recorded, rng.normal(loc=2.0, size=4000), apart).verdict.startswith("no further than")
    # The true distance is 0.25. With only 20 samples, the distance could be as large as 0.43 by chance.
    few = np.arange(20.0)
    assert verdict(few, few + 5.0).verdict.startswith("cannot tell")
    assert verdict(few, few).verdict == "holds (fitted); 20 samples may be 0.43 apart by chance"
    assert verdict(recorded[:3], recorded).verdict.startswith("not compared")


def test_round_trips_have_the_digits_that_ping_prints():
    assert printed_ns(np.array([9.876e6, 45.678e6, 123.456e6])).tolist() == [9.88e6, 45.7e6, 123e6]
    assert np.isnan(printed_ns(np.array([np.nan]))).all()
