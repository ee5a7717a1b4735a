# SPDX-License-Identifier: Apache-2.0
"""Tests `leowarp timeline SCENARIO` and `leowarp timeline describe FILE`."""

import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from leowarp import timeline
from support.synthetic.dish import MS, S, dish

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
CHAIN = ROOT / "examples" / "chain.toml"
MOBILE = ROOT / "examples" / "mobile.toml"
NOON_S = 1_715_947_200  # 2024-05-17T12:00:00Z


@pytest.fixture
def pings(tmp_path: Path) -> Path:
    """The output of `ping -D -i 0.02` over a dish that is reconfigured at the seconds 9, 24, 39 and 54 of each
    minute."""
    t_ns, rtt_ns, _ = dish(phase_ns=9 * S, span_ns=180 * S)
    lines = [
        f"[{NOON_S + (t + rtt) / 1e9:.6f}] 64 bytes from 192.0.2.1: icmp_seq={number} ttl=54 time={rtt / MS:.3f} ms"
        for number, (t, rtt) in enumerate(zip(t_ns.tolist(), rtt_ns.tolist(), strict=True), 1)
        if not np.isnan(rtt)
    ]
    path = tmp_path / "pings.txt"
    path.write_text("\n".join(lines))
    return path


def test_a_scenarios_events_need_no_name_of_a_verb(leowarp):
    assert leowarp("timeline", "--json", CHAIN).json()["nodes"]["host"] == 2
    assert "describe" in leowarp("timeline", "--help").out


def test_a_timeline_is_described_once(leowarp, monkeypatch):
    calls = []
    monkeypatch.setattr(timeline, "describe", lambda table, real=timeline.describe: calls.append(1) or real(table))
    assert "nodes: host" in leowarp("timeline", CHAIN).out
    assert len(calls) == 1


def test_what_a_timeline_warns_of_is_told(leowarp):
    found = leowarp("timeline", "--json", MOBILE, "--set", "mobile.speed=0 m/s")
    assert "one draw for the whole run" in found.err
    assert found.json()["nodes"]["host"] == 2


def test_a_measurement_is_described_in_text_and_drawn(leowarp, pings, tmp_path):
    figure = tmp_path / "pings.svg"
    out = leowarp("timeline", "describe", pings, "--slots", "--figure", figure).out
    assert "every 15.000 s" in out
    seconds = re.search(r"at seconds ([\d. ]+)", " ".join(out.split())).group(1).split()[:4]
    # The ping sends a probe every 20 ms, so a reconfiguration can be located to 20 ms.
    assert [float(second) for second in seconds] == pytest.approx([9, 24, 39, 54], abs=0.02)
    assert "(100 % of the lost)" in out
    assert "slot begins" in out
    assert figure.read_text().startswith("<?xml")


def test_several_files_stand_beside_each_other_and_are_one_object(leowarp, pings, tmp_path):
    trace = tmp_path / "trace"
    trace.write_text("\n".join(str(ms) for ms in range(1, 1001)) + "\n")
    answer = leowarp("timeline", "describe", pings, trace, "--json").json()["described"]
    assert [of["series"] for of in answer] == ["round_trip", "none"]
    assert answer[0]["seconds_of_minute"] == pytest.approx([9, 24, 39, 54], abs=0.05)
    assert answer[0]["loss"]["in_handover_ratio"] == 1
    assert answer[0]["quantiles_ns"]["50 %"] > 20 * MS
    assert answer[1]["capacity_down"]["mean_bps"] == 12_000_000
    assert answer[1]["schedule"] is None


def test_a_scenarios_measurement_is_described_with_its_capacity(leowarp, pings, tmp_path):
    scenario = tmp_path / "dish.toml"
    scenario.write_text(
        'name = "dish"\n[run]\nduration = "20 s"\n[measured]\nfile = "pings.txt"\nrate = "80 Mbit/s"\n'
        '[[flows]]\nsource = "A"\ndestination = "B"\n'
    )
    (of,) = leowarp("timeline", "describe", scenario, "--json").json()["described"]
    assert of["samples"] == 9_000
    assert of["capacity_down"]["mean_bps"] == 80_000_000


def test_an_access_links_tables_are_described(leowarp, tmp_path):
    scenario = tmp_path / "access.toml"
    scenario.write_text(
        'name = "access"\n[run]\nduration = "200 s"\n[access]\nclock = "2024-05-17T12:00:05Z"\n'
        '[[flows]]\nsource = "server"\ndestination = "dish"\n'
    )
    down, up = leowarp("timeline", "describe", scenario, "--json").json()["described"]
    assert (down["series"], up["series"]) == ("down", "up")
    assert down["schedule"]["period_ns"] == pytest.approx(15 * S, rel=1e-3)
    assert down["seconds_of_minute"] == pytest.approx([12, 27, 42, 57], abs=0.5)


