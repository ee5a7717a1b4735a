# SPDX-License-Identifier: Apache-2.0
"""Where the processor time of a run goes, by part of the guest: the profile of docs/performance.md.

    guest/build.sh SOURCE BUILD OUT      keeps BUILD/linux with its symbols
    python bench/profile.py BUILD/linux [SECONDS]

Needs `perf` (Debian: linux-perf). Functions of the guest kernel are put under the part whose pattern matches first.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "madrid-tokyo.toml"
# A name tells no file: taps.c has a `receive` too, which counts as leolink's.
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


def profile(kernel: Path, seconds: int) -> dict[str, float]:
    """Share of samples by part, of the processes of the guest."""
    with tempfile.TemporaryDirectory(prefix="leowarp-profile-") as scratch:
        data, out = Path(scratch) / "perf.data", Path(scratch) / "run"
        command = [sys.executable, "-m", "leowarp", "run", str(EXAMPLE), "--out", str(out), "--no-report",
                   "--progress", "none", "--kernel", str(kernel), "--set", f"run.duration={seconds} s"]  # fmt: skip
        record = ["perf", "record", "-q", "-o", str(data), "-F", "2000", "-e", "cpu-clock", *command]
        subprocess.run(record, check=True, stdout=subprocess.DEVNULL)
        report = ["perf", "report", "-i", str(data), "--no-children", "--comm", kernel.name, "--sort", "dso,sym",
                  "--field-separator", "\t", "--fields", "overhead,dso,sym", "--stdio"]  # fmt: skip
        text = subprocess.run(report, check=True, capture_output=True, text=True).stdout
    shares: dict[str, float] = defaultdict(float)
    for line in text.splitlines():
        if line.startswith("#") or line.count("\t") < 2:
            continue
        share, program, symbol = (part.strip() for part in line.split("\t")[:3])
        shares[part_of(program, symbol.split(" ", 1)[-1].strip(), kernel.name)] += float(share.rstrip("%"))
    whole = sum(shares.values())
    return {name: value / whole for name, value in sorted(shares.items(), key=lambda item: -item[1])}


def part_of(program: str, symbol: str, kernel: str) -> str:
    if program.startswith("[kernel"):
        return "host kernel: switches between the guest's processes, page faults, files"
    if program != kernel:
        return "the agent"
    return next((name for name, pattern in PARTS if re.search(pattern, symbol)), "the rest of the guest kernel")


def main() -> None:
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    print("| part | share |\n|---|---|")
    for name, share in profile(Path(sys.argv[1]), seconds).items():
        print(f"| {name} | {share:.0%} |")


if __name__ == "__main__":
    main()
