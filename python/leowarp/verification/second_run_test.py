# SPDX-License-Identifier: Apache-2.0
"""Tests the comparison of a run with its second run. The comparison must find forged data even if the manifest agrees
with them."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leowarp import report, trace
from leowarp.base import layout
from leowarp.base.recorded import text_of_json
from leowarp.verification import pair
from leowarp.verification.files import files_of
from leowarp.verification.stages import STAGES, stage_of
from leowarp.verification.verdicts import first_difference, unconfirmed
from support.synthetic.whole import change_a_byte, forge

COMPARED = [stage for stage in STAGES if stage.compare is not None]
HASHED = [stage for stage in COMPARED if stage is not stage_of(layout.MANIFEST)]


@pytest.fixture
def plain(run):
    """A run without a report. Drawing the report again would take seconds."""
    shutil.rmtree(run / layout.REPORT)
    manifest = json.loads((run / layout.MANIFEST).read_text())
    files = {name: digest for name, digest in manifest["files"].items() if not name.startswith(layout.REPORT)}
    forge(run, files=files)
    return run


def forge_summary(run, **changed):
    summary = json.loads((run / layout.SUMMARY).read_text())
    summary["flows"][0] |= changed
    (run / layout.SUMMARY).write_text(text_of_json(summary))


def test_an_intact_run_is_identical_in_every_stage(run, verified):
    found = verified(run)
    assert list(found) == [stage.name for stage in COMPARED]
    assert {stage.verdict for stage in found.values()} == {"identical"}


@pytest.mark.slow
def test_a_run_in_a_directory_of_another_name_is_identical_too(whole, tmp_path, verified):
    # The pages of the run contain the name of the directory in which they were drawn.
    moved = Path(shutil.copytree(whole, tmp_path / "moved" / "elsewhere"))
    assert {stage.verdict for stage in verified(moved).values()} == {"identical"}


@pytest.mark.parametrize(
    "stage", [stage for stage in COMPARED if stage.name != "warnings"], ids=lambda stage: stage.name
)
def test_what_was_forged_with_its_hash_is_found_in_its_stage(stage, verified, request):
    run = request.getfixturevalue("run" if stage.is_drawn else "plain")
    names = [name for name in files_of(run).verdicts if stage_of(name) is stage]
    assert names
    for name in names:
        content = (run / name).read_bytes()
        change_a_byte(run / name, content.index(b"1") if name.endswith(".json") else None, by=3)
        forge(run)
        assert not files_of(run).wrong
        found = verified(run)
        differing = {file.file for each in found.values() for file in each.files if file.verdict != "identical"}
        # If the trace differs, drawings are not compared, so the finding must name the changed file itself.
        assert name in differing
        assert stage.name in ("routes", "timeline", "trace") or differing == {name}
        if stage.is_repeatable:
            assert first_difference(found.values()).stage == stage.name
        else:
            assert first_difference(found.values()) is None
            assert [each.stage for each in unconfirmed(found.values())] == [stage.name]
        (run / name).write_bytes(content)


def test_a_number_forged_in_the_summary_is_named_with_what_it_has_to_be(plain, verified):
    forge_summary(plain, goodput_mean_bps=99_999_999)
    forge(plain)
    found = first_difference(verified(plain).values())
    assert found.stage == "summary"
    assert found.why[0].startswith("summary.json: flows.0.goodput_mean_bps is 99999999, and ")


@pytest.mark.parametrize(("key", "value"), [("warnings", []), ("seed", 2), ("logs", {"tls_keys": [], "qlog": ["a"]})])
def test_what_a_manifest_says_of_the_run_is_compared(plain, verified, key, value):
    forge(plain, **{key: value})
    assert first_difference(verified(plain).values()).stage == "warnings"


def test_a_cost_that_is_not_the_manifests_is_found(plain, verified):
    summary = json.loads((plain / layout.SUMMARY).read_text())
    (plain / layout.SUMMARY).write_text(text_of_json(summary | {"cpu_s": 0.001}))
    forge(plain)
    assert first_difference(verified(plain).values()).why[0].startswith("summary.json: cpu_s is 0.001, and ")


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_byte_forged_in_what_is_compared_is_found(plain, verified, data):
    names = [name for name in files_of(plain).verdicts if (stage := stage_of(name)) in HASHED and stage.is_repeatable]
    name = data.draw(st.sampled_from(names))
    content = (plain / name).read_bytes()
    try:
        change_a_byte(plain / name, data.draw(st.integers(0, len(content) - 1)), by=data.draw(st.integers(1, 255)))
        forge(plain)
        found = first_difference(verified(plain).values())
        assert (found.stage, found.why[0].partition(":")[0]) == (stage_of(name).name, name)
    finally:
        (plain / name).write_bytes(content)
        forge(plain)


def test_rows_that_differ_are_named(plain, verified):
    path = plain / layout.METRICS
    table = pq.read_table(path)
    place = table["metric"].to_pylist().index("flow.goodput_mean_bps")
    values = table["value"].to_pylist()
    values[place] = 1e9
    pq.write_table(table.set_column(4, table.schema.field(4), pa.array(values)), path)
    forge(plain)
    assert (
        first_difference(verified(plain).values())
        .why[0]
        .startswith(f"40-metrics.parquet: value in row {place} is 1000000000.0, and ")
    )


@pytest.mark.slow
def test_other_bytes_of_another_pyarrow_are_the_same_values(run, verified):
    pq.write_table(pq.read_table(run / layout.METRICS), run / layout.METRICS, compression="none")
    forge(run)
    assert first_difference(verified(run).values()).stage == "metrics"
    libraries = json.loads((run / layout.MANIFEST).read_text())["python"] | {"pyarrow": "3.0.0"}
    forge(run, python=libraries)
    found = verified(run)
    assert first_difference(found.values()) is None
    assert found["metrics"].verdict == "same values"
    assert found["report"].verdict == "not compared"
    assert "pyarrow 3.0.0" in found["report"].why[0]


def test_what_another_version_computed_is_reported_and_no_failure(run, verified):
    forge_summary(run, goodput_mean_bps=1, of_today=7)
    (run / "50-report" / "index.html").write_text("of another version")
    forge(run, leowarp_version="0.0.9", package_sha256="0" * 64)
    found = verified(run)
    assert first_difference(found.values()) is None
    verdicts = {name: stage.verdict for name, stage in found.items() if stage.verdict != "identical"}
    assert verdicts == {"summary": "differs, of another version", "report": "not compared"}
    assert found["summary"].why[0] == "summary.json: made by leowarp 0.0.9, package 000000000000"
    # The trace depends on the kernel. The trace does not depend on leowarp's version, which only computes metrics from
    # the trace.
    change_a_byte(run / "30-trace" / "packets.parquet")
    forge(run)
    assert first_difference(verified(run).values()).stage == "trace"


@pytest.mark.slow
def test_what_this_version_draws_of_an_older_run_is_compared(run, verified):
    forge(run, leowarp_version="0.0.9")
    report.write_report(run, figures=["goodput"], flow=0)
    later = json.loads((run / layout.MANIFEST).read_text())["later"]
    assert "50-report/figures/goodput.csv" in later[0]["files"]
    assert "50-report/figures/srtt.csv" not in later[0]["files"]
    found = verified(run)
    assert {file.file: file.verdict for file in found["report"].files} == {
        "50-report/figures/goodput.svg": "identical", "50-report/figures/srtt.svg": "not compared",
        "50-report/index.html": "identical", "50-report/view.html": "identical",
    }  # fmt: skip
    change_a_byte(run / "50-report" / "figures" / "goodput.csv")
    forge(run)
    assert first_difference(verified(run).values()).stage == "figures"


@pytest.mark.slow
def test_a_report_of_chosen_flows_and_figures_is_drawn_again_as_it_was(run, verified, monkeypatch):
    report.write_report(run, figures=["queues"], formats=["pdf"], flow=[0])
    found = verified(run)
    assert first_difference(found.values()) is None
    verdicts = {file.file: file.verdict for file in found["report"].files}
    # Figures of an earlier report are not on the page, but their numbers are compared as well.
    assert {name.rpartition("/")[2]: verdict for name, verdict in verdicts.items()} == {
        "goodput.svg": "not compared", "srtt.svg": "not compared", "queues.svg": "identical",
        "queues.pdf": "identical", "index.html": "identical", "view.html": "identical",
    }  # fmt: skip
    assert {file.verdict for file in found["figures"].files} == {"identical"}
    assert (run / "50-report/figures/queues.csv").read_text().startswith("# flows: 0\n")


@pytest.mark.slow
def test_how_a_page_was_drawn_cannot_be_left_out(run, verified):
    drawn = json.loads((run / layout.MANIFEST).read_text())["drawn"]
    wrong = (
        {"directory": ".."}, {"directory": "a/b"}, {"directory": "run", "figures": ["nonsense"]},
        {"directory": "run", "flows": "x"}, {"directory": "run", "figures": ["goodput"], "command": 7},
    )  # fmt: skip
    for claimed in ({}, *(drawn | {"50-report/index.html": how} for how in wrong)):
        forge(run, drawn=claimed)
        found = first_difference(verified(run).values())
        assert found.stage == "report", claimed


@pytest.mark.slow
def test_a_figure_that_leowarp_does_not_draw_is_found(run, verified):
    for name in ("made-up.csv", "more/goodput.csv"):
        (run / pair.FIGURES / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(run / pair.FIGURES / "goodput.csv", run / pair.FIGURES / name)
    with trace.relisted(run):
        for name in ("made-up.csv", "more/goodput.csv"):
            change_a_byte(run / pair.FIGURES / name)
    found = first_difference(verified(run).values())
    assert found.stage == "figures"
    assert len([file for file in found.files if file.verdict == "differs"]) == 2


def test_a_run_without_a_report_or_summary_is_compared_as_far_as_it_goes(run, verified):
    shutil.rmtree(run / layout.REPORT)
    (run / layout.SUMMARY).unlink()
    found = verified(run)
    assert found["summary"].verdict == "differs"
    assert found["trace"].verdict == "identical"
    assert "report" not in found


def test_a_file_that_one_of_the_runs_lacks_is_a_difference(plain, verified):
    (plain / "30-trace" / "acks.parquet").write_bytes(b"")
    (plain / "30-trace" / "packets.parquet").unlink()
    why = verified(plain)["trace"].why
    assert "30-trace/acks.parquet: the second run has no such file" in why
    assert "30-trace/packets.parquet: it has no such file" in why
