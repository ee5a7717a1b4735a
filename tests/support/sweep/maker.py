# SPDX-License-Identifier: Apache-2.0
"""A maker of runs that boots no guest. It records each run. The run's seed decides what the maker does.

The maker's folder may contain a file `seed-<N>`. It says how the run with seed N behaves: `fail`, `host`, `raise`,
`kill` or `kill-once`. The maker adds a line to the file `made` for each run that starts. The file `most` may contain a
number M. If the line of a run comes after line M of `made`, the run waits until M is large enough.
"""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from leowarp.base.errors import GuestError, HostError, LeowarpError
from leowarp.guest.user.parameters import Parameter

TESTS = Path(__file__).parents[2]


def let_workers_import(monkeypatch):
    """Let a worker import the class of its pickled maker. A worker inherits environment variables, but not pytest's
    import path."""
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def kill_this_process():
    os.kill(os.getpid(), signal.SIGKILL)


@dataclass
class Made:
    index: int
    summary: dict[str, Any] | None
    costs: dict[str, Any] = field(default_factory=lambda: {"cpu_s": 0.5, "wall_s": 0.25})
    warnings: list[str] = field(default_factory=list)
    error: LeowarpError | None = None


@dataclass(frozen=True)
class FakeMaker:
    """A stand-in for `leowarp.study.sweep.maker.Maker`.

    folder: The folder of the file `made`, to which each run that starts adds a line.
    die: The function that kills the worker. The default kills the current process. A test that runs in the worker
        process must therefore pass a different function.
    """

    folder: Path
    die: Callable[[], None] = kill_this_process

    def make(self, plans, scratch, *, out):
        scratch.mkdir(parents=True)
        (scratch / "rubbish").write_text("of a worker")
        for index, plan in enumerate(plans):
            yield self._made(index, plan, out[index])

    def image_sha256(self, kernel, on_message=None, on_progress=None):
        # Only workers call this method without `on_message`.
        in_worker = on_message is None and (self.folder / "worker-image").exists()
        image = self.folder / ("worker-image" if in_worker else "image")
        return ("k" * 64, image.read_text() if image.exists() else "a" * 64)

    def declared(self, plan, on_message=None, on_progress=None):
        with (self.folder / "declared").open("a") as log:
            log.write("asked\n")
        return {"printk": {}, "tcp_bic": {"beta": Parameter("int", 0o644), "fixed": Parameter("int", 0o444)}}

    def _made(self, index, plan, out):
        seed = plan.run.seed
        told = self.folder / f"seed-{seed}"
        todo = told.read_text() if told.exists() else ""
        with (self.folder / "made").open("a") as log:
            log.write(f"{plan.medium.delay_ns} {plan.flows[0].congestion_control} {seed} {todo}\n")
            log.flush()
            end_bytes = log.tell()
        self._wait_for_leave((self.folder / "made").read_bytes()[:end_bytes].count(b"\n"))
        if out is not None:
            out.mkdir()
            (out / "00-plan.toml").write_text(plan.to_toml())
        match todo:
            case "fail":
                return Made(index, None, error=GuestError(f"the guest of seed {seed} panicked", "look at its console"))
            case "host":
                return Made(index, None, error=HostError("the file system of the scratch is full", "free some space"))
            case "raise":
                raise ZeroDivisionError("a mistake of ours")
            case "kill":
                self.die()
            case "kill-once":
                with suppress(FileNotFoundError):
                    told.unlink()
                    self.die()
        return Made(index, summary(plan), warnings=["look twice"] if seed == 2 else [])

    def _wait_for_leave(self, line):
        most = self.folder / "most"
        while most.exists() and line > int(most.read_text()):
            time.sleep(0.01)


def summary(plan):
    flow = {"flow": 0, "kind": "tcp", "goodput_mean_bps": plan.medium.delay_ns / 7 + plan.run.seed, "lost_pkts": None,
            "completion_ns": 10**9 + plan.run.seed}  # fmt: skip
    return {"name": plan.name, "drops_pkts": 3, "drops_by_cause_pkts": {"queue": 2, "loss": 1}, "cpu_s": None,
            "wall_s": None, "flows": [flow]}  # fmt: skip
