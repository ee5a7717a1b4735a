# SPDX-License-Identifier: Apache-2.0
"""Exams whose runs are copies of one made by arithmetic: nothing is booted."""

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
    """Runs are copies of one made by arithmetic; a queue of 7 packets panics."""

    def _made(self, index, plan, out):
        with (self.folder / "made").open("a") as log:
            log.write(f"{plan.name}\n")
        if plan.medium.queue_pkts == 7:
            return Made(index, None, error=GuestError("the guest panicked", "look at its console"))
        shutil.copytree(self.folder / "run", out)
        return Made(index, {"name": plan.name, "flows": []})


def exam_by_arithmetic(tmp_path, monkeypatch):
    """A function that takes the exam; its `begun()` is the number of runs so far, its `out` the exam's directory."""
    fake = tmp_path / "fake"
    fake.mkdir()
    # A ping that has no echoes: what it would measure is not there.
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
