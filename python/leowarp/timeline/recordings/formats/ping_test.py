# SPDX-License-Identifier: Apache-2.0
"""Tests with outputs of ping that occur in practice. Some come from other variants and languages. Others contain
restarts, the time stamps of other tools, or damage."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings import Measurement, Series, read
from support.synthetic.dish import MS, S

BEGIN_NS = 1_700_000_000 * S
HEADER = "PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data."


def reply(seq: int, rtt_ms: float, at_ns: int | None = None, more: str = "", source: str = "192.0.2.1") -> str:
    """Return a reply as iputils prints it. If the probe's sending time `at_ns` is given, the reply is as `ping -D`
    prints it."""
    stamp = "" if at_ns is None else f"[{(at_ns + round(rtt_ms * MS)) / 1e9:.6f}] "
    return f"{stamp}64 bytes from {source}: icmp_seq={seq} ttl=58 time={rtt_ms} ms{more}"


def run(count: int, begin_ns: int, every_ns: int = 100 * MS, source: str = "192.0.2.1") -> list[str]:
    """Return one output of `ping -D` without losses, with header and statistics."""
    replies = [reply(n, 30.5 + n % 3, begin_ns + (n - 1) * every_ns, source=source) for n in range(1, count + 1)]
    tally = f"{count} packets transmitted, {count} received, 0% packet loss, time {count}ms"
    return [HEADER.replace("192.0.2.1", source), *replies, "", f"--- {source} ping statistics ---", tally]


def measured(folder: Path, lines: list[str] | str, interval_ns: int | None = None) -> Measurement:
    path = folder / "trace.txt"
    path.write_text(lines if isinstance(lines, str) else "\n".join(lines) + "\n")
    return read(path, interval_ns=interval_ns)


def series_of(measurement: Measurement) -> Series:
    assert measurement.round_trip is not None
    return measurement.round_trip


DIALECTS = {
    "iputils before 2012": "64 bytes from 192.0.2.1: icmp_req={} ttl=58 time=32.6 ms",
    "BusyBox": "64 bytes from 192.0.2.1: seq={} ttl=58 time=32.600 ms",
    "inetutils, decimal comma": "64 bytes from 192.0.2.1: icmp_seq={} ttl=58 time=32,600 ms",
    "ping6 of macOS": "16 bytes from 2001:db8::1, icmp_seq={} hlim=58 time=32.600 ms",
    "German": "64 Bytes von 192.0.2.1: icmp_seq={} ttl=58 Zeit=32.6 ms",
    "French": "64 octets de host.example (192.0.2.1) : icmp_seq={} ttl=58 temps=32.6 ms",
    "Czech": "64 bajtů od 192.0.2.1: pořadí={} TTL=58 čas=32.6 ms",
    "Ukrainian": "64 байтів від 192.0.2.1: icmp_seq={} ttl=58 час=32.6 мс",
    "Georgian": "64 ბაიტი 192.0.2.1-დან: icmp_seq ={} ttl =58 დრო=32.6 მწმ",
    "Chinese": "64 字节，来自 192.0.2.1: icmp_seq={} ttl=58 时间=32.6 毫秒",
    "Japanese": "64 バイト応答 送信元 192.0.2.1: icmp_seq={} ttl=58 時間=32.6ミリ秒",
}


@pytest.mark.parametrize("form", DIALECTS.values(), ids=DIALECTS.keys())
@pytest.mark.parametrize("stamped", [False, True])
def test_replies_of_any_ping_in_any_language_are_read(tmp_path: Path, form: str, stamped: bool) -> None:
    stamps = [f"[{(BEGIN_NS + n * S) / 1e9 + 0.0326:.6f}] " if stamped else "" for n in range(5)]
    lines = [stamp + form.format(n) for n, stamp in enumerate(stamps) if n != 3]
    found = measured(tmp_path, lines, None if stamped else S)
    series = series_of(found)
    assert (found.format, found.skipped) == ("ping", ())
    assert series.t_ns.tolist() == [0, S, 2 * S, 3 * S, 4 * S]
    assert series.delay_ns[~series.lost].tolist() == [32_600_000] * 4
    assert series.lost.tolist() == [False, False, False, True, False]


@pytest.mark.parametrize("prefix", ["22:13:20.032600 ", "Nov 14 22:13:20 ", "Tue Nov 14 22:13:20 UTC 2023: ", "rtr1 "])
def test_something_in_front_of_the_lines_is_passed_over_and_named(tmp_path: Path, prefix: str) -> None:
    lines = [prefix + HEADER, *(prefix + reply(n, 30.5) for n in range(1, 6))]
    with pytest.raises(ScenarioError, match=r"in front of the reply is no time stamp") as raised:
        measured(tmp_path, lines)
    assert "interval" in str(raised.value.hint)
    assert "take the line out" not in str(raised.value)
    found = measured(tmp_path, lines, S)
    assert len(series_of(found)) == 5
    assert any("in front of them" in note and prefix.strip() in note for note in found.notes)


def test_seconds_since_1970_of_another_tool_are_time_stamps(tmp_path: Path) -> None:
    lines = [f"{(BEGIN_NS + n * S) / 1e9:.6f} {reply(n, 30.5)}" for n in range(1, 4)]
    found = measured(tmp_path, lines)
    assert found.wall_ns == BEGIN_NS + S - round(30.5 * MS)
    assert series_of(found).t_ns.tolist() == [0, S, 2 * S]


@pytest.mark.parametrize("headers", [True, False])
@pytest.mark.parametrize("pause_ns", [S, 5 * S, 60 * S, 7200 * S])
def test_a_restarted_ping_is_two_stretches_with_a_gap(tmp_path: Path, pause_ns: int, headers: bool) -> None:
    lines = run(600, BEGIN_NS) + run(600, BEGIN_NS + 60 * S + pause_ns)
    found = measured(tmp_path, lines if headers else [line for line in lines if "bytes from" in line])
    series = series_of(found)
    assert (len(series), int(series.lost.sum()), found.duplicates) == (1200, 0, 0)
    assert int(np.diff(series.t_ns).max()) == pause_ns + 100 * MS
    assert any("2 outputs of ping" in note for note in found.notes)


def test_a_restarted_ping_without_time_stamps_is_refused(tmp_path: Path) -> None:
    lines = [HEADER, *(reply(n, 30.5) for n in range(1, 100))]
    with pytest.raises(ScenarioError, match=r"trace\.txt:101: a second output of ping") as raised:
        measured(tmp_path, lines * 2, S)
    assert "head -n 100" in str(raised.value.hint)
    with pytest.raises(ScenarioError, match=r"trace\.txt:100: number 1 after number 99"):
        measured(tmp_path, lines[1:] * 2, S)


def test_runs_to_two_hosts_or_of_two_lengths_or_at_the_same_time_are_refused(tmp_path: Path) -> None:
    first, later = run(50, BEGIN_NS), BEGIN_NS + 60 * S
    with pytest.raises(ScenarioError, match="to another host"):
        measured(tmp_path, first + run(50, later, source="192.0.2.9"))
    with pytest.raises(ScenarioError, match="with probes of another length"):
        measured(tmp_path, first + [line.replace("64 bytes", "1408 bytes") for line in run(50, later)])
    with pytest.raises(ScenarioError, match="two at the same time"):
        measured(tmp_path, first + run(50, BEGIN_NS + S))
    both = [
        line for pair in zip(run(50, BEGIN_NS), run(50, BEGIN_NS, source="192.0.2.9"), strict=True) for line in pair
    ]
    with pytest.raises(ScenarioError, match="replies of two hosts"):
        measured(tmp_path, both)


def test_a_machine_that_slept_for_hours_lost_no_probes(tmp_path: Path) -> None:
    numbers = [*range(1, 600), *range(600, 1000)]
    slept_ns = [0 if n < 600 else 7200 * S for n in numbers]
    lines = [reply(n, 30.5, BEGIN_NS + n * 100 * MS + ns) for n, ns in zip(numbers, slept_ns, strict=True)]
    series = series_of(measured(tmp_path, lines))
    assert (len(series), int(series.lost.sum())) == (999, 0)


def test_an_unreadable_line_is_left_out_and_is_no_lost_probe(tmp_path: Path) -> None:
    lines = run(20, BEGIN_NS)
    lines[5] = lines[5][:30]
    lines[8] = lines[8].replace("time=", "time=-")
    lines[10] += lines[11]
    del lines[11]
    found = measured(tmp_path, lines)
    series = series_of(found)
    assert (len(series), int(series.lost.sum())) == (16, 0)
    assert sum(skip.count for skip in found.skipped) == 3
    assert any(note.startswith("skipped ") and "line 6" in note for note in found.notes)
    assert any("20 replies came, and 16 can be read" in note for note in found.notes)


@pytest.mark.parametrize("number", [3, 112, 5200, 52_000, 99_999])
def test_a_damaged_number_is_no_run_and_loses_no_probes(tmp_path: Path, number: int) -> None:
    lines = run(40, BEGIN_NS)
    lines[12] = lines[12].replace("icmp_seq=12", f"icmp_seq={number}")
    found = measured(tmp_path, lines)
    series = series_of(found)
    assert (len(series), int(series.lost.sum())) == (39, 0)
    assert sum(skip.count for skip in found.skipped) == 1
    assert not any("outputs of ping" in note for note in found.notes)


def test_many_restarts_are_read_one_after_another(tmp_path: Path) -> None:
    lines = [line for n in range(60) for line in run(5, BEGIN_NS + n * 10 * S) if "bytes from" in line]
    assert len(series_of(measured(tmp_path, lines))) == 300


def test_errors_of_routers_are_no_replies(tmp_path: Path) -> None:
    lines = [
        "PING 192.0.2.1 (192.0.2.1): 56 data bytes", reply(0, 30.5), "Request timeout for icmp_seq 1",
        "36 bytes from 192.0.2.254: Destination Host Unreachable", "Vr HL TOS  Len   ID Flg  off TTL Pro  cks      Src",
        " 4  5  00 5400 0000   0 0000  40  01 0000 192.0.2.2  192.0.2.1",
        "From 192.0.2.254 icmp_seq=2 Time to live exceeded",
        "noch keine Antwort für icmp_seq=2", reply(3, 31.5),
    ]  # fmt: skip
    found = measured(tmp_path, lines, S)
    assert series_of(found).lost.tolist() == [False, True, True, False]
    assert found.skipped == ()


def test_a_run_killed_while_it_wrote_and_started_again_is_read(tmp_path: Path) -> None:
    first, second = run(50, BEGIN_NS)[:51], run(50, BEGIN_NS + 60 * S)
    text = "\n".join(first)[:-30] + "\n".join(second) + "\n"
    found = measured(tmp_path, text)
    assert (len(series_of(found)), sum(skip.count for skip in found.skipped)) == (99, 1)


def test_what_ping_says_at_its_end_shows_a_damaged_time(tmp_path: Path) -> None:
    lines = run(20, BEGIN_NS)
    assert measured(tmp_path, lines).notes == ()
    lines.append("rtt min/avg/max/mdev = 30.500/31.500/32.500/0.800 ms")
    assert measured(tmp_path, lines).notes == ()
    lines[7] = lines[7].replace("time=3", "time=13")
    assert any("30.500/31.500/32.500 ms" in note for note in measured(tmp_path, lines).notes)


def test_probes_lost_at_the_ends_are_named(tmp_path: Path) -> None:
    lines = run(20, BEGIN_NS)
    del lines[15:21]
    lines[-1] = "20 packets transmitted, 14 received, 30% packet loss, time 20ms"
    assert any("ping sent 6 more" in note for note in measured(tmp_path, lines).notes)


def test_replies_with_a_bad_checksum_are_left_out(tmp_path: Path) -> None:
    lines = run(5, BEGIN_NS)
    lines[2] += " (BAD CHECKSUM!)"
    found = measured(tmp_path, lines)
    assert [str(skip) for skip in found.skipped] == ["1 reply marked (BAD CHECKSUM!) (line 3)"]


def test_the_ping_of_windows_is_named(tmp_path: Path) -> None:
    text = "\nReply from 192.0.2.1: bytes=32 time=15ms TTL=117" * 3
    (tmp_path / "trace.txt").write_text(text)
    with pytest.raises(ScenarioError, match="Windows"):
        read(tmp_path / "trace.txt", "ping")


change = st.tuples(st.sampled_from(["cut", "double", "swap", "drop"]), st.integers(0, 42), st.integers(0, 200))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(st.lists(change, max_size=6), st.booleans())
def test_every_reply_is_counted_or_skipped_with_a_reason_or_the_file_is_refused(
    tmp_path: Path, changes: list[tuple[str, int, int]], stamped: bool
) -> None:
    lines = [HEADER, *(reply(n, 30.5 + n % 7 / 8, BEGIN_NS + n * 100 * MS if stamped else None) for n in range(1, 43))]
    for kind, place, size in changes:
        place = min(place, len(lines) - 1)
        match kind:
            case "cut":
                lines[place] = lines[place][:size]
            case "double":
                lines.insert(place, lines[place])
            case "swap":
                lines[place], lines[place - 1] = lines[place - 1], lines[place]
            case "drop" if len(lines) > 1:
                del lines[place]
    try:
        found = measured(tmp_path, lines, None if stamped else 100 * MS)
    except ScenarioError:
        return
    whole = [line for line in lines if line.endswith(" ms") and "icmp_seq=" in line]
    series = series_of(found)
    answered = int((~np.isnan(series.delay_ns)).sum())
    strange = sum(skip.count for skip in found.skipped if "fits neither" in skip.why)
    assert answered + (found.duplicates or 0) + strange == len(whole)
    assert set(series.delay_ns[~np.isnan(series.delay_ns)].tolist()) <= {
        (30_500_000 + n % 7 * 125_000) for n in range(1, 43)
    }
    cut = sum(bool(line.strip()) and line not in whole and not line.startswith("PING 192.0.2.1 (") for line in lines)
    passed_over = sum(int(note.split()[0]) for note in found.notes if "no replies" in note)
    unread = sum(skip.count for skip in found.skipped if "twice" not in skip.why) - strange
    assert unread + passed_over == cut


@pytest.mark.parametrize("set_s", [-3600, -5, 7200, 43_200, 40 * 365 * 86_400])
@pytest.mark.parametrize("every_ns", [10 * MS, S])
def test_a_clock_that_is_set_while_the_numbers_go_on_loses_no_probe(tmp_path: Path, set_s: int, every_ns: int) -> None:
    replies = [reply(n, 30.5, 1_500_000_000 * S + n * every_ns + (set_s * S if n > 300 else 0)) for n in range(1, 600)]
    series = series_of(measured(tmp_path, [HEADER, *replies]))
    assert (len(series), int(series.lost.sum())) == (599, 0)


def test_a_reply_whose_stamp_was_cut_off_ends_nothing(tmp_path: Path) -> None:
    lines = run(40, BEGIN_NS)[1:41]
    lines[0] = lines[0][30:]
    found = measured(tmp_path, lines)
    assert (len(series_of(found)), sum(skip.count for skip in found.skipped)) == (39, 1)
    with pytest.raises(ScenarioError, match="some replies have a time stamp and some have none"):
        measured(tmp_path, [*lines[1:20], *(reply(n, 30.5) for n in range(20, 40))])


def test_probes_outside_the_replies_are_named_without_statistics(tmp_path: Path) -> None:
    lines = [reply(n, 30.5, BEGIN_NS + n * S) for n in range(30, 41)]
    silent = [f"[{(BEGIN_NS + n * S) / 1e9:.6f}] no answer yet for icmp_seq={n}" for n in range(41, 61)]
    notes = measured(tmp_path, [HEADER, *lines, *silent]).notes
    assert [note.split(" are ")[0] for note in notes] == [
        "29 probes before the first reply", "20 probes after the last reply",
    ]  # fmt: skip
    replies = [reply(n, 30.5) for n in range(1, 5)]
    found = measured(tmp_path, [HEADER, "Request timeout for icmp_seq 0", *replies], S)
    assert found.notes == ("1 probes before the first reply are not among the samples: no reply to them can be read",)


def test_colours_are_no_part_of_a_line(tmp_path: Path) -> None:
    lines = [reply(n, 30.5, BEGIN_NS + n * S).replace("time=", "\x1b[32mtime=\x1b[0;1m") for n in range(1, 6)]
    assert series_of(measured(tmp_path, [f"\x1b[1m{HEADER}\x1b[0m", *lines])).delay_ns.tolist() == [30.5 * MS] * 5


def test_a_bound_is_named_and_the_hops_are_no_time(tmp_path: Path) -> None:
    lines = [reply(n, 1, BEGIN_NS + n * S).replace("time=", "time<" if n == 3 else "time=") for n in range(1, 6)]
    assert "1 replies give a bound alone" in measured(tmp_path, lines).notes[0]
    with pytest.raises(ScenarioError, match="a reply without a time"):
        measured(tmp_path, [line.replace(" time=", "").replace(" time<", "") for line in lines])


def test_stamps_of_whole_seconds_are_named(tmp_path: Path) -> None:
    lines = [f"[{1_700_000_000 + n // 10}.000000] {reply(n, 30.5)}" for n in range(1, 41)]
    assert "35 of 40 replies have the time stamp of the one before" in measured(tmp_path, lines).notes[0]


OTHERS = {
    "[1700000000.10000] 192.0.2.1 : [0], 64 bytes, 30.1 ms (30.1 avg, 0% loss)\n": "the output of fping",
    "192.0.2.1 : [0], 64 bytes, 30.1 ms (30.1 avg, 0% loss)\n": "the output of fping",
    "Antwort von 192.0.2.1: Bytes=32 Zeit=30ms TTL=58\n": "the ping of Windows",
    "HOST: a                 Loss%   Snt   Last   Avg  Best  Wrst StDev\n": "mtr's report",
    "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n": "what iperf3 prints for people",
}


@pytest.mark.parametrize("line", OTHERS)
def test_the_output_of_other_tools_is_named(tmp_path: Path, line: str) -> None:
    with pytest.raises(ScenarioError, match=OTHERS[line]):
        measured(tmp_path, "Start\n" + line * 3)


def test_columns_of_fping_are_those_of_one_host(tmp_path: Path) -> None:
    lines = [f"[1700000000.10000] {host} : [0], 64 bytes, 30.1 ms (30.1 avg, 0% loss)" for host in ("192.0.2.1", "b")]
    with pytest.raises(ScenarioError, match="fping for 2 hosts") as raised:
        measured(tmp_path, lines)
    assert r"192\.0\.2\.1 +:" in str(raised.value.hint)


def test_probes_without_any_answer_are_counted(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="none of 40 probes was answered"):
        measured(tmp_path, [HEADER, *(f"[1700000000.1] no answer yet for icmp_seq={n}" for n in range(1, 41))])


def test_utf_16_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    path.write_text("\n".join(run(5, BEGIN_NS)), encoding="utf-16")
    with pytest.raises(ScenarioError, match="UTF-16") as raised:
        read(path)
    assert "iconv" in str(raised.value.hint)


def test_a_stamp_beyond_64_bits_is_a_damaged_line(tmp_path: Path) -> None:
    lines = run(20, BEGIN_NS)[1:21]
    lines[3] = lines[3].replace("[17", "[9917")
    found = measured(tmp_path, lines)
    assert (len(series_of(found)), sum(skip.count for skip in found.skipped)) == (19, 1)
