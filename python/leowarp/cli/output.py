# SPDX-License-Identifier: Apache-2.0
"""The output of the verbs: tables and text on stdout, errors and notes on stderr. With --json, stdout has only one JSON
object."""

from __future__ import annotations

import functools
import json
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from leowarp.base.errors import INTERRUPTED_EXIT_CODE, LeowarpError, kind_of
from leowarp.base.printable import clean, has_all, json_visible, one_line, visible

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 160
"""The width of the output in columns if there is no terminal."""


def console(*, stderr: bool = False) -> Console:
    """Return a console as wide as the terminal. For a file or a pipe, the console has `PLAIN_WIDTH` columns and no
    colour."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else PLAIN_WIDTH, soft_wrap=False, highlight=False)


LEAST_TEXT_WIDTH = 16
"""The minimum width, in characters, of a column of text that is folded."""

HEAD_WIDTH = 12
"""The maximum width of a number column's header, in characters. The header is folded at this width unless a number is
wider."""

_GAP, _EDGES = 3, 2
"""The width in characters of the gap between two columns of a table, and the sum of the table's two margins."""


def fitting(first: Iterable[str], heads: Sequence[str], columns: Sequence[Sequence[Any]]) -> int:
    """Return how many columns of numbers fit beside a table's first column. The result is at least 1.

    first: The cells of the first column.
    heads, columns: The headers and the cells of the number columns.
    """
    left = console().width - _EDGES - max((len(one_line(text)) for text in first), default=0)
    for count, (head, column) in enumerate(zip(heads, columns, strict=True)):
        left -= _GAP + max(map(len, [*_folded(head, column).split("\n"), *map(_cell, column)]))
        if left < 0:
            return max(1, count)
    return len(heads)


def _cell(value: Any) -> str:
    return "–" if value is None else one_line(str(value))


def scalar_text(value: Any) -> str | None:
    """Return the text of a scalar. Integers have separators. Other numbers have six digits. Large numbers have no
    exponent.

    >>> scalar_text(1_234_567), scalar_text(0.12345678)
    ('1,234,567', '0.123457')
    """
    if isinstance(value, float):
        # From 1e6 on, %g would print an exponent.
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return None if value is None else str(value)


def _folded(head: str, column: Sequence[Any]) -> str:
    """Return the header of a number column, folded into lines of at most `HEAD_WIDTH` characters or the width of the
    widest number."""
    width = max([HEAD_WIDTH, *(len(_cell(value)) for value in column)])
    # textwrap breaks lines only at ASCII spaces, so a no-break space keeps "(flow 3)" on one line.
    kept = one_line(head).replace("(flow ", "(flow\N{NO-BREAK SPACE}")
    lines = textwrap.wrap(kept, width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def print_table(
    title: str | None, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, text: Sequence[str] = ()
) -> None:
    """Print a table. The first column and the columns named in `text` contain text. These columns are left-aligned, and
    their texts may be folded. All other columns contain numbers. Numbers are right-aligned. They are never broken,
    because a part of a number looks like another number. A table wider than the terminal is printed at its full width,
    and the terminal breaks its lines. A missing value is printed as a dash.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # The title is printed separately, because rich would break its own title at the table's width.
    if title:
        console().print(Text(one_line(title), style="bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    lines = [tuple(row) for row in rows]
    least = _EDGES
    for number, column in enumerate(columns):
        is_text = number == 0 or column in text
        cells = [line[number] for line in lines]
        head = one_line(column) if is_text else _folded(column, cells)
        # Without a minimum width, rich would cut off the content of columns that must not be folded.
        width = max(map(len, [*head.split("\n"), *map(_cell, cells)]))
        width = min(width, LEAST_TEXT_WIDTH) if is_text else width
        least += width + _GAP
        table.add_column(
            _plain(head), justify="left" if is_text else "right", overflow="fold", no_wrap=not is_text, min_width=width
        )
    for line in lines:
        table.add_row(*(_plain(_cell(value)) for value in line))
    out = console()
    out.width = max(out.width, least)
    out.print(table)


def print_json(value: Any) -> None:
    """Print one JSON value on stdout. NaN is written as null, because JSON has no NaN."""
    # By default Python would write NaN, which is not valid JSON (RFC 8259, 6).
    text = json.dumps(clean(value), indent=2, ensure_ascii=False, allow_nan=False)
    # If the encoding of stdout lacks a character, JSON's escape is written, because a substitute character would change
    # the value.
    if not has_all(text, sys.stdout):
        text = json.dumps(clean(value), indent=2, allow_nan=False)
    print(json_visible(text))


def say(text: object, *, end: str = "\n") -> None:
    """Print a line of text on stdout. Verbs print only with the functions of this module. Control characters in a
    file's text never reach the terminal."""
    print(visible(str(text)), end=end)


def note(text: str) -> None:
    """Print a line on stderr."""
    console(stderr=True).print(_plain(text))


def notes(head: str, texts: Iterable[str]) -> None:
    """Print each text on stderr, after `head` and a colon."""
    for text in texts:
        note(f"{head}: {text}")


def print_error(error: LeowarpError) -> None:
    """Print an error and its hint on stderr."""
    from rich.text import Text

    # Errors go to stderr, so that a program that reads a table from stdout does not find a message among the rows.
    err = console(stderr=True)
    # With soft wrap, rich adds no line breaks, so that a message can be copied and searched for.
    err.print(Text.assemble(("error: ", "bold red"), visible(error.message)), soft_wrap=True)
    if error.hint:
        err.print(Text.assemble(("  hint: ", "bold"), visible(error.hint)), soft_wrap=True)


def draw_quickly() -> None:
    """Make matplotlib leave the tables of properties out of its docstrings. This saves 0.07 s. Verbs that draw figures
    call this function before they import `leowarp.report`."""
    from matplotlib import artist

    artist.kwdoc = lambda artist: ""


def interruptible(verb: Callable[..., None]) -> Callable[..., None]:
    """Return a verb that handles Ctrl-C. On Ctrl-C, it prints which files remain, and ends with status 130."""

    @functools.wraps(verb)
    def run(*given: Any, **named: Any) -> None:
        try:
            verb(*given, **named)
        except KeyboardInterrupt:
            print("leowarp: interrupted; unfinished run directories hold a file INCOMPLETE", file=sys.stderr)
            sys.exit(INTERRUPTED_EXIT_CODE)

    return run


def print_error_json(error: LeowarpError) -> None:
    """Print an error as a JSON object on stdout."""
    # A program that uses --json always reads one object from stdout. The object therefore goes to stdout, although the
    # text of an error does not.
    print_json({"error": error.message, "hint": error.hint, "kind": kind_of(error), "exit_code": error.exit_code})


def frame_records(frame: Any) -> list[dict[str, Any]]:
    """Return a data frame as a list of objects, with None for missing values."""
    return clean(frame.astype(object).where(frame.notna(), None).to_dict(orient="records"))


def _plain(text: str) -> Any:
    """Return a text that rich prints unchanged. Names of nodes and TOML contain square brackets, which rich would
    interpret as markup."""
    from rich.text import Text

    return Text(visible(text))
