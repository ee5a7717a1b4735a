# SPDX-License-Identifier: Apache-2.0
"""The pages of the documentation, and the contents of their fenced blocks.

A line `<!-- file: NAME -->` above a fenced block names a complete file. A line with `<!-- study: NAME -->` names a
whole study.
"""

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "design" / "interfaces.md",
    ROOT / "site" / "index.md",
]  # fmt: skip
_FENCE = re.compile(r"^(?:<!-- (?:file|study): (?P<file>\S+) -->\n+)?```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
_INLINE = re.compile(r"`(leowarp [^`]+)`")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def blocks(page: Path, *kinds: str) -> Iterator[tuple[str | None, str]]:
    """Yield each fenced block of these kinds as (name, text). If the block is not a complete file, the name is None."""
    for match in _FENCE.finditer(page.read_text(encoding="utf-8")):
        if match["kind"] in kinds:
            yield match["file"], match["text"]


def files(page: Path) -> dict[str, str]:
    """Return the complete files that a page contains, as a mapping from name to text."""
    return {name: text for name, text in blocks(page, "toml", "csv", "c", "") if name}


def typed(page: Path) -> Iterator[str]:
    """Yield each command line on a page, without its comment."""
    for _, text in blocks(page, "", "sh", "console"):
        for line in text.replace("\\\n", " ").splitlines():
            yield re.sub(r"\s+#\s.*$", "", line.strip().removeprefix("$ "))


def commands(page: Path) -> Iterator[tuple[str, bool]]:
    """Yield each command `leowarp ...` on a page, and whether the command is part of a sentence."""
    yield from ((line, False) for line in typed(page) if line.startswith("leowarp "))
    yield from ((match.split(" | ")[0], True) for match in _INLINE.findall(prose(page)))
