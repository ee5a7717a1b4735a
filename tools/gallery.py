# SPDX-License-Identifier: Apache-2.0
"""Renew the pictures of docs/gallery.md from the files that the commands on the page write.

    python tools/gallery.py [--only NAME ...]

A line above each picture states its source. With `<!-- picture: FILE -->`, the picture is FILE. The commands above the
picture write this file. With `<!-- picture: PAGE.html#... WxH -->`, the picture shows a page that the commands write. A
Chromium without a window renders the page at the size WxH. With `<!-- picture: notebook WxH -->`, the picture is a
notebook with the Python code above the picture. Pictures are stored with fewer colours, which saves two thirds of the
bytes. `--only` runs all commands but writes only the named pictures.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from support.chromium import PROGRAM, Browser  # noqa: E402
from support.notebooks import as_page, executed  # noqa: E402

PAGE = ROOT / "docs" / "gallery.md"
COLOURS = 160
"""The number of colours in a picture. The method "maximum coverage" keeps every colour within 13 of 255 of the
original. The method "median cut" would turn thin pink lines grey, because it counts pixels."""
MOST_COLOURS = 256
"""The number of colours in a browser screenshot. With fewer colours, grey areas would get a tint."""
_COMMANDS = re.compile(r"^```\n(.*?)^```$", re.M | re.S)
_PICTURE = re.compile(r"^<!-- picture: (\S+(?: \d+x\d+)?) -->\n!\[[^\]]*\]\((\S+)\)$", re.M)
_CELLS = re.compile(r"^```python\n(.*?)^```\n+<!-- picture: notebook", re.M | re.S)


def main() -> None:
    """Run the commands in a separate directory, and write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="pictures without directory and ending: map packets")
    given = parser.parse_args()
    text = PAGE.read_text(encoding="utf-8")
    wanted = [(made, PAGE.parent / kept) for made, kept in pictures(text) if _is_wanted(kept, given.only)]
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "examples").symlink_to(ROOT / "examples")
        for command in commands(text):
            print(command, file=sys.stderr)
            programs = Path(sys.executable).parent
            subprocess.run(
                command, shell=True, cwd=place, check=True, stdout=subprocess.DEVNULL,
                env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
            )  # fmt: skip
        for made, kept in wanted:
            file, _, size = made.partition(" ")
            if size:
                browsed(Path(place), file, _CELLS.search(text), size, Path(place) / "picture.png")
                file = "picture.png"
            keep(Path(place) / file, kept, MOST_COLOURS if size else COLOURS)
            print(f"{kept.relative_to(ROOT)}: {kept.stat().st_size} bytes")


def pictures(text: str) -> list[tuple[str, str]]:
    """For each picture on the page that is made from a file, return its source file and its picture file."""
    return _PICTURE.findall(text)


def commands(text: str) -> list[str]:
    """Return all commands of the page before its last picture. Commands that open a page are left out."""
    end = max(match.end() for match in _PICTURE.finditer(text))
    typed = [line for block in _COMMANDS.findall(text[:end]) for line in block.splitlines()]
    return [line for line in typed if "view" not in shlex.split(line)[1:2]]


def browsed(place: Path, what: str, cells: re.Match[str] | None, size: str, out: Path) -> None:
    """Write a screenshot of a page, or of a notebook with the given cells.

    place: The directory in which the commands were run.
    what: The page with its fragment, or "notebook".
    cells: The match of `_CELLS`.
    size: The "WIDTHxHEIGHT" of the window.
    out: The PNG to write.
    """
    if PROGRAM is None:
        sys.exit("no Chromium here (Debian: apt-get install --no-install-recommends chromium)")
    width, height = map(int, size.split("x"))
    browser = Browser(place / "profile", (width, height))
    try:
        if what == "notebook":
            assert cells is not None, "no Python before the notebook"
            address = as_page(executed(cells_of(cells[1]), place), place / "notebook.html")
            tab = browser.open(address, (width, height), ready="document.querySelector('iframe')")
            tab.frame().wait("window.leowarp && leowarp.frames.count > 1")
        else:
            file, _, fragment = what.partition("#")
            tab = browser.open(f"{(place / file).as_uri()}#{fragment}", (width, height))
            tab.run("leowarp.drawNow()")
        tab.frames(3)
        tab.picture(out)
    finally:
        browser.close()


def cells_of(text: str) -> list[str]:
    """Split Python code into the cells of a notebook. Each cell ends with the expression whose value it shows."""
    cells, lines, begin = [], text.splitlines(), 0
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.Expr):
            assert statement.end_lineno is not None
            cells.append("\n".join(lines[begin : statement.end_lineno]).strip())
            begin = statement.end_lineno
    return cells


def keep(made: Path, kept: Path, colours: int = COLOURS) -> None:
    """Write a picture with fewer colours."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    few = Image.open(made).convert("RGB").quantize(colours, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(kept, optimize=True)


def _is_wanted(kept: str, only: list[str] | None) -> bool:
    return only is None or Path(kept).stem in only


if __name__ == "__main__":
    main()
