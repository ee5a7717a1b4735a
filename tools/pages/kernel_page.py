# SPDX-License-Identifier: Apache-2.0
"""Make the page docs/reference/kernel.md, and renew the tables of overrides in other pages.

``python tools/pages/kernel_page.py FILE`` writes the page. With ``--tables``, it renews the table between ``<!--
overrides -->`` and ``<!-- end of overrides -->`` of each page in `TABLES`.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from generated import write_or_check
from leowarp.guest.building import left_out, shelf

PAGE = "docs/reference/kernel.md"
_PURPOSES = {
    "boot": "to start, and to start alike",
    "time": "for virtual time",
    "random": "for random numbers that repeat",
    "links": "for links",
    "truth": "to see packets and faults without moving a packet",
    "scenario": "only if a scenario asks for it",
    "speed": "to save processor time",
}
_TABLE = re.compile(r"(?<=<!-- overrides -->\n).*?(?=<!-- end of overrides -->)", re.DOTALL)


def page() -> str:
    """Return the whole page as Markdown."""
    document = left_out.overrides_document()
    listed = document["override"]
    needed = [each for each in listed if each["purpose"] != left_out.SPEED]
    fast = [each for each in listed if each["purpose"] == left_out.SPEED]
    lines = [
        "# The guest kernel: what is Linux's, and what is leowarp's",
        "",
        "<!-- Made by `make docs` from guest/overrides.toml and guest/kernels.toml; edit those. -->",
        "",
        *_paragraph(
            "Hosts use the TCP and IP of Linux 6.12. This kernel is compiled from Debian's unmodified sources, and "
            f"runs as a User Mode Linux process. leowarp links {len(listed)} objects and headers of its own into the "
            "kernel. The tables below name all of them, because the kernel's build reads the same list "
            "([`guest/overrides.toml`](../../guest/overrides.toml)) and links nothing else."
        ),
        *_paragraph(
            "By default, leowarp's own code forwards the packets at satellites. Tests check that this code gives "
            "the same traces as the kernel's forwarding, byte for byte. "
            'The kernel `"plain"` has no override that only saves time, and '
            "gives the same traces. The manifest of each run names the overrides of its kernel and the sha256 of the "
            "list."
        ),
        "## What a run needs",
        "",
        *_rows(needed),
        "",
        "## What saves processor time",
        "",
        *_paragraph(
            "The overrides of this table change no trace: tests compare the traces of the default kernel with those of "
            "`plain`, which has none of these overrides. [Performance](../performance.md) says how much CPU time each "
            "override saves."
        ),
        *_rows(fast),
        "",
        "## Options that differ from a distribution's kernel",
        "",
        "| option | here | distribution | why |",
        "|---|---|---|---|",
        *("| {name} | {ours} | {distribution} | {why} |".format(**each) for each in document["option"]),
        "",
        "Every other option is in [`guest/kernel.config`](../../guest/kernel.config).",
        "",
        "## The shelf of kernels",
        "",
        *_paragraph(
            "`guest.kernel` and `--kernel` accept the names in this table, and the path of your own kernel tree or "
            "binary. Each kernel is built at its first use, and stored under a hash of all inputs of the build. "
            "`leowarp kernel list` shows the shelf."
        ),
        "| name | what | source | further options | patches |",
        "|---|---|---|---|---|",
        *(
            f"| `{each.name}` | {each.what} | `{each.source}` | {_code(each.options)} | "
            f"{_code([f'{patch.address} (sha256 {patch.sha256})' for patch in each.patches])} |"
            for each in shelf.shelf()
            if not each.is_own
        ),
        "",
        "Add your own kernel to the shelf with",
        "",
        "```text",
        "leowarp kernel add NAME --source TREE_OR_TARBALL --patch FILE --base default",
        "```",
        "",
    ]
    return "\n".join(lines)


def without(at: Path) -> str:
    """Return a table that shows, for each override, the effect of leaving it out."""
    rows = ["| without | |", "|---|---|"]
    # Overrides with the same effect are in one row.
    effects: dict[str, list[str]] = {}
    for each in left_out.overrides():
        effects.setdefault(each.without, []).append(f"`{each.name}`")
    return "\n".join([*rows, *(f"| {', '.join(names)} | {what} |" for what, names in effects.items())]) + "\n"


def _rows(listed: Sequence[dict]) -> list[str]:
    rows = [
        "| override | purpose | mechanism | change of the TCP/IP stack's behaviour | test | page |",
        "|---|---|---|---|---|---|",
    ]
    for each in listed:
        purpose = _PURPOSES[each["purpose"]] + (f" (`{asked_by}`)" if (asked_by := each.get("asked_by")) else "")
        rows.append(
            f"| `{each['name']}` | {purpose} | {_mechanism(each)} | {each['changes']} "
            f"| [`{Path(each['test']).name}`](../../{each['test']}) | {_link(each['page'], Path(PAGE))} |"
        )
    return rows


def _mechanism(entry: dict) -> str:
    """Return a text that says how the build applies an override to the kernel."""
    steps = []
    if included := entry.get("included_in"):
        steps.append(f"a header included first in {_counted(included, 'object')}")
    elif entry.get("compiled") == "host":
        steps.append("an object for the host's side of User Mode Linux")
    else:
        steps.append("an object linked in")
    if wraps := entry.get("wraps"):
        steps.append(f"in front of {_counted(wraps, 'function')} (`--wrap`)")
    if symbols := [symbol for names in entry.get("globals", {}).values() for symbol in names]:
        steps.append(f"makes {_counted(symbols, 'static symbol')} global")
    if beside := list(entry.get("beside", {}).values()):
        steps.append(f"replaces {_counted(beside, 'function')} (made weak)")
    if copies := [copy["struct"] for copy in entry.get("copies", ())]:
        steps.append(f"declares again {', '.join(f'`struct {name}`' for name in copies)}")
    return "; ".join(steps)


def _counted(names: list[str], noun: str) -> str:
    shown = [f"`{name}`" for name in names]
    return f"{len(names)} {noun}s" if len(names) > 4 else " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _paragraph(text: str) -> list[str]:
    return [*textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False), ""]


def _link(target: str, at: Path) -> str:
    file, _, place = target.partition("#")
    if file == str(at):
        return "this page"
    return f"[{Path(file).stem}]({os.path.relpath(file, at.parent)}{'#' + place if place else ''})"


def _code(words: Sequence[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


TABLES = {"docs/guides/your-own-congestion-control.md": without}
"""A dict from each page that has a table between two marks to the function that makes the table."""


def with_table(name: str, text: str) -> str:
    """Return the text of a page of `TABLES`, with a new table."""
    found = _TABLE.search(text)
    if found is None:
        raise ValueError(f"{name} has no <!-- overrides --> mark")
    return text[: found.start()] + TABLES[name](Path(name)) + text[found.end() :]


if __name__ == "__main__":
    if sys.argv[1:2] == ["--tables"]:
        for name in TABLES:
            Path(name).write_text(with_table(name, Path(name).read_text(encoding="utf-8")), encoding="utf-8")
    else:
        sys.exit(write_or_check(page(), "tools/pages/kernel_page.py", sys.argv[1:]))
