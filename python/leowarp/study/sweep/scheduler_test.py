# SPDX-License-Identifier: Apache-2.0
"""A study on a Dask scheduler: two worker processes on the loopback interface, which share no memory."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from leowarp.errors import HostError, ScenarioError
from leowarp.study.sweep.in_process_for_tests import made_so_far

MANY = (("count = 3", "count = 10"), ('"1.5 ms"]', '"1.5 ms", "2 ms"]'))
"""60 runs."""


@pytest.fixture
def cluster(tmp_path, fake):
    """A scheduler and two workers: the scheduler's address, and the workers' processes."""
    processes = []

    def start(*words):
        log = (tmp_path / f"{words[0]}-{len(processes)}.log").open("wb")
        module = f"distributed.cli.dask_{words[0]}"
        command = [sys.executable, "-W", "ignore", "-m", module, "--no-dashboard", *words[1:]]
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path, start_new_session=True)
        processes.append(process)
        return process

    import distributed

    told = tmp_path / "scheduler.json"
    start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(told))
    wait_until(told.exists, processes)
    workers = [
        start("worker", "--scheduler-file", str(told), "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1")
        for _ in range(2)
    ]
    address = json.loads(told.read_text())["address"]
    with distributed.Client(address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=60)
    yield address, workers
    for process in processes:
        process.kill()
        process.wait()


def wait_until(condition, processes, timeout_s=60):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert all(process.poll() is None for process in processes), "a process of the cluster has ended"
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_costs_nothing(cluster, make, study_file, fake):
    address, workers = cluster
    file = study_file(*MANY)
    for seed in range(1, 11):
        (fake / f"seed-{seed}").write_text("sleep 0.05")

    def kill():
        while made_so_far(fake) < 15:
            time.sleep(0.02)
        os.kill(workers[0].pid, signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    seen = []
    result = make(file, at_once=None, scheduler=address, progress=seen.append)
    killer.join()
    assert workers[0].wait(5) == -signal.SIGKILL
    table = result.table()
    assert len(table) == len(set(table["run_id"].to_pylist())) == 60
    assert set(table["status"].to_pylist()) == {"ok"}
    assert made_so_far(fake) > 60, "the worker was not killed in the middle of a batch"
    assert (seen[0].done, seen[-1].done) == (0, 60)
    assert {told.workers for told in seen} >= {2}
    # What is done is not asked for again, and needs no cluster.
    assert len(make(file, scheduler="tcp://127.0.0.1:1", at_once=None).table()) == 60


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_worker_without_the_image_of_the_study_is_named(cluster, make, study_file, fake):
    address, workers = cluster
    (fake / "worker-image").write_text("d" * 64)
    with pytest.raises(
        HostError, match=r"agent of this worker .sha256 d{12}. is not that of the study .a{12}."
    ) as told:
        make(study_file(), at_once=None, scheduler=address)
    assert "share one cache" in told.value.hint
    assert made_so_far(fake) == 0
    assert all(worker.poll() is None for worker in workers)


@pytest.mark.filterwarnings("ignore")
def test_no_scheduler_and_no_package_are_said(make, study_file, monkeypatch):
    monkeypatch.setattr("leowarp.study.sweep.scheduler.CONNECT_S", 0.2)
    with pytest.raises(HostError, match=r"cannot reach a Dask scheduler at tcp://127.0.0.1:1") as told:
        make(study_file(), at_once=None, scheduler="tcp://127.0.0.1:1")
    assert "dask scheduler" in told.value.hint
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(HostError, match="distributed, which is not installed") as told:
        make(study_file(), at_once=None, scheduler="tcp://127.0.0.1:1")
    assert told.value.hint == "pip install 'leowarp[dask]'"
    with pytest.raises(ScenarioError, match="--jobs counts workers of this machine"):
        make(study_file(), at_once=2, scheduler="tcp://127.0.0.1:1")
