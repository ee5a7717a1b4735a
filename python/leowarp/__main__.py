# SPDX-License-Identifier: Apache-2.0
"""`python -m leowarp`. If pip refuses a wheel, `python leowarp-...whl/leowarp` runs this file, which prints the
requirements that the machine lacks.

If pip refuses a wheel, it prints only "not a supported wheel on this platform". The code in this file runs on any
Python from 3.6 on.
"""

import platform
import re
import sys


def lacking(wheel: str) -> "list[str]":
    """Return those requirements of a leowarp wheel that this machine does not meet. Each of them completes the sentence
    "leowarp needs ...". The tags of the wheel's name (`cp311-abi3-manylinux_2_36_x86_64`) contain the requirements.
    """
    needed = re.search(r"-cp3(\d+)-abi3-manylinux_2_(\d+)_x86_64\.whl$", wheel)
    if needed is None:
        return [f"a wheel that is named as `make wheel` names it (this is {wheel})"]
    lacks = []
    machine = f"{platform.system()} {platform.machine()}"
    if machine != "Linux x86_64":
        lacks.append(f"Linux x86_64 (this is {machine})")
    if sys.version_info[:2] < (3, int(needed[1])):
        lacks.append(f"Python 3.{needed[1]} or newer (this is {platform.python_version()})")
    library, version = platform.libc_ver()
    numbers = re.findall(r"\d+", version)
    # The tag manylinux_2_N requires glibc 2.N (PEP 600); other C libraries do not work.
    if library != "glibc" or tuple(map(int, numbers[:2])) < (2, int(needed[2])):
        lacks.append(f"glibc 2.{needed[2]} or newer (this is {version or 'another C library'})")
    return lacks


def answer(wheel: str) -> None:
    """Print that the machine meets all requirements, or end with a sentence about the missing ones."""
    lacks = lacking(wheel)
    if lacks:
        sys.exit(f"leowarp needs {' and '.join(lacks)}; Debian 12, Ubuntu 24.04 and Fedora 37 have all of it")
    print(f"this machine has what the wheel needs; type: pip install {wheel}")


if __name__ == "__main__":
    directory = sys.path[0].rpartition("/")[0]
    if directory.endswith(".whl"):
        answer(directory)
    else:
        from leowarp.cli import main

        main()
