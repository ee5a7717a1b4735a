# SPDX-License-Identifier: Apache-2.0
"""Tests the Python bindings with worked examples, every type of column, rejected inputs, and arrivals in several
calls."""

import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leowarp import reordering
from leowarp.base.errors import LeowarpError, ScenarioError, TraceError

# RFC 5236, 8a
SEQUENCE = [1, 4, 2, 5, 3, 6, 7, 8]
RD = {"-2": 0.125, "-1": 0.125, "0": 0.5, "1": 0.125, "2": 0.125}


def test_the_studys_example_has_its_density_mean_displacement_and_entropy():
    # The example is from torres2020, tables 1 and 2.
    arrivals = [1, 6, 7, 2, 3, 4, 5, 8]
    assert reordering.density(arrivals, threshold_pkts=200).to_dict() == {"-4": 0.25, "0": 0.25, "2": 0.5}
    assert reordering.mean_displacement(arrivals) == 2
    assert reordering.entropy(arrivals) == pytest.approx(1.5 * math.log(2), rel=1e-12)


# Tests RFC 5236, 8 (example a).
# Tests RFC 5236, 8 (example b).
# Tests RFC 5236, 8 (example c).
def test_rfc_5236_example_8():
    found = reordering.measure(SEQUENCE, threshold_pkts=4)
    assert found.density.to_dict() == RD
    assert found.buffer_density.to_dict() == {"0": 0.625, "1": 0.25, "2": 0.125}
    assert found.buffer_mean_pkts == 0.5
    lossy = reordering.measure([1, 2, 4, 5, 6, 7], threshold_pkts=3)
    assert (lossy.density.to_dict(), lossy.lost_pkts) == ({"0": 1.0}, 1)
    assert lossy.buffer_density.to_dict() == {"0": 0.5, "1": 1 / 6, "2": 1 / 6, "3": 1 / 6}
    repeated = reordering.measure([1, 3, 2, 3, 4, 5], threshold_pkts=2)
    assert (repeated.density.to_dict(), repeated.duplicate_pkts) == ({"-1": 0.2, "0": 0.6, "1": 0.2}, 1)


# Tests RFC 4737, 7.1 (table 1).
def test_rfc_4737_table_1_with_times_and_bytes():
    # Each packet has 100 bytes of payload; destination times are in ms.
    found = reordering.measure(
        [1, 2, 3, 5, 6, 7, 8, 4, 9, 10],
        t_ns=np.array([68, 88, 108, 148, 168, 188, 208, 210, 228, 248]) * 10**6,
        len_bytes=[100] * 10,
    )
    assert (found.reordered_pkts, found.reordered_ratio) == (1, 0.1)
    assert found.extents.to_dict() == {
        "mean_pkts": 4.0, "max_pkts": 4, "late_time_mean_ns": 62e6, "late_time_max_ns": 62_000_000,
        "byte_offset_mean_bytes": 400.0, "byte_offset_max_bytes": 400, "counts_pkts": {"4": 1},
    }  # fmt: skip
    assert found.n_reordering.to_dict() == {str(n): 0.1 if n <= 4 else 0.0 for n in range(1, 11)}


# Tests RFC 4737, 7.4 (table 4).
def test_rfc_4737_table_4_has_gap_and_runs():
    arrivals = [1, 2, 3, 6, 7, 4, 5, 8, 9, 10, 12, 13, 11, 14, 15, 16]
    gaps = reordering.gaps(arrivals)
    assert (gaps.reordering_discontinuities, gaps.gaps, gaps.max_pkts, gaps.max_ns) == (2, 1, 7, None)
    runs = reordering.runs(arrivals)
    # The three runs end at packets 4, 5 and 11, and have 5, 0 and 5 packets in order.
    assert (runs.runs, runs.in_order_pkts, runs.last_pkts) == (3, 13, 3)
    assert reordering.extents(arrivals).extent_pkts.tolist() == [2, 3]
    assert reordering.extents(arrivals).pkts.tolist() == [2, 1]
    assert reordering.ratio(arrivals) == 3 / 16


@pytest.mark.parametrize(
    "column",
    [
        SEQUENCE,
        tuple(SEQUENCE),
        np.array(SEQUENCE, dtype="int16"),
        np.array(SEQUENCE, dtype=">u8"),
        np.array([SEQUENCE, SEQUENCE], dtype="uint64")[:, :].T[:, 0],
        pa.array(SEQUENCE),
        pa.chunked_array([SEQUENCE[:3], [], SEQUENCE[3:]]),
        pa.array([0, *SEQUENCE], pa.uint32())[1:],
        pd.Series(SEQUENCE),
        pd.Series(SEQUENCE, dtype="Int64"),
        np.array(SEQUENCE, dtype=object),
    ],
    ids=lambda column: f"{type(column).__name__} {getattr(column, 'dtype', '')}",
)
def test_every_kind_of_column_is_taken(column):
    assert reordering.density(column, threshold_pkts=4).to_dict() == RD


