# SPDX-License-Identifier: Apache-2.0
"""Runs a command and writes what it cost as JSON, from a process that has next to nothing in memory.

    python -I -S gauge.py COSTS COMMAND ...

`wait4`'s peak of a process begins with that of the process that started it (`setmax_mm_hiwater_rss` in fs/exec.c), so a
large Python would see no peak below its own.
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
