# SPDX-License-Identifier: Apache-2.0
"""Makes runs in the guest. Each run has one flow between two programs."""

import json
from pathlib import Path

import leowarp as lw

CHAIN = """
name = "program"
[run]
duration = "{duration}"
[chain]
hops = 1
delay = "10 ms"
rate = "20 Mbit/s"
queue = "100 pkts"
"""
FLOW = """
[[flows]]
kind = "program"
source = "A"
destination = "B"
client = {client}
{keys}
"""


def run_of(folder: Path, client: str, keys: str = "", duration: str = "2 s", name: str = "run", changes=()) -> lw.Run:
    """Make a run with one flow of programs, over a chain of two routers."""
    path = folder / "scenario.toml"
    path.write_text(CHAIN.format(duration=duration) + FLOW.format(client=json.dumps(client), keys=keys))
    return lw.run(path, changes, folder / name, report=False, progress=False, trust=True)


def said(run: lw.Run, role: str = "client", stream: str = "stdout", flow: int = 0) -> str:
    return (run.path / "35-programs" / str(flow) / role / stream).read_text()
