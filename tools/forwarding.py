# SPDX-License-Identifier: Apache-2.0
"""Run random networks with direct forwarding and with the kernel's forwarding. Compare their records byte by byte.

    python tools/forwarding.py --networks 1000 --first 20000
    python tools/forwarding.py --networks 400 --first 30000 --duration 30

Each seed gives one network (`any_network` of tests/support/networks.py). A run takes 1 to 30 s of virtual time, or
--duration s, in a separate boot. The output has a line for each network whose records differ. The line names the files
that differ. The script skips networks in which leowarp never uses direct forwarding
(leowarp/guest/setup/forwarding.py). Exit status 1 means that at least one network differs.
"""

import argparse
import itertools
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from leowarp.guest import GuestImage, guest_image  # noqa: E402
from leowarp.guest.setup.forwarding import forwarding  # noqa: E402
from support.networks import FORWARDING, Network, any_network, records  # noqa: E402


def main() -> int:
    """Compare the networks that the command line names. Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--networks", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--duration", type=int, metavar="S")
    parser.add_argument("--kernel", default="default", help="as guest.kernel in a scenario")
    parser.add_argument("--jobs", type=int, default=1)
    given = parser.parse_args()
    seeds = itertools.count(given.first)
    networks = list(itertools.islice(filter(is_direct, map(any_network, seeds)), given.networks))
    print(f"{given.networks} of the networks {given.first} to {next(seeds) - 1}", flush=True)
    if given.duration:
        networks = [replace(network, duration_ns=given.duration * 1_000_000_000) for network in networks]
    image = guest_image(given.kernel)
    different = 0
    with ThreadPoolExecutor(given.jobs) as pool:
        for done, (network, files) in enumerate(
            zip(networks, pool.map(lambda network: differing(image, network), networks), strict=True), start=1
        ):
            different += bool(files)
            if files:
                print(f"{network}: {', '.join(files)}", flush=True)
            if done % 50 == 0 or done == len(networks):
                print(f"{done} networks, {different} different", flush=True)
    return 1 if different else 0


def is_direct(network: Network) -> bool:
    """Check whether leowarp's own code forwards packets in this run (guest/links/leolink_direct.c)."""
    plan = network.plan("direct")
    return forwarding(plan, network.timeline(plan)) == "direct"


def differing(image: GuestImage, network: Network) -> list[str]:
    """Return the names of the files that differ between direct and kernel forwarding."""
    with tempfile.TemporaryDirectory() as directory:
        direct, kernel = (records(image, network, name, Path(directory) / name) for name in FORWARDING)
    return sorted(name for name in direct.keys() | kernel.keys() if direct.get(name) != kernel.get(name))


if __name__ == "__main__":
    sys.exit(main())
