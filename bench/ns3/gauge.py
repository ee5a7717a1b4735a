# SPDX-License-Identifier: Apache-2.0
"""Run a command from a small process, and write its cost as JSON.

    python -I -S gauge.py COSTS COMMAND ...

The memory peak from `wait4` is at least the parent process's peak at the start (`setmax_mm_hiwater_rss` in fs/exec.c).
If the parent were a large Python process, the script could not see a command's smaller peak.
"""

import json
import os
import sys


def main() -> None:
    costs, command = sys.argv[1], sys.argv[2:]
    _, status, usage = os.wait4(os.posix_spawnp(command[0], command, os.environ), 0)
    spent = {"cpu_s": usage.ru_utime + usage.ru_stime, "memory_bytes": usage.ru_maxrss * 1024}
    with open(costs, "w") as file:
        json.dump(spent, file)
    sys.exit(os.waitstatus_to_exitcode(status) != 0)


if __name__ == "__main__":
    main()
