# SPDX-License-Identifier: Apache-2.0
"""Tests that `show`, `compare` and the end of a run print a few numbers by default, and all numbers on request."""

import io

import pytest

import leowarp as lw
from leowarp import scalars, scenario
from leowarp.base import layout
from leowarp.cli.printed import tables
from leowarp.cli.runs.run_verbs import print_run
from leowarp.metrics import metrics, read_tables
from support.synthetic.access import write_synthetic_access


@pytest.fixture(scope="module")
def access(tmp_path_factory):
    """A synthetic run over an access link: a ping and two TCP flows."""
    path = write_synthetic_access(tmp_path_factory.mktemp("runs") / "dish")
    plan = scenario.resolve(scenario.load(path / layout.PLAN))
    metrics(read_tables(path), plan).with_cost(cpu_s=1.5, wall_s=2.0).write(path)
    return lw.open(path)


def lines(text):
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


@pytest.mark.slow
def test_a_run_ends_with_a_table_and_where_all_scalars_are(access, capsys):
    print_run(access, as_json=False)
    out = capsys.readouterr().out
    said = lines(out)
    assert "congestion control cubic bbr" in said
    assert "share of the flows' goodput 75 % 25 %" in said
    assert "Jain's index 0.8" in said
    assert "without a reply 6 (1 %)" in said
    assert "virtual s per CPU s 40" in said
    assert said[-1] == f"All scalars: leowarp show {access.path} --metrics"
    assert len(said) < 45
    assert "_ns" not in out


def test_warnings_come_before_the_numbers(write_run, monkeypatch):
    together = io.StringIO()
    monkeypatch.setattr("sys.stdout", together)
    monkeypatch.setattr("sys.stderr", together)
    print_run(lw.open(write_run()), as_json=False)
    said = lines(together.getvalue())
    assert said[0] == "warning: look twice"
    assert "goodput 9.500 Mbit/s" in said


def test_metrics_are_all_scalars_in_groups_one_column_a_flow(leowarp, access):
    said = lines(leowarp("show", access.path, "--metrics").out)
    assert "goodput_mean_bps 5,790,262 1,929,894" in said
    assert "fairness.jain_index 0.799904" in said
    assert said.index("cost") < said.index("virtual_s 60") < said.index("route changes")
    assert not [line for line in said if line.split()[1:] == ["–", "–"]]
    every = lines(leowarp("show", access.path, "--metrics", "--all").out)
    assert "completion_ns – –" in every
    assert "completion_ns – –" not in said


def test_every_scalar_has_a_group(leowarp, access):
    said = lines(leowarp("show", access.path, "--metrics", "--all").out)
    # A run without programs has no scalars of the group `MEASURED`.
    assert set(scalars.Group) - {scalars.Group.MEASURED} <= set(said)
    assert "other" not in said


def test_a_scalar_of_another_version_is_printed_all_the_same(capsys):
    tables.print_scalars({"virtual_s": 60.0, "of_a_later_version_pkts": 3, "flows": []}, nulls=False)
    said = lines(capsys.readouterr().out)
    assert said[-4:] == ["cost", "virtual_s 60", "other", "of_a_later_version_pkts 3"]


def test_more_flows_than_fit_beside_each_other_stand_in_tables_below_each_other(capsys):
    from leowarp.scalars.overview import Section

    names = tuple(f"flow-{number}" for number in range(5 * tables.MOST_COLUMNS))
    tables.print_sections([Section("TCP", names, (("goodput", tuple(f"{n} Mbit/s" for n in range(len(names)))),))])
    said = lines(capsys.readouterr().out)
    assert [line.split()[0] for line in said].count("goodput") > 1
    for number, name in enumerate(names):
        assert sum(f" {name} " in f" {line} " for line in said) == 1
        assert sum(f" {number} Mbit/s" in line for line in said) == 1


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("count", [3, 6, 20, 90])
def test_no_number_is_cut_whatever_the_width_and_the_flows(capsys, monkeypatch, width, count):
    from leowarp.cli import output
    from leowarp.scalars.overview import overview

    monkeypatch.setattr(output, "PLAIN_WIDTH", width)
    flows = [
        {
            "flow": number, "kind": "tcp", "source": "Sao Paulo", "destination": f"Town {number}",
            "congestion_control": "cubic", "goodput_mean_bps": 1e6 + 1000 * number, "sent_pkts": 1_000_000 + number,
        }
        for number in range(count)
    ]  # fmt: skip
    tables.print_sections(overview({"name": "many", "flows": flows}), rest="leowarp show many --metrics")
    out = capsys.readouterr().out
    said = lines(out)
    assert max(map(len, out.splitlines())) <= width
    all_fit = "The other" not in out
    assert all_fit == (count <= tables.MOST_COLUMNS)
    shown = range(count) if all_fit else [0, 1, 2, count - 3, count - 2, count - 1]
    numbers = {word for line in said if line.startswith("data packets sent") for word in line.split()}
    assert {f"{1_000_000 + number:,}" for number in shown} <= numbers
    if not all_fit:
        assert f"The other {count - 6} flows: leowarp show many --metrics" in said


def test_a_table_wider_than_the_terminal_keeps_its_numbers(capsys, monkeypatch):
    from leowarp.cli import output

    monkeypatch.setattr(output, "PLAIN_WIDTH", 40)
    output.print_table(None, ("", "a", "b", "c"), [("what", "1" * 20, "2" * 20, "3" * 20)])
    assert lines(capsys.readouterr().out)[-1] == f"what {'1' * 20} {'2' * 20} {'3' * 20}"


def test_compare_warns_and_shows_runs_side_by_side(leowarp, write_run, tmp_path, monkeypatch):
    from leowarp import report

    # No page is written here, because the page has its own tests.
    monkeypatch.setattr(report, "write_comparison", lambda runs, out, **_: tmp_path / "page")
    answer = leowarp("compare", write_run("first"), write_run("second"))
    assert answer.status == 0, answer.err
    assert answer.err.count("look twice") == 2
    said = lines(answer.out)
    assert "first second" in said
    assert "goodput 9.500 Mbit/s 9.500 Mbit/s" in said
    assert any(line.startswith("All scalars: leowarp show ") for line in said)
