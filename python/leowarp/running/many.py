# SPDX-License-Identifier: Apache-2.0
"""Several runs at once, one process each, as many at a time as there are cores.

Each run is a `leowarp run --json --progress json` of its own: a run that fails or is killed touches no other, their
CPU seconds stay apart, and no guard around the caller's main module is needed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from leowarp import errors
from leowarp.errors import GuestError, LeowarpError
from leowarp.guest import guest_image
from leowarp.guest.own_time import end_patiently
from leowarp.progress import OnProgress, Progress, building, shown
from leowarp.result import Run

PATIENCE_S = 10.0
"""How much time of its own (`OwnTime`) an interrupted run has to mark its directory before it is killed."""


@dataclass(frozen=True)
class Job:
    """One run to be made: as the arguments of `leowarp.run`.

    Attributes
    ----------
    scenario : path
        A scenario or plan file.
    out : path
        The run directory to write.
    set : mapping
        Dotted keys of the scenario and the values that replace theirs.
    label : str, optional
        Its name on the progress display; the directory's name if not given.
    """

    scenario: Path | str
    out: Path | str
    set: Mapping[str, Any] = field(default_factory=dict)
    label: str | None = None


def run_many(
    jobs: Sequence[Job],
    *,
    at_once: int | None = None,
    kernel: Path | str | None = None,
    force: bool = False,
    report: bool = True,
    progress: bool | OnProgress = True,
    failures: Literal["raise", "return"] = "raise",
    trust: bool = False,
) -> list[Run | LeowarpError]:
    """The runs of `jobs`, in their order.

    Parameters
    ----------
    jobs : sequence of Job
    at_once : int, optional
        How many at a time; as many as there are usable cores if not given.
    kernel, force, report, trust
        As for `leowarp.run`.
    progress : bool or callable
        True: one display for all on stderr. A callable gets each `Progress`, from several threads.
    failures : {"raise", "return"}
        Whether the first failure is raised once all have ended, or each stands in the list in place of its run.
    """
    outs = [str(Path(job.out).resolve()) for job in jobs]
    twice = next((out for out in outs if outs.count(out) > 1), None)
    if twice is not None:
        raise errors.ScenarioError(f"cannot make two runs in {twice}", hint="give each job a directory of its own")
    # Once and visibly, before processes that would all wait for it in silence.
    with building(progress) as built:
        guest_image(kernel or "default", on_message=built.message, on_progress=built.steps)
    workers = max(1, min(at_once or len(os.sched_getaffinity(0)), len(jobs) or 1))
    family = _Family()
    options = [*(["--kernel", str(kernel)] if kernel else []), *(["--force"] if force else [])]
    options += [*([] if report else ["--no-report"]), *(["--trust"] if trust else [])]
    with tempfile.TemporaryDirectory(prefix="leowarp-") as scratch, shown(progress) as show:
        pool = ThreadPoolExecutor(workers)
        try:
            futures = [
                pool.submit(_one, family, job, options, Path(scratch) / f"{number}.json", show)
                for number, job in enumerate(jobs)
            ]
            results = [future.result() for future in futures]
        finally:
            # Also after Ctrl-C: nobody is left behind, whether the terminal told the children or not.
            family.end()
            pool.shutdown(cancel_futures=True)
    if failures == "raise":
        for result in results:
            if isinstance(result, LeowarpError):
                raise result
    return results


class _Family:
    """The processes under way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._members: set[subprocess.Popen[str]] = set()
        self._over = False

    def start(self, command: list[str]) -> subprocess.Popen[str] | None:
        """A new process, or None once the family has ended."""
        with self._lock:
            if self._over:
                return None
            # A session of its own: Ctrl-C reaches this process alone, which then ends each child once. A child whose
            # parent was killed ends by itself, as soon as it has progress to tell and finds nobody listening.
            child = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
            self._members.add(child)
            return child

    def forget(self, child: subprocess.Popen[str]) -> None:
        with self._lock:
            self._members.discard(child)

    def end(self) -> None:
        with self._lock:
            self._over = True
            alive = [child for child in self._members if child.poll() is None]
        for child in alive:
            child.send_signal(signal.SIGINT)
        # The guest of one that is killed dies with it; its run directory is marked incomplete from the start.
        end_patiently(alive, PATIENCE_S)


def _one(family: _Family, job: Job, options: list[str], overrides: Path, show: OnProgress) -> Run | LeowarpError:
    label = job.label or Path(job.out).name
    # The values go through a file: a list or a table needs no quoting there.
    overrides.write_text(json.dumps(dict(job.set)))
    command = [sys.executable, "-m", "leowarp", "run", str(job.scenario), "--out", str(job.out), "--json"]
    command += ["--progress", "json", "--set-json", str(overrides), *options]
    child = family.start(command)
    if child is None:
        return GuestError(f"the run {label} was not started: interrupted")
    words: list[str] = []
    answer: list[str] = []
    assert child.stdout is not None
    assert child.stderr is not None
    stdout = child.stdout
    reader = threading.Thread(target=lambda: answer.append(stdout.read()), daemon=True)
    reader.start()
    with child:
        for line in child.stderr:
            update = _progress(line, label)
            if update is None:
                words.append(line)
            elif update.stage != "done":
                show(update)
        reader.join()
        status = child.wait()
    family.forget(child)
    if status == 0:
        show(Progress(label, "done"))
        return Run(job.out)
    show(Progress(label, "failed"))
    return _failure(label, status, "".join(answer), "".join(words))


def _progress(line: str, label: str) -> Progress | None:
    if not line.startswith("{"):
        return None
    try:
        told = json.loads(line)
        return Progress(**{**told, "run": label})
    except (ValueError, TypeError):
        # Not one of ours: somebody else's words on stderr, kept for the failure's message.
        return None


def _failure(label: str, status: int, answer: str, words: str) -> LeowarpError:
    try:
        told = json.loads(answer)
        kind = getattr(errors, told["kind"])
        return kind(f"the run {label} failed: {told['error']}", hint=told.get("hint"))
    except (ValueError, KeyError, TypeError, AttributeError):
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        return GuestError(f"the run {label} {how}; its last words: {words.strip()[-2000:] or 'none'}")