@pytest.mark.parametrize(
    ("column", "telling"),
    [
        ([], "empty sequence"),
        (np.zeros(0, dtype="uint64"), "empty sequence"),
        (pa.array([], pa.int64()), "empty sequence"),
        ([1, -2, 3], r"-2 at index 1 is negative"),
        ([1.0, 2.5], "type float64"),
        (["1", "2"], "type"),
        ([1, None], "index 1 is not a whole number"),
        ([2**63], "larger than 9223372036854775807"),
        ([2**64], "larger than 9223372036854775807"),
        ([-(2**70)], "negative"),
        (pa.array([1, None, 3]), "index 1 is missing"),
        (pd.Series([1, None], dtype="Int64"), "index 1 is missing"),
        (np.array([1, pd.NA], dtype=object), "index 1 is missing"),
        (np.ma.array([1, 2], mask=[False, True]), "index 1 is missing"),
        ([[1, 2], [3, 4]], r"one column"),
    ],
)
def test_what_is_no_sequence_is_refused_with_its_place(column, telling):
    with pytest.raises(TraceError, match=telling):
        reordering.measure(column)


@pytest.mark.parametrize(
    ("given", "telling"),
    [
        ({"threshold_pkts": 0}, "threshold_pkts = 0"),
        ({"buffer_threshold_pkts": 0}, "buffer_threshold_pkts = 0"),
        ({"threshold_pkts": -1}, "threshold_pkts = -1"),
        ({"threshold_pkts": 2.5}, "not a whole number"),
        ({"threshold_pkts": 2**40}, "not within"),
        ({"loss_window_pkts": 0}, "loss_window_pkts"),
        ({"n_max": 0}, "n_max"),
        ({"loss_window_pkts": 2**24 + 1}, "loss_window_pkts"),
        ({"n_max": 2**16 + 1}, "n_max"),
        ({"bits": 64}, "bits"),
        ({"first_seq": -1}, "first_seq"),
        ({"first_seq": 70_000, "bits": 16}, "does not fit into 16 bits"),
    ],
)
def test_a_setting_out_of_range_is_refused_and_says_what_to_do(given, telling):
    with pytest.raises(ScenarioError, match=telling):
        reordering.Meter(**given)


# Tests RFC 4737, 4.1.2 (waiting time).
# Tests RFC 4737, 6 (sliding window).
@pytest.mark.slow
def test_the_largest_window_and_n_that_are_taken_are_in_force():
    late = reordering.measure([2**24 + 1, 1], loss_window_pkts=2**24, threshold_pkts=1, n_max=2**16)
    assert (late.reordered_pkts, late.too_late_pkts) == (1, 0)
    assert late.n_reordering.n[-1] == 2**16
    lost = reordering.measure([2**24 + 2, 1], loss_window_pkts=2**24, threshold_pkts=1)
    assert (lost.reordered_pkts, lost.too_late_pkts) == (0, 1)


def test_columns_of_different_lengths_are_refused_and_leave_the_meter_as_it_was():
    meter = reordering.Meter()
    meter.arrive([1, 2])
    with pytest.raises(TraceError, match="2 sequence numbers and 3 instants"):
        meter.arrive([3, 4], t_ns=[1, 2, 3])
    with pytest.raises(TraceError, match="at index 3 is negative"):
        meter.arrive([3, -4])
    with pytest.raises(TraceError, match="instant of arrival"):
        meter.arrive([3], t_ns=[0.5])
    with pytest.raises(TraceError, match="larger than 4294967295"):
        meter.arrive([3], len_bytes=[2**32])
    assert meter.measured().received_pkts == 2


def test_numbers_that_wrap_around_go_on_and_a_wider_one_is_refused():
    around = [65533, 65534, 1, 65535, 0, 2]
    found = reordering.measure(around, bits=16)
    assert (found.expected_pkts, found.lost_pkts, found.reordered_pkts) == (6, 0, 2)
    assert found.density.to_dict() == reordering.density([0, 1, 4, 2, 3, 5]).to_dict()
    assert reordering.measure(around, bits=16, first_seq=65530).lost_pkts == 3
    with pytest.raises(TraceError, match="65536 at index 0 is larger than 65535"):
        reordering.measure([65536], bits=16)
    assert reordering.measure([2**32 - 1, 0, 1], bits=32).lost_pkts == 0


