# SPDX-License-Identifier: Apache-2.0
"""The command line of a script that makes a documentation page: ``python SCRIPT [--check] FILE``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def write_or_check(page: str, script: str, arguments: list[str] | None) -> int:
    """Write a page to the file that the command line names. With `--check`, only check that the file equals the page.

    page: The whole text of the page.
    script: The script that makes the page, such as ``"tools/pages/tables_page.py"``.
    arguments: The words that replace the command line.
    Returns: The exit status. It is 1 if ``--check`` finds that the file is missing or differs from `page`.
    """
    parser = argparse.ArgumentParser(prog=f"python {script}")
    parser.add_argument("--check", action="store_true", help="only say whether the page is up to date")
    parser.add_argument("file", type=Path, help="the page")
    given = parser.parse_args(arguments)
    if not given.check:
        given.file.parent.mkdir(parents=True, exist_ok=True)
        given.file.write_text(page, encoding="utf-8")
        return 0
    if given.file.is_file() and given.file.read_text(encoding="utf-8") == page:
        return 0
    print(f"{given.file} is not what the code says; run: make docs (or python {script} {given.file})", file=sys.stderr)
    return 1
