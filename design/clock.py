# SPDX-License-Identifier: Apache-2.0
"""Measure the effects of guest/clock/clock.c for design/clock.md: `python design/clock.py [KERNEL...]`.

Each kernel in the arguments (for example one built without clock.c) is measured beside the default kernel.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import leowarp as lw

CHAIN = """
name = "clock"
[run]
duration = "{duration}"
[chain]
hops = 3
delay = "10 ms"
rate = "{rate}"
queue = "500 pkts"
[network]
link_model = "{link_model}"
[[flows]]
kind = "{kind}"
source = "A"
destination = "B"
"""
FRAME_BYTES = 56 + 8 + 20 + 14
REPETITIONS = 3


def main(kernels: list[str]) -> None:
    print(f"{'kernel':20} {'links':8} {'largest error of a probe, ns':>30} {'CPU of 20 s at 100 Mbit/s, s':>30}")
    with tempfile.TemporaryDirectory() as scratch:
        for link_model in ("leolink", "netem"):
            cpu_s: dict[str, list[float]] = {}
            for _ in range(REPETITIONS):
                for kernel in kernels:
                    text = CHAIN.format(duration="20 s", rate="100 Mbit/s", link_model=link_model, kind="tcp")
                    run = made(text, Path(scratch), kernel)
                    cpu_s.setdefault(kernel, []).append(run.manifest["costs"]["guest_cpu_s"])
            for kernel in kernels:
                text = CHAIN.format(duration="100 s", rate="10 Mbit/s", link_model=link_model, kind="ping")
                echoes = made(
                    text.replace('kind = "ping"', 'kind = "ping"\ninterval = "70 ms"'), Path(scratch), kernel
                ).echoes()
                error_ns = echoes["received_ns"] - echoes["sent_ns"] - 3 * (10_000_000 + FRAME_BYTES * 800)
                name = Path(kernel).parent.name[:18] or kernel
                print(f"{name:20} {link_model:8} {error_ns.abs().max():30.0f} {min(cpu_s[kernel]):30.2f}")


def made(text: str, scratch: Path, kernel: str):
    path = scratch / "scenario.toml"
    path.write_text(text)
    return lw.run(path, out=scratch / "run", kernel=kernel, force=True, report=False, progress=False)


if __name__ == "__main__":
    main(["default", *sys.argv[1:]])
