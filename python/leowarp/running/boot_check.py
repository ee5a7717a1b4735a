# SPDX-License-Identifier: Apache-2.0
"""Checks whether the kernel and the agent boot on this machine, and whether they carry packets."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from leowarp.base.errors import LeowarpError
from leowarp.guest import guest_image
from leowarp.guest.machine.host import Check
from leowarp.running.one import run

NAME = "guest"
NEEDED = "the guest boots, and each probe over its chain is answered"
# With an interval of 200 ms, four pings are sent and answered in the run's single second.
PROBES = 4
# The round trip contains 4 x 10 ms of propagation. In addition, 98 bytes are sent at 10 Mbit/s twice on each of two
# links.
SCENARIO = f"""
name = "boot-check"
[run]
duration = "1 s"
[chain]
hops = 2
delay = "10 ms"
rate = "10 Mbit/s"
queue = "100 pkts"
[[flows]]
kind = "ping"
source = "A"
destination = "B"
interval = "200 ms"
packets = {PROBES}
"""


def boot_check(kernel: Path | str | None = None) -> Check:
    """Boot the guest on this machine for one virtual second. Check that one host of the guest answers another host over
    two links. The check takes one or two seconds.

    kernel: A kernel tree or binary to boot. None means the default kernel. If the kernel or the agent is missing, it is
        built first.
    Returns: The check. `found` is the result. If the guest did not boot, `found` is the reason, with the last lines of
        the guest's console.
    """
    # If the guest fails, the directory is kept, because a bug report needs the console's file.
    scratch = Path(tempfile.mkdtemp(prefix="leowarp-doctor-"))
    scenario = scratch / "boot-check.toml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    try:
        lacking = guest_image(kernel or "default").kernel_facts.get("left_out", {})
        changes = {"network.link_model": "netem"} if "leolink" in lacking else {}
        made = run(scenario, changes, scratch / "run", kernel=kernel, report=False, progress=False)
    except LeowarpError as error:
        return Check(NAME, False, error.message, NEEDED, error.hint)
    echoes = made.echoes()
    round_trips_ms = (echoes["reply_ns"] - echoes["sent_ns"]).dropna() / 1e6
    costs, version = made.manifest["costs"], made.manifest["kernel"]["linux_version"]
    shutil.rmtree(scratch)
    answered = f"{len(round_trips_ms)} of {PROBES} probes answered"
    if len(round_trips_ms) < PROBES:
        return Check(
            NAME, False, f"Linux {version} boots, but {answered}", NEEDED, "leowarp kernel clean; leowarp kernel build"
        )
    outcome = f"Linux {version} boots, {answered} in {round_trips_ms.median():.2f} ms, {costs['wall_s']:.1f} s"
    return Check(NAME, True, outcome, NEEDED)
