# SPDX-License-Identifier: Apache-2.0
"""Fixtures that run commands, and a run directory that is made without a guest."""

import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from leowarp import scenario, trace
from leowarp.base import layout, recorded
from leowarp.cli import main
from leowarp.running.writing import Writing, write_plan
from support.encode import encode_records

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


@dataclass(frozen=True)
class Typed:
    """The result of a command: its exit status, its output, and its errors."""

    status: int
    out: str
    err: str

    def json(self):
        return json.loads(self.out)


@pytest.fixture
def leowarp(monkeypatch, capsys, tmp_path):
    """A function that runs `leowarp ...` within this process, in an empty directory, with outputs that are no terminal.

    A new process would need half a second or more to load its libraries.
    """

    def run(*words, given=b"", env=None, cwd=tmp_path):
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["leowarp", *map(str, words)])
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(given))))
            patch.chdir(cwd)
            for name, value in (env or {}).items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main()
        return Typed(ended.value.code or 0, *capsys.readouterr())

    return run


@pytest.fixture
def leowarp_process(tmp_path):
    """A function that runs `leowarp ...` in a process of its own."""

    def run(*words, env=None):
        done = subprocess.run(
            [sys.executable, "-m", "leowarp", *map(str, words)],
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        return Typed(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def write_run(tmp_path):
    """A function that writes a complete run of `examples/chain.toml` with an invented trace, and returns its
    directory."""

    def write(name="run", *, captures=(), **settings):
        plan = scenario.plan_of(EXAMPLES / "chain.toml", {"run.duration": "1 s", **settings})
        output = tmp_path / f"{name}-guest-output"
        output.mkdir()
        for table, columns in _TABLES.items():
            (output / f"{table}.rec").write_bytes(encode_records(table, columns, names=["TcpRetransSegs"]))
        (output / "end.json").write_text('{"ok": true, "warnings": []}')
        for capture in captures:
            (output / capture).write_bytes(b"\x0a\x0d\x0d\x0a" + capture.encode())
        with Writing(tmp_path / name) as directory:
            write_plan(directory, plan.to_toml(), {})
            trace.convert(output, directory / layout.TRACE)
            recorded.write_json(directory / layout.SUMMARY, {"name": plan.name, "drops_pkts": None, "flows": [_FLOW]})
            costs = trace.Stopwatch().costs(1.0, 2.5, 1 << 20)
            trace.write_manifest(directory, 1, {"linux_version": "6.12"}, {}, ["look twice"], costs)
        return directory

    return write


_FLOW = {"flow": 0, "goodput_mean_bps": 9.5e6, "srtt_p50_us": None}
_TABLES = {
    "sockets": {"t_ns": [0, 50_000_000], "flow": [0, 0], "cwnd_pkts": [10, 20], "ssthresh_pkts": [None, 15]},
    "packets": {
        "flow": [0, 0],
        "direction": [0, 1],
        "sent_ns": [1, 2],
        "received_ns": [3, None],
        "is_late": [False, None],
    },
    "bins": {"t_ns": [0], "flow": [0], "direction": [0]},
    "delays": {"flow": [0], "quantity": [0], "lower_ns": [0], "upper_ns": [1], "pkts": [1]},
    "links": {"t_ns": [0], "direction": [0], "queue_pkts": [1]},
    "linktotals": {"direction": [0]},
    "counters": {"t_ns": [0], "host": [0], "counter": [0], "value": [7]},
    "drops": {},
    "flows": {"flow": [0, 1]},
    "acks": {"flow": [0], "segments_pkts": [2], "wait_ns": [1_200_000], "acks_pkts": [1]},
    "echoes": {"flow": [1], "index": [0], "sent_ns": [5]},
    "reordering": {"flow": [0], "scope": [0], "number": [0], "t_ns": [0], "end_ns": [1_000_000_000]},
    "densities": {"flow": [0], "scope": [0], "number": [0], "kind": [0], "index": [0], "pkts": [2]},
}
