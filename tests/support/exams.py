# SPDX-License-Identifier: Apache-2.0
"""Exams whose runs are copies of one synthetic run, so that no guest boots."""

import json
import shutil
from dataclasses import dataclass

from leowarp.base.errors import GuestError
from leowarp.exam import Subject, take
from leowarp.study.sweep import disk, engine
from support.sweep.in_process import InThisProcess, Unsynced
from support.sweep.maker import FakeMaker, Made
from support.synthetic.run import PLAN_TOML, write_synthetic_run

ONLY = ("single-flow", "bufferbloat", "high-loss-own", "shallow", "startup-loss")


@dataclass(frozen=True)
class Arithmetic(FakeMaker):
    """A maker that does not boot a guest, but copies a synthetic run for each run. If the queue of a run is 7 packets
    long, the run fails with a kernel panic."""

    def _made(self, index, plan, out):
        with (self.folder / "made").open("a") as log:
            log.write(f"{plan.name}\n")
        if plan.medium.queue_pkts == 7:
            return Made(index, None, error=GuestError("the guest panicked", "look at its console"))
        shutil.copytree(self.folder / "run", out)
        return Made(index, {"name": plan.name, "flows": []})


def exam_by_arithmetic(tmp_path, monkeypatch):
    """A function that takes an exam. The function's attribute `begun()` returns the number of begun runs. The attribute
    `out` is the exam's directory."""
    fake = tmp_path / "fake"
    fake.mkdir()
    # The copied run has a ping without echoes, so the measurements of this ping are missing.
    ping = '\n[[flows]]\nkind = "ping"\nsource = "Madrid"\ndestination = "Tokyo"\n'
    run = write_synthetic_run(fake / "run", PLAN_TOML + ping)
    (run / "summary.json").write_text(json.dumps({"name": "synthetic", "flows": []}))
    (run / "manifest.json").write_text(
        json.dumps({"warnings": [], "seed": 1, "kernel": {"kernel": "default", "linux_version": "6.12"}})
    )
    monkeypatch.setattr(disk, "os", Unsynced())
    monkeypatch.setattr(engine, "_workers", lambda *given: InThisProcess(tmp_path / "scratch"))

    def taken(algorithm="cubic", only=ONLY, out=tmp_path / "exam", **options):
        return take(Subject(algorithm), out, only=only, progress=False, maker=Arithmetic(fake), **options)

    taken.begun = lambda: len((fake / "made").read_text().splitlines())
    taken.out = tmp_path / "exam"
    return taken
