# SPDX-License-Identifier: Apache-2.0
"""Compare the delay, the queue and the cost of `leolink` with those of netem.

    python design/leolink.py [--seconds 100]

The script prints the table of design/leolink.md. Each pair of costs is measured three times in turn, and the median is
printed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path

import leowarp as lw

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
FRAME_BITS = 1514 * 8


def run(name: str, changes: dict, directory: Path) -> lw.Run:
    return lw.run(EXAMPLES / name, changes, directory, force=True, report=False, progress=False)


def probe_error_ns(model: str, directory: Path) -> float:
    """Return the largest error in ns of a probe's one-way delay over three hops. The closed form gives the correct
    delay."""
    ping = {"kind": "ping", "source": "A", "destination": "B", "interval": "97 ms", "payload": "1000 B"}
    echoes = run("chain.toml", {"flows": [ping], "network.link_model": model}, directory).echoes()
    expected_ns = 3 * (10_000_000 + 1042 * 800)
    return float((echoes["received_ns"] - echoes["sent_ns"] - expected_ns).abs().max())


def standing_queue_ms(model: str, directory: Path) -> float:
    """Return the queueing delay in ms of a UDP stream that sends at twice the link's rate. It should be 84.2 ms,
    because the queue can contain 100 packets, and each takes 842 us to send."""
    udp = {"kind": "udp", "source": "A", "destination": "B", "payload": "1010 B", "rate": "20 Mbit/s"}
    changes = {"flows": [udp], "network.link_model": model, "run.duration": "3 s"}
    echoes = run("chain.toml", changes, directory).echoes()
    empty_ns = 3 * (10_000_000 + 1052 * 800)
    return float((echoes["received_ns"] - echoes["sent_ns"]).max() - empty_ns) / 1e6


def cost_s(model: str, seconds: int, directory: Path) -> float:
    changes = {"network.link_model": model, "run.duration": f"{seconds} s"}
    run("madrid-tokyo.toml", changes, directory)
    return json.loads((directory / "manifest.json").read_text())["costs"]["guest_cpu_s"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=100)
    seconds = parser.parse_args().seconds
    models = ("leolink", "netem")
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch) / "run"
        error = {model: probe_error_ns(model, directory) for model in models}
        queue = {model: standing_queue_ms(model, directory) for model in models}
        costs: dict[str, list[float]] = {model: [] for model in models}
        for _ in range(3):
            for model in models:
                costs[model].append(cost_s(model, seconds, directory))
    cost = {model: statistics.median(values) for model, values in costs.items()}
    print("| what | leolink | netem |\n|---|---|---|")
    print(f"| one-way delay over 3 hops, largest error | {error['leolink']:.0f} ns | {error['netem']:.0f} ns |")
    print(f"| longest wait at a queue of 100 packets (84.2 ms) | {queue['leolink']:.2f} ms | {queue['netem']:.2f} ms |")
    print(f"| guest CPU, Madrid-Tokyo CUBIC {seconds} s | {cost['leolink']:.2f} s | {cost['netem']:.2f} s |")


if __name__ == "__main__":
    main()
