# SPDX-License-Identifier: Apache-2.0
"""Tests of a study on a Dask scheduler. The scheduler has two worker processes. They share no memory, and communicate
over the loopback interface."""

import json
import signal
import sys

import pytest

from leowarp.base.errors import HostError, ScenarioError
from leowarp.study.sweep import scheduler
from support.sweep.in_process import made_so_far
from support.waiting import wait_until

MANY = (("count = 3", "count = 10"), ('"1.5 ms"]', '"1.5 ms", "2 ms"]'))
"""The changes to the study file that give a study of 60 runs."""


# By default, Dask drops workers that have been silent or unreachable for some time. With Dask's default timeouts, the
# tests would depend on the load of the machine.
PATIENT = {"comm.timeouts.connect": "1 day", "comm.timeouts.tcp": "1 day", "scheduler.worker-ttl": "1 day"}


@pytest.fixture
def cluster(tmp_path, fake, spawn, monkeypatch):
    """Yield the address of a scheduler and its two worker processes."""
    import dask
    import distributed

    for name, value in PATIENT.items():
        monkeypatch.setenv("DASK_DISTRIBUTED__" + name.replace(".", "__").replace("-", "_").upper(), value)
    monkeypatch.setattr(scheduler, "CONNECT_S", 86_400)

    def start(log, *words):
        module = f"distributed.cli.dask_{words[0]}"
        command = [sys.executable, "-W", "ignore", "-m", module, "--no-dashboard", *words[1:]]
        with (tmp_path / log).open("wb") as output:
            return spawn(command, stdout=output, stderr=output, cwd=tmp_path, start_new_session=True)

    told = tmp_path / "scheduler.json"
    process = start("scheduler.log", "scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", told)
    wait_until(told.exists, process)
    options = ("--scheduler-file", told, "--nthreads", "1", "--no-nanny", "--host", "127.0.0.1")
    workers = [start(f"worker-{number}.log", "worker", *options) for number in range(2)]
    address = json.loads(told.read_text())["address"]
    with dask.config.set({f"distributed.{name}": value for name, value in PATIENT.items()}):
        with distributed.Client(address, timeout=86_400, set_as_default=False) as client:
            wait_until(lambda: len(client.nthreads()) == 2, process, *workers)
        yield address, workers


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_killed_worker_costs_nothing(cluster, make, study_file, fake):
    address, workers = cluster
    file = study_file(*MANY)
    (fake / "seed-5").write_text("kill-once")
    seen = []
    result = make(file, at_once=None, scheduler=address, progress=seen.append)
    wait_until(lambda: [worker.poll() for worker in workers].count(-signal.SIGKILL) == 1)
    table = result.table()
    assert len(table) == len(set(table["run_id"].to_pylist())) == 60
    assert set(table["status"].to_pylist()) == {"ok"}
    assert made_so_far(fake) > 60
    assert (seen[0].done, seen[-1].done) == (0, 60)
    assert {told.workers for told in seen} >= {2}
    # All runs are complete, so the second start needs no cluster.
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
    monkeypatch.setattr(scheduler, "CONNECT_S", 0.2)
    with pytest.raises(HostError, match=r"cannot reach a Dask scheduler at tcp://127.0.0.1:1") as told:
        make(study_file(), at_once=None, scheduler="tcp://127.0.0.1:1")
    assert "dask scheduler" in told.value.hint
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(HostError, match="distributed, which is not installed") as told:
        make(study_file(), at_once=None, scheduler="tcp://127.0.0.1:1")
    assert told.value.hint == "pip install 'leowarp[dask]'"
    with pytest.raises(ScenarioError, match="--jobs counts workers of this machine"):
        make(study_file(), at_once=2, scheduler="tcp://127.0.0.1:1")