def test_packets_that_were_sent_show_losses_at_the_end_and_cannot_be_fewer_than_received():
    assert reordering.measure([0, 1, 2], sent_pkts=5, first_seq=0).lost_pkts == 2
    with pytest.raises(TraceError, match="more than the 2 that were sent"):
        reordering.measure([0, 1, 2], sent_pkts=2)


def test_without_times_and_lengths_what_needs_them_is_missing_and_not_0():
    without = reordering.measure([1, 3, 2])
    assert (without.extents.max_pkts, without.extents.late_time_max_ns) == (1, None)
    assert without.extents.byte_offset_max_bytes is None
    in_order = reordering.measure([1, 2, 3])
    assert (in_order.extents.mean_pkts, in_order.runs.mean_pkts, in_order.reordered_ratio) == (None, None, 0.0)
    instants = np.array(["2026-01-01T00:00:00.000", "2026-01-01T00:00:00.002", "2026-01-01T00:00:00.005"], "M8[ms]")
    assert reordering.extents([1, 3, 2], t_ns=instants).late_time_max_ns == 3_000_000


# Tests RFC 4737, 1.2 (on the fly).
# Tests RFC 5236, 7 (up to date).
def test_a_meter_tells_in_between_and_goes_on():
    meter = reordering.Meter(threshold_pkts=4)
    meter.arrive(SEQUENCE[:3])
    assert meter.measured().received_pkts == 3
    meter.arrive(SEQUENCE[3:])
    assert meter.measured().density.to_dict() == RD
    assert "received_pkts=8" in repr(meter.measured())


@settings(max_examples=40)
@given(st.lists(st.integers(0, 60), min_size=1, max_size=120), st.integers(1, 30), st.integers(1, 60))
def test_a_sequence_in_parts_is_measured_as_the_whole(arrivals, threshold, cut):
    whole = reordering.measure(arrivals, threshold_pkts=threshold, t_ns=range(len(arrivals)))
    meter = reordering.Meter(threshold_pkts=threshold)
    for begin in range(0, len(arrivals), cut):
        part = range(begin, min(begin + cut, len(arrivals)))
        meter.arrive([arrivals[at] for at in part], t_ns=list(part))
    assert meter.measured().to_dict() == whole.to_dict()
    counted = whole.received_pkts + whole.duplicate_pkts + whole.too_late_pkts + whole.outside_pkts
    assert whole.arrived_pkts == counted == len(arrivals)
    assert sum(whole.density.to_dict().values()) == pytest.approx(1) or whole.density.counted_pkts == 0
    assert whole.received_pkts == len(set(arrivals)) == whole.expected_pkts - whole.lost_pkts


def test_a_missing_library_says_what_to_type():
    script = (
        "import sys\n"
        "sys.modules['leowarp._native'] = None\n"
        "from leowarp.base.errors import HostError\n"
        "try:\n"
        "    import leowarp.reordering\n"
        "except HostError as error:\n"
        "    print(error.hint)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "make setup" in done.stdout


def test_a_library_that_needs_a_newer_glibc_says_so_in_one_sentence():
    # The error text below comes from the dynamic linker of Debian 11.
    said = (
        "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found "
        "(required by /usr/lib/python3/dist-packages/leowarp/_native.abi3.so)"
    )
    script = (
        "import importlib, platform\n"
        "def refused(name):\n"
        f"    raise ImportError({said!r})\n"
        "importlib.import_module = refused\n"
        "platform.libc_ver = lambda: ('glibc', '2.31')\n"
        "from leowarp.base.errors import HostError\n"
        "try:\n"
        "    import leowarp.reordering\n"
        "except HostError as error:\n"
        "    print(error.message)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    sentence = "its native library needs a newer glibc than this machine has (2.31, without GLIBC_2.34)\n"
    assert done.stdout == f"importing leowarp.reordering: {sentence}"


def test_what_is_wrong_is_an_exception_and_never_the_end_of_the_process():
    native = pytest.importorskip("leowarp._native")
    meter = native.Meter(threshold_pkts=4, buffer_threshold_pkts=4, n_max=10, loss_window_pkts=10)
    for wrong in ([1, 2], np.zeros((2, 2), dtype="uint64"), np.zeros(2, dtype="int8")):
        with pytest.raises((TypeError, ValueError, BufferError)):
            meter.arrive(wrong)
    meter.arrive(np.array([2**64 - 1, 0, 2**63, 5], dtype="uint64"))
    assert meter.measured()["arrived_pkts"] == 4
    with pytest.raises(ValueError, match="bits"):
        native.Meter(threshold_pkts=4, buffer_threshold_pkts=4, n_max=10, loss_window_pkts=10, bits=64)
    with pytest.raises(ValueError, match="protocol"):
        native.Capture(protocol="sctp")
    assert issubclass(TraceError, LeowarpError)
