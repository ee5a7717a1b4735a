# SPDX-License-Identifier: Apache-2.0
"""Find the available QUIC stacks of the study, and build missing stacks from registries at the user's request.

ngtcp2 comes from Debian. examples/programs/build.sh builds the other stacks in fixed versions and puts them into the
cache.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from leowarp import HostError
from leowarp.base.ownership import make_directory
from leowarp.guest.building.cache import cache_folder
from leowarp.scenario.names.examples import example_file
from leowarp_studies.programs.senders import NGTCP2, QUIC

COMMAND = "leowarp reproduce programs --fetch"
NGTCP2_PROGRAMS = ("gtlsserver", "gtlsclient", "openssl")


def place() -> Path:
    """Return the build directory of the transfer programs, which are in its subdirectory `bin/`."""
    return cache_folder("programs").absolute()


def missing() -> dict[str, str]:
    """Return the missing stacks, each with the command that installs it."""
    found = {}
    for name in QUIC:
        if name == NGTCP2:
            lacking = [program for program in NGTCP2_PROGRAMS if shutil.which(program) is None]
            if lacking:
                found[name] = f"there is no {lacking[0]}: apt-get install ngtcp2-client ngtcp2-server openssl"
        elif not (place() / "bin" / f"{name}-transfer").is_file():
            found[name] = f"it was not built: {COMMAND}"
    return found


def fetch(on_message: Callable[[str], None]) -> None:
    """Build the missing stacks.

    on_message: The function that is called with the name of each stack before it is built.
    Raises HostError if a stack cannot be built. The message contains the output of the build.
    """
    script = example_file("programs/build.sh")
    make_directory(place())
    for name in missing():
        # Debian packages can only be installed by the administrator, so leowarp does not install them.
        if name == NGTCP2:
            continue
        on_message(f"building {name} from its registry (minutes)")
        done = subprocess.run(
            ["sh", str(script), name], env={**os.environ, "LEOWARP_PROGRAMS": str(place())}, check=False,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
        if done.returncode != 0:
            said = "\n".join(done.stdout.splitlines()[-10:])
            raise HostError(
                f"building {name} ended with status {done.returncode}: {said}",
                hint="quinn needs Rust and gcc, quic-go needs Go, aioquic needs Python with venv; without --fetch the "
                "study is made with the stacks that are there",
            )
