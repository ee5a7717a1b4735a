# SPDX-License-Identifier: Apache-2.0
"""Makes the pictures of docs/gallery.md anew: types its commands and takes the files that it says they write.

    python tools/gallery.py [--only NAME ...]

A line `<!-- picture: FILE -->` above a picture says which file of the commands before it that picture is. It is kept
with fewer colours (a third of the bytes); `--only` writes those pictures alone, after all commands.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "gallery.md"
COLOURS = 160
"""By maximum coverage none of the pictures is off by more than 13 of 255 anywhere. A median cut, which counts pixels,
turns thin pink lines grey."""
_COMMANDS = re.compile(r"^```\n(.*?)^```$", re.M | re.S)
_PICTURE = re.compile(r"^<!-- picture: (\S+) -->\n!\[[^\]]*\]\((\S+)\)$", re.M)


def main() -> None:
    """Types the commands in a directory of its own and writes the pictures."""
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
            keep(Path(place) / made, kept)
            print(f"{kept.relative_to(ROOT)}: {kept.stat().st_size} bytes")


def pictures(text: str) -> list[tuple[str, str]]:
    """(file that the commands write, picture of the page) of each picture that they make."""
    return _PICTURE.findall(text)


def commands(text: str) -> list[str]:
    """The commands up to the last picture that they make, but for those that open a page."""
    end = max(match.end() for match in _PICTURE.finditer(text))
    typed = [line for block in _COMMANDS.findall(text[:end]) for line in block.splitlines()]
    return [line for line in typed if "view" not in shlex.split(line)[1:2]]


def keep(made: Path, kept: Path) -> None:
    """Writes a picture with fewer colours."""
    kept.parent.mkdir(parents=True, exist_ok=True)
    few = Image.open(made).convert("RGB").quantize(COLOURS, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    few.save(kept, optimize=True)


def _is_wanted(kept: str, only: list[str] | None) -> bool:
    return only is None or Path(kept).stem in only


if __name__ == "__main__":
    main()
