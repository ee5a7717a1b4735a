# SPDX-License-Identifier: Apache-2.0
"""Write the page: one HTML file that contains script, style and data, and makes no requests."""

from __future__ import annotations

import html
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from leowarp.base import plainfiles
from leowarp.base.pagepolicy import policy_tag
from leowarp.results.run import Run
from leowarp.view.document import document, title

FILE = "view.html"
"""The name of the page's file in the report's directory."""


def write_view(runs: Sequence[Run | Path | str], out: Path) -> Path:
    """Write the page about `runs`, side by side with a common clock, to a file. Return the file's path.

    out: The path of the file. An existing file is replaced. A symbolic link is not followed.
    Raises TraceError if a table is damaged or lacks a column that the page needs.
    """
    text = page(runs)
    plainfiles.refuse_link(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    plainfiles.write(out, text.encode())
    return out


def page(runs: Sequence[Run | Path | str]) -> str:
    """Return the page about `runs`, as HTML.

    The page's content security policy forbids requests, and all scripts except leowarp's own. Texts in a plan therefore
    cannot run code.
    """
    script, style = built("page.js"), built("page.css")
    opened = [run if isinstance(run, Run) else Run(run, complete=False) for run in runs]
    name = html.escape(title(opened))
    return (
        "<!DOCTYPE html>\n"
        '<html lang="en"><head><meta charset="utf-8">\n'
        f"{policy_tag([script])}\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{name}</title>\n<style>{style}</style></head>\n"
        '<body><main id="page"><p id="loading">Reading the run...</p></main>\n'
        "<noscript>This page draws with JavaScript, all of which it holds itself.</noscript>\n"
        f'<script type="application/octet-stream" id="data">{document(opened)}</script>\n'
        f"<script>{script}</script></body></html>\n"
    )


def built(name: str) -> str:
    """Return the content of a file that `make page` builds from `web/`."""
    return resources.files("leowarp.view").joinpath("built", name).read_text(encoding="utf-8")