def test_what_cannot_be_described_says_what_can(leowarp):
    answer = leowarp("timeline", "describe", "none.txt")
    assert answer.status == 2
    assert "give the path" in answer.err


def test_a_mobile_channel_is_told_written_and_drawn(leowarp, tmp_path):
    series, figure = tmp_path / "power.parquet", tmp_path / "power.pdf"
    short = ("--set", "run.duration=3 s", "--set", "mobile.rule=equal")
    answer = leowarp("timeline", "channel", MOBILE, *short, "--series", series, "--figure", figure)
    words = " ".join(answer.out.split())
    for text in ("mean stay, deep shadow", "quantile 50 % of the level", "below -10 dB 0 dB", "decoded after 3",
                 "13453, one every 223 us", "10258 bits (1.15 times", "Es/N0 at line of sight"):  # fmt: skip
        assert text in words
    table = pq.read_table(series)
    assert table.column_names == ["t_ns", "level_db", "snr_db", "state"]
    assert 0 <= 3 * S - table["t_ns"][-1].as_py() < 1_000_000
    assert figure.read_bytes().startswith(b"%PDF")
    of = leowarp("timeline", "channel", MOBILE, *short, "--json").json()
    assert of["samples"] == table.num_rows
    assert sum(of["harq"]["decoded_shares"]) + of["harq"]["loss_ratio"] == pytest.approx(1)
    assert of["harq"]["symbol_rate_hz"] == pytest.approx(of["harq"]["first_bits"] / 2 / 223e-6)
    shares = [row for row in of["statistics"] if row["statistic"] == "state_share"]
    assert sum(row["value"] for row in shares) == pytest.approx(1)


def test_a_channel_that_never_changes_is_one_level_and_a_path_without_one_is_refused(leowarp):
    still = leowarp("timeline", "channel", MOBILE, "--set", "mobile.fading=false", "--set", "run.duration=1 s")
    assert "no fading, 1 s, seed 1: the level is 0.00 dB throughout" in still.out
    assert "100.000 %" in still.out
    frozen = leowarp("timeline", "channel", MOBILE, "--set", "mobile.speed=0 m/s", "--set", "run.duration=1 s")
    assert "another seed is another place" in frozen.err
    refused = leowarp("timeline", "channel", CHAIN)
    assert refused.status == 2
    assert "has no mobile channel" in refused.err


def test_a_table_without_a_header_is_guessed_said_folded_and_converted(leowarp, tmp_path):
    t_ns, rtt_ns, _ = dish(phase_ns=9 * S, span_ns=180 * S)
    rows = [f"{NOON_S * S + t},{rtt / MS:.3f}" for t, rtt in zip(t_ns.tolist(), rtt_ns.tolist(), strict=True)]
    table, csv, folded = tmp_path / "latency.txt", tmp_path / "latency.csv", tmp_path / "folded.svg"
    table.write_text("\n".join(rows))
    refused = leowarp("timeline", "describe", table)
    assert refused.status == 2
    assert "--columns t_ns,rtt_ms" in refused.err
    said = ("--columns", "t_ns,rtt_ms")
    words = " ".join(leowarp("timeline", "describe", table, *said, "--folded", folded).out.split())
    assert "every 15.000 s" in words
    assert "confidence in that 99" in words
    assert "by steps alone every 15.0" in words
    assert folded.read_text().startswith("<?xml")
    assert "9000 rows, from columns" in leowarp("timeline", "convert", table, *said).out
    assert leowarp("timeline", "convert", table, *said).status == 2  # refused, because the file exists
    (again,) = leowarp("timeline", "describe", csv, "--json").json()["described"]
    assert again["seconds_of_minute"] == pytest.approx([9, 24, 39, 54], abs=0.1)
    assert again["finding"]["confidence_ratio"] > 0.9


def test_a_tables_share_of_losses_is_told_over_time(leowarp, tmp_path):
    table = tmp_path / "bursts.csv"
    table.write_text("t_s,delay_ms,loss_ratio\n0,250,0\n9.5,250,1\n10,250,0\n")
    out = " ".join(leowarp("timeline", "describe", table).out.split())
    assert "lost, over time 5 %" in out
    assert "0 of" not in out


def test_what_a_reader_skipped_is_printed_and_in_the_object(leowarp, pings):
    text = pings.read_text().splitlines()
    text[100] = text[100][:40]
    pings.write_text("\n".join(text))
    found = leowarp("timeline", "describe", pings)
    assert "skipped 1 line that is no whole reply" in " ".join(found.err.split())
    described = leowarp("timeline", "describe", pings, "--json").json()["described"][0]
    assert described["skipped"][0]["count"] == 1
    assert any(note.startswith("skipped 1") for note in described["notes"])
