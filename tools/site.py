# SPDX-License-Identifier: Apache-2.0
"""Build the documentation site from the pages of this checkout. With `--run`, the site includes the moving page of one
run.

    python tools/site.py [--run DIRECTORY] [--out build/site]

The site has the same pages and paths as the repository on a Git host, so links between pages work in both. A link to
another file leads to the file's text on the site. A link to a directory becomes plain text. A warning of Sphinx is an
error.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OWN = ROOT / "site"
_LINK = re.compile(r"(?<!\\)(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_FENCED = re.compile(r"^```.*?^```$", re.M | re.S)


def main() -> None:
    """Write Sphinx's input and call Sphinx."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, help="a run directory: its page moves on the landing page, else a picture")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site", help="where the site goes")
    given = parser.parse_args()
    source = given.out.with_name(given.out.name + "-source")
    lay_out(source, given.run)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-q", "-E", "-a"]
    command += ["-d", str(given.out.with_name(given.out.name + "-doctrees"))]
    command += ["-t", "moving"] if given.run else []
    shutil.rmtree(given.out, ignore_errors=True)
    finished = subprocess.run([*command, str(source), str(given.out)], cwd=ROOT)
    if finished.returncode != 0:
        sys.exit(f"{given.out} is not complete: see the warnings above (pages lie in {source})")
    print(given.out / "index.html")


def pages() -> list[Path]:
    """Return the site's pages that exist in the repository, as relative paths."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("design/*.md")]
    return sorted(page.relative_to(ROOT) for page in found)


def lay_out(source: Path, run: Path | None) -> None:
    """Write everything that Sphinx reads into a separate directory, which is emptied first."""
    shutil.rmtree(source, ignore_errors=True)
    for name in ("_static", "_extra"):
        (source / name).mkdir(parents=True)
    shutil.copytree(ROOT / "docs" / "images", source / "docs" / "images")
    shutil.copy(OWN / "conf.py", source)
    shutil.copy(OWN / "style.css", source / "_static")
    for page in pages():
        _write(source / page, on_site(page, page, source / "_extra"))
    _write(source / "index.md", on_site(Path("site/index.md"), Path("index.md"), source / "_extra"))
    if run is not None:
        shutil.copytree(run / "50-report", source / "_extra" / "run")


def on_site(page: Path, there: Path, extra: Path) -> str:
    """Return the text of a page. Its links are changed so that they work on the site.

    page, there: The path of the page in the repository, and on the site.
    extra: The directory whose content appears at the top of the site. A linked file is written below `source/` in this
        directory.
    Raises SystemExit if a link leads to something that does not exist.
    """

    def link(match: re.Match[str]) -> str:
        before, words, target = match.groups()
        path, hash_, anchor = target.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return match[0]
        place = Path(os.path.normpath(page.parent / path))
        if not (ROOT / place).exists():
            sys.exit(f"{page}: a link leads to {path}, and there is no {place}")
        if (ROOT / place).is_dir():
            return words
        if place in known or place.suffix == ".png":
            return f"{before}[{words}]({os.path.relpath(place, there.parent)}{hash_}{anchor})"
        copy = Path("source") / f"{place}.txt"
        _write(extra / copy, (ROOT / place).read_text(encoding="utf-8"))
        return f"[{words}](site:{os.path.relpath(copy, there.parent)})"

    text = (ROOT / page).read_text(encoding="utf-8")
    known = set(pages())
    parts, done = [], 0
    for fenced in _FENCED.finditer(text):
        parts += [_LINK.sub(link, text[done : fenced.start()]), fenced[0]]
        done = fenced.end()
    return "".join([*parts, _LINK.sub(link, text[done:])])


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
