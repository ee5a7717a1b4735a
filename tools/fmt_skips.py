# SPDX-License-Identifier: Apache-2.0
"""Finds each `# fmt: skip` that is not worth it: `python tools/fmt_skips.py [--fix] [FILE ...]`.

Rows of a table and calls of many short arguments are read more easily in rows than one value a line, so a statement may
be kept from the formatter. It is worth it if the formatter would make the statement longer by `WORTH_LINES` lines or
more; exit status 1 names each that is not, and `--fix` takes those out.
"""

import argparse
import io
import re
import subprocess
import sys
import tokenize
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("python", "tests", "tools", "design", "bench", "conftest.py")
MARK = "  # fmt: skip"
# One line more is no loss of overview, and a mark of its own to read.
WORTH_LINES = 2
_BORDER = "# border"


@dataclass(frozen=True)
class Skip:
    """A statement, or the head of one, that is kept from the formatter.

    Attributes
    ----------
    path : Path
    first, last : int
        Its lines, counted from 1; the mark stands at the end of the last.
    text : str
        These lines.
    """

    path: Path
    first: int
    last: int
    text: str

    def alone(self) -> str:
        """The statement as a program, as deep as it stands in its file: its depth decides what fits into a line."""
        indent = len(self.text) - len(self.text.lstrip(" "))
        # Blocks around it in place of its own: what it stands in may be the head of something that is not whole here.
        around = "".join(" " * at + "if True:\n" for at in range(0, indent, 4))
        text, space = self.text.replace(MARK, ""), " " * indent
        if text.lstrip().startswith("@"):
            return f"{around}{text}\n{space}def name(): ...\n"
        if text.rstrip().endswith(":"):
            return f"{around}{text}\n{space}    pass\n"
        return f"{around}{text}\n"


def skips_of(path: Path) -> list[Skip]:
    """All of a file, from its top to its bottom.

    By tokens and not by lines: the mark may stand in a text, and a statement begins lines above its end.
    """
    text = path.read_text(encoding="utf-8")
    lines, found, first = text.split("\n"), [], None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT) and first is None:
            continue
        first = token.start[0] if first is None else first
        if token.type == tokenize.NEWLINE:
            last = token.start[0]
            if lines[last - 1].endswith(MARK):
                found.append(Skip(path, first, last, "\n".join(lines[first - 1 : last])))
            first = None
    return found


def longer_by(skips: list[Skip]) -> list[int]:
    """How many lines more each statement would have if the formatter were let at it; not above 0: the mark is idle.

    All in one call of ruff, whose start costs more than what it does.
    """
    program = "\n".join(f"{_BORDER}\n{skip.alone()}" for skip in skips)
    command = [sys.executable, "-m", "ruff", "format", "--quiet", "--stdin-filename", str(ROOT / "a.py"), "-"]
    done = subprocess.run(command, input=program, capture_output=True, text=True, check=True)
    pieces = re.split(rf"^ *{_BORDER}$", done.stdout, flags=re.MULTILINE)[1:]
    return [_lines(piece) - _lines(skip.alone()) for skip, piece in zip(skips, pieces, strict=True)]


def _lines(text: str) -> int:
    """Lines that are not empty."""
    return sum(bool(line.strip()) for line in text.split("\n"))


def take_out(skips: list[Skip]) -> None:
    """Removes the marks, and lets the formatter at the files."""
    for skip in skips:
        lines = skip.path.read_text(encoding="utf-8").split("\n")
        lines[skip.last - 1] = lines[skip.last - 1].removesuffix(MARK)
        skip.path.write_text("\n".join(lines), encoding="utf-8")
    subprocess.run([sys.executable, "-m", "ruff", "format", *{str(skip.path) for skip in skips}], check=True)


def main() -> int:
    """Names the idle marks or takes them out; the exit status is 1 if some were named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fix", action="store_true", help="take those out that are not worth it")
    parser.add_argument("files", nargs="*", help="all if not given")
    options = parser.parse_args()
    places = [Path(name).resolve() for name in options.files] or [ROOT / folder for folder in FOLDERS]
    files = [path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("*.py")))]
    skips = [skip for path in files for skip in skips_of(path)]
    idle = [skip for skip, lines in zip(skips, longer_by(skips), strict=True) if lines < WORTH_LINES]
    if options.fix and idle:
        take_out(idle)
        return 0
    for skip in idle:
        print(f"{skip.path.relative_to(ROOT)}:{skip.last}: `# fmt: skip` saves less than {WORTH_LINES} lines")
    print(f"fmt: skip: {len(skips)}, of which {len(idle)} are not worth it (python tools/fmt_skips.py --fix)")
    return 1 if idle else 0


if __name__ == "__main__":
    sys.exit(main())
