# SPDX-License-Identifier: Apache-2.0
"""The dumbbell as emulators build it. It consists of three network namespaces of this host, with netem, in real time.

Everything is inside the namespaces (user, network, mount, process ids) of one process without root rights. The host's
own interfaces do not change, and the namespaces disappear with this process.
"""

from __future__ import annotations

import json
import math
import platform
import shutil
import subprocess
import time
from typing import Any

from leowarp.base.errors import HostError

RATE_BPS = 100_000_000
DELAY_MS = 40
QUEUE_PKTS = 500
FULL_PACKET_BYTES = 1514
# netem's limit also counts packets in its delay line (docs/concepts/links.md). The limit must therefore be the queue
# plus the packets in flight.
LIMIT_PKTS = QUEUE_PKTS + math.ceil(DELAY_MS / 1e3 * RATE_BPS / (8 * FULL_PACKET_BYTES))
PROGRAMS = ("unshare", "ip", "tc", "nstat", "ss", "iperf3")
ALONE = ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork", "--kill-child"]

# The script creates a router between two hosts. The router shapes both directions, so that queues are at the router
# instead of the senders.
_SCRIPT = f"""set -eu
mount -t tmpfs none /run
for space in a r b; do ip netns add $space; done
ip link add a0 netns a type veth peer name r0 netns r
ip link add b0 netns b type veth peer name r1 netns r
ip -n a address add 10.0.0.1/24 dev a0; ip -n r address add 10.0.0.2/24 dev r0
ip -n b address add 10.0.1.1/24 dev b0; ip -n r address add 10.0.1.2/24 dev r1
for end in 'a a0' 'r r0' 'r r1' 'b b0'; do
	ip -n ${{end% *}} link set ${{end#* }} up
	# Segments have the size that they have on a wire: offloads of sender and receiver are off.
	ip netns exec ${{end% *}} ethtool -K ${{end#* }} tso off gso off gro off >/dev/null 2>&1 || true
done
ip -n a link set a0 gso_max_segs 1; ip -n b link set b0 gso_max_segs 1
ip -n a route add default via 10.0.0.2; ip -n b route add default via 10.0.1.2
ip netns exec r sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'
for way in r0 r1; do
	tc -n r qdisc add dev $way root netem delay {DELAY_MS}ms rate {RATE_BPS}bit limit {LIMIT_PKTS}
done
for host in a b; do
	for file in tcp_rmem tcp_wmem; do
		ip netns exec $host sh -c "echo '4096 131072 16777216' > /proc/sys/net/ipv4/$file"
	done
done
ip netns exec b iperf3 --server --one-off --bind 10.0.1.1 >/dev/null &
until ip netns exec b ss -Hltn | grep -q :5201; do kill -0 $!; sleep 0.1; done
ip netns exec a iperf3 --client 10.0.1.1 --time DURATION --congestion CONTROL --json
ip netns exec a nstat --zeros TcpExtTCPDSACKRecv >&2
"""


def lacking() -> str | None:
    """Return why this host cannot run the dumbbell. The text is the end of a sentence "because ...". None means that
    the host meets all requirements."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    if missing:
        return f"this host has no {' and no '.join(missing)}"
    tried = "ip link add v0 type veth peer name v1 && tc qdisc add dev v0 root netem delay 1ms"
    made = subprocess.run([*ALONE, "sh", "-c", tried], capture_output=True, text=True)
    return None if made.returncode == 0 else reason(made.stderr)


def reason(said: str) -> str:
    """Return a sentence that explains why the kernel refused a namespace with netem."""
    last = (said.strip().splitlines() or ["no reason given"])[-1].removeprefix("Error: ").rstrip(".")
    if "kind is unknown" in said or "not found" in said:
        return f"the kernel of this host has no netem (it says: {last})"
    return f"this host gives an ordinary user no network namespaces (it says: {last})"


def over_netem(duration_s: int) -> dict[str, Any]:
    """Run the dumbbell with CUBIC over netem. Return the results and the duration. If the host cannot run it, the
    result has only the key `lacking` with the reason.

    Raises HostError if the run was started and failed.
    """
    why = lacking()
    if why is not None:
        return {"lacking": why}
    script = _SCRIPT.replace("DURATION", str(duration_s)).replace("CONTROL", "cubic")
    began_s = time.monotonic()
    made = subprocess.run([*ALONE, "sh", "-c", script], capture_output=True, text=True)
    if made.returncode:
        raise HostError(f"the namespaces with netem ended with status {made.returncode}: {made.stderr.strip()}")
    return {
        "lacking": None, "name": "dumbbell", "congestion_control": "cubic", "duration_s": duration_s,
        "wall_s": round(time.monotonic() - began_s, 1), "linux": platform.release(),
        **counted(made.stdout, made.stderr),
    }  # fmt: skip


def counted(report: str, counters: str) -> dict[str, Any]:
    """Read goodput and retransmissions from iperf3's JSON. Read the number of reported duplicates (DSACK) from nstat's
    lines.

    Raises HostError if iperf3's JSON contains an error. With --json, the exit status does not show errors.
    """
    said = json.loads(report)
    if "error" in said:
        raise HostError(f"the transfer over netem failed: iperf3 says: {said['error']}")
    end = said["end"]
    (dsack,) = [line.split()[1] for line in counters.splitlines() if line.startswith("TcpExtTCPDSACKRecv")]
    return {
        "goodput_bps": end["sum_received"]["bits_per_second"],
        "retransmissions_pkts": end["sum_sent"]["retransmits"],
        "dsack_pkts": int(dsack),
    }
