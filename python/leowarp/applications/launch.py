# SPDX-License-Identifier: Apache-2.0
"""Starts one of the programs: `python3 launch.py serve|transactions|page|video|frames ...`; each has `--help`."""

import sys

# Compiled modules are neither read nor written: whether there are any beside the sources depends on who used this
# installation before, and a system call that fails takes virtual time.
sys.pycache_prefix = "/nonexistent"
sys.dont_write_bytecode = True

if __name__ == "__main__":
    from programs.command import main

    sys.exit(main())
