# SPDX-License-Identifier: Apache-2.0
"""A complete synthetic run directory, with every kind of file that a run can have."""

import json
import shutil
from pathlib import Path

from leowarp import report, scenario, trace
from leowarp.base import layout
from leowarp.base.checksums import manifest_text, sha256_of_file
from leowarp.metrics import metrics, read_tables
from leowarp.results.run import Run
from support.synthetic.run import write_synthetic_run


def write_whole_run(path: Path) -> Path:
    """Write the run of `support.synthetic.run`, and return its directory. The run has metrics, an input, a program's
    output, a manifest and a report."""
    write_synthetic_run(path)
    for name, text in (("00-inputs/table.csv", "t_s\n0\n"), ("35-programs/0/stdout", "done\n"), (layout.CONSOLE, "\n")):
        (path / name).parent.mkdir(exist_ok=True, parents=True)
        (path / name).write_text(text)
    costs = trace.Stopwatch().costs(60.0, 2.5, 1 << 20)
    plan = scenario.plan_of(path / layout.PLAN)
    metrics(read_tables(path), plan).with_cost(cpu_s=costs["cpu_s"], wall_s=costs["wall_s"]).write(path)
    trace.write_manifest(path, 1, {"linux_version": "6.12"}, {}, ["look twice"], costs)
    report.write_report(path, figures=["goodput", "srtt"])
    return path


def complete(path: Path) -> Path:
    """Add metrics and a manifest to a directory, and return the directory. It must contain a plan and tables."""
    plan = scenario.plan_of(path / layout.PLAN)
    metrics(read_tables(path), plan).with_cost(cpu_s=1.0, wall_s=2.0).write(path)
    costs = trace.Stopwatch().costs(1.0, 2.5, 1 << 20)
    trace.write_manifest(path, plan.run.seed, {"linux_version": "6.12", "linux_sha256": "0"}, {}, [], costs)
    return path


def stand_in_for_a_second_run(whole: Path):
    """Return a replacement for `leowarp.run`. It does not simulate the second run of a plan, but copies the directory
    `whole`."""

    def run(plan, set_, out, **options):
        # The copied run has no report, and its costs differ from those of the first run.
        shutil.copytree(whole, out, ignore=shutil.ignore_patterns(layout.REPORT))
        summary = json.loads((out / layout.SUMMARY).read_text()) | {"cpu_s": 0.5, "wall_s": 0.25}
        with trace.relisted(out):
            (out / layout.SUMMARY).write_text(json.dumps(summary))
        manifest = json.loads((out / layout.MANIFEST).read_text())
        manifest |= {"costs": {"cpu_s": 0.5, "wall_s": 0.25}, "host": {"cpu_model": "another"}}
        (out / layout.MANIFEST).write_text(json.dumps(manifest))
        return Run(out)

    return run


def forge(path: Path, **changed) -> None:
    """Change some keys of a run's manifest, as a forger would. The hash of every file is correct."""
    manifest = json.loads((path / layout.MANIFEST).read_text()) | changed
    manifest["files"] = {name: sha256_of_file(path / name) for name in manifest["files"]}
    (path / layout.MANIFEST).write_text(manifest_text(manifest))


def change_a_byte(path: Path, place: int | None = None, by: int = 1) -> None:
    """Change one byte of a file, by default the byte in the middle."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2 if place is None else place] ^= by
    path.write_bytes(content)
