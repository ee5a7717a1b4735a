# SPDX-License-Identifier: Apache-2.0
"""Measure how much processor time each part of the guest takes, for the profile in docs/performance.md.

    guest/build.sh SOURCE BUILD OUT      keeps BUILD/linux with its symbols
    python bench/profile.py BUILD/linux [SECONDS]    shares of Madrid-Tokyo
    python bench/profile.py BUILD/linux --flows      what a packet costs by part, of one flow and of 90 (bench/size.py)

The script needs `perf` (Debian: linux-perf). Each function of the guest kernel belongs to the first part whose pattern
    matches its name.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from size import BASE, CASES, Case, sent_pkts
from size import scenario as flows_file

import leowarp as lw

FREQUENCY_HZ = 4000
EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "madrid-tokyo.toml"
# A function's name does not identify its file: for example, taps.c also has a function `receive`, which the table
# counts as part of leolink.
PARTS = (
    (
        "links and forwarding (leolink)",
        r"leolink|^(arm|advance|deliver|due|enter|fire|leave|link_bytes|put|receive|rewrite|set_next_arrival|settle)$",
    ),
    ("packet truth's taps", r"^(record|send|skb_copy_bits|raw_copy_to_user)$"),
    ("virtual clock, interrupts, idle loop, softirq", r"time_travel|irq|signals|idle|tick|timer|clockevent|ktime"),
    ("TCP of both hosts", r"tcp|inet_|sk_|sock_|bictcp|cubic|skb_segment|skb_clone|skb_split|coalesce|__inet"),
    ("IPv4: receive, look up, forward, send", r"^(__)?ip_|^ip4|ipv4|fib_|rt_|dst_|neigh|arp"),
    ("devices, veth, backlog", r"netif|net_rx|net_tx|dev_|veth|eth_|backlog|napi|qdisc|xmit|netdev|skb_scrub"),
    ("memory: packets, copies", r"skb|slab|kmalloc|kfree|kmem|mem|page|copy|vmap"),
)


def samples(kernel: Path, command: list[str]) -> dict[str, int]:
    """Run a command that makes a run. Return the number of the profiler's samples in each part of the guest."""
    with tempfile.TemporaryDirectory(prefix="leowarp-profile-") as scratch:
        data = Path(scratch) / "perf.data"
        record = ["perf", "record", "-q", "-o", str(data), "-F", str(FREQUENCY_HZ), "-e", "cpu-clock", *command]
        subprocess.run(record, check=True, stdout=subprocess.DEVNULL)
        report = ["perf", "report", "-i", str(data), "--no-children", "--comm", kernel.name, "--sort", "dso,sym",
                  "--field-separator", "\t", "--fields", "sample,dso,sym", "--stdio"]  # fmt: skip
        text = subprocess.run(report, check=True, capture_output=True, text=True).stdout
    found: dict[str, int] = defaultdict(int)
    for line in text.splitlines():
        if line.startswith("#") or line.count("\t") < 2:
            continue
        count, program, symbol = (part.strip() for part in line.split("\t")[:3])
        found[part_of(program, symbol.split(" ", 1)[-1].strip(), kernel.name)] += int(count)
    return found


def run_command(kernel: Path, scenario: str | Path, until_s: float, out: Path) -> list[str]:
    return [sys.executable, "-m", "leowarp", "run", str(scenario), "--out", str(out), "--force", "--no-report",
            "--progress", "none", "--kernel", str(kernel), "--set", f"run.duration={until_s} s"]  # fmt: skip


def share_lines(kernel: Path, seconds: int) -> list[str]:
    """Return the lines of a table that shows the share of each part in the run Madrid-Tokyo."""
    with tempfile.TemporaryDirectory(prefix="leowarp-profile-") as scratch:
        found = samples(kernel, run_command(kernel, EXAMPLE, seconds, Path(scratch) / "run"))
    whole = sum(found.values())
    lines = [f"| {name} | {count / whole:.0%} |" for name, count in sorted(found.items(), key=lambda item: -item[1])]
    return ["| part | share |", "|---|---|", *lines]


def packet_ns(kernel: Path, case: Case, scratch: Path) -> dict[str, float]:
    """Return the cost of a packet in ns, for each part of the guest. The cost is the difference between two runs, which
    end at `case.to_s` and at `case.from_s`. Nothing else changes between these times."""
    file = flows_file(case.pairs, scratch / "flows.toml")
    counts, pkts = [], []
    for until_s in (case.from_s, case.to_s):
        counts.append(samples(kernel, run_command(kernel, file, until_s, scratch / "run")))
        pkts.append(sent_pkts(lw.open(scratch / "run").linktotals()))
    ns = 1e9 / FREQUENCY_HZ / (pkts[1] - pkts[0])
    return {part: (counts[1][part] - counts[0][part]) * ns for part in counts[1]}


def packet_lines(kernel: Path) -> list[str]:
    """Return the lines of a table that shows how much time a packet takes in each part of the system. One column is for
    one flow, and one for many flows."""
    with tempfile.TemporaryDirectory(prefix="leowarp-profile-") as scratch:
        one, many = (packet_ns(kernel, CASES[name], Path(scratch)) for name in (BASE, "90 flows"))
    lines = [f"| {part} | {one.get(part, 0):,.0f} | {ns:,.0f} |"
             for part, ns in sorted(many.items(), key=lambda item: -item[1])]  # fmt: skip
    head = [f"| part, ns a packet | {BASE} | 90 flows |", "|---|---:|---:|"]
    return [*head, *lines, f"| all | {sum(one.values()):,.0f} | {sum(many.values()):,.0f} |"]


def part_of(program: str, symbol: str, kernel: str) -> str:
    if program.startswith("[kernel"):
        return "host kernel: switches between the guest's processes, page faults, files"
    if program != kernel:
        return "the agent"
    return next((name for name, pattern in PARTS if re.search(pattern, symbol)), "the rest of the guest kernel")


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    kernel, rest = Path(sys.argv[1]), sys.argv[2:]
    lines = packet_lines(kernel) if rest == ["--flows"] else share_lines(kernel, int(rest[0]) if rest else 200)
    print("\n".join(lines))


if __name__ == "__main__":
    main()
