# SPDX-License-Identifier: Apache-2.0
"""Measure the processor time to build each directory of the guest kernel. The result also gives the curve that predicts
a build's remaining time.

    python bench/kernel_build.py TREE DIRECTORY

TREE is an unpacked kernel source. The build goes into DIRECTORY. A wrapper on the PATH runs gcc, ld, ar and nm, and
records the processor time of each call. Processor time is larger on a busy machine, so compare only builds that run
side by side.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from leowarp.guest.building.course import STEP

BUILD = Path(__file__).resolve().parent.parent / "guest" / "build.sh"
KNOTS = 12
TOOLS = ("gcc", "ld", "ar", "nm")
STAND_IN = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/wait.h>

int main(int argc, char **argv)
{
    const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0], *output = "-";
    char real[256], line[4096];
    struct rusage used;
    int status, file, length;
    pid_t child;

    snprintf(real, sizeof real, "/usr/bin/%s", name);
    child = fork();
    if (child == 0) {
        argv[0] = real;
        execv(real, argv);
        _exit(127);
    }
    wait4(child, &status, 0, &used);
    for (int i = 1; i + 1 < argc; i++)
        if (!strcmp(argv[i], "-o"))
            output = argv[i + 1];
    length = snprintf(line, sizeof line, "%s\t%.4f\t%s\n", name,
              used.ru_utime.tv_sec + used.ru_stime.tv_sec +
              (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6, output);
    file = open(getenv("LEOWARP_BUILD_COSTS"), O_WRONLY | O_APPEND | O_CREAT, 0644);
    if (file < 0 || write(file, line, length) != length)
        return 126;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
"""


def build(tree: Path, directory: Path) -> tuple[float, str]:
    """Build the kernel. Return the processor time in seconds and the build's output. The processor times of the tools
    are in the file `costs` in `directory`."""
    tools = directory / "tools"
    tools.mkdir(parents=True)
    (tools / "stand_in.c").write_text(STAND_IN)
    for name in TOOLS:
        subprocess.run(["gcc", "-O2", "-o", str(tools / name), str(tools / "stand_in.c")], check=True)
    environment = {
        **os.environ,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "LEOWARP_BUILD_COSTS": str(directory / "costs"),
    }
    command = ["sh", str(BUILD), str(tree), str(directory / "build"), str(directory / "out")]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    (directory / "build.log").write_text(done.stdout)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime, done.stdout


def costs_of(directory: Path) -> dict[str, float]:
    """Return a dict from output file to processor time in seconds. Names are relative to the build directory."""
    costs: dict[str, float] = defaultdict(float)
    for line in (directory / "costs").read_text().splitlines():
        _, seconds, output = line.split("\t")
        costs[output.removeprefix(f"{directory / 'build'}/")] += float(seconds)
    return costs


def curve(log: str, costs: dict[str, float]) -> list[tuple[int, float]]:
    """Return the values for `leowarp.guest.building.course.CURVE`. Each value is a pair: a number of printed steps, and
    the share of the build's costs up to this step."""
    spent, sums = 0.0, []
    for line in log.splitlines():
        if STEP.match(line):
            made = re.sub(r" \[M\]", "", line).split()[1]
            spent += costs.get(made, 0.01)
            sums.append(spent)
    places = [round(len(sums) * knot / KNOTS) for knot in range(1, KNOTS + 1)]
    return [(0, 0.0), *((place, round(sums[place - 1] / spent, 3)) for place in places)]


def main() -> None:
    tree, directory = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    whole_s, log = build(tree, directory)
    costs = costs_of(directory)
    by_directory: dict[str, tuple[float, int]] = defaultdict(lambda: (0.0, 0))
    for made, seconds in costs.items():
        if made.endswith(".o"):
            place = "/".join(made.split("/")[:-1][:2])
            by_directory[place] = (by_directory[place][0] + seconds, by_directory[place][1] + 1)
    for place, (seconds, objects) in sorted(by_directory.items(), key=lambda item: -item[1][0]):
        print(f"{seconds:8.2f} s {objects:4d} objects  {place}")
    print(f"{whole_s:8.2f} s in all")
    print("CURVE =", curve(log, costs))


if __name__ == "__main__":
    main()
