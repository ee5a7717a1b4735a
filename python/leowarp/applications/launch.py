# SPDX-License-Identifier: Apache-2.0
"""Start one of the programs: `python3 launch.py serve|transactions|page|video|frames ...`. Each program has
`--help`."""

import sys

# Python neither reads nor writes compiled modules, so that the virtual time of a run does not depend on earlier use.
# Compiled modules exist only if this installation was used before. If a compiled module is missing, the search for its
# file takes virtual time.
sys.pycache_prefix = "/nonexistent"
sys.dont_write_bytecode = True

if __name__ == "__main__":
    from programs.command import main

    sys.exit(main())
