# SPDX-License-Identifier: Apache-2.0
"""Output of the verbs: tables and text on stdout, errors and notes on stderr, or one JSON object and nothing else."""

from __future__ import annotations

import functools
import json
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec

from leowarp.base.errors import INTERRUPTED_EXIT_CODE, LeowarpError, kind_of
from leowarp.base.printable import has_all, json_visible, one_line, visible

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 160
"""Columns where there is no terminal: rich would take 80, and fold the columns of a comparison."""

P = ParamSpec("P")


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal; into a file or a pipe `PLAIN_WIDTH` columns, without colour."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else PLAIN_WIDTH, soft_wrap=False, highlight=False)


LEAST_TEXT_WIDTH = 16
"""A column of text is folded to no less."""

HEAD_WIDTH = 12
"""Heads of columns of numbers are folded at words to this, or to the widest number below them."""

_GAP, _EDGES = 3, 2
"""Width of a table's gap between two columns, and at its two sides."""


def fitting(first: Iterable[str], heads: Sequence[str], columns: Sequence[Sequence[Any]]) -> int:
    """How many columns of numbers stand beside the first column of a table without one of them being cut; at least 1.

    first: Cells of the first column.
    heads, columns: Of the columns of numbers: what they are called, and their cells.
    """
    left = console().width - _EDGES - max((len(one_line(text)) for text in first), default=0)
    for count, (head, column) in enumerate(zip(heads, columns, strict=True)):
        left -= _GAP + max(map(len, [*_folded(head, column).split("\n"), *map(_cell, column)]))
        if left < 0:
            return max(1, count)
    return len(heads)


def _cell(value: Any) -> str:
    return "–" if value is None else one_line(str(value))


def _folded(head: str, column: Sequence[Any]) -> str:
    """The head of a column of numbers in lines no longer than a word of it or the widest number."""
    width = max([HEAD_WIDTH, *(len(_cell(value)) for value in column)])
    # "(flow 3)" stays in one line: textwrap breaks at ASCII's spaces alone.
    kept = one_line(head).replace("(flow ", "(flow\N{NO-BREAK SPACE}")
    lines = textwrap.wrap(kept, width, break_long_words=False, break_on_hyphens=False)
    return "\n".join(lines).replace("\N{NO-BREAK SPACE}", " ")


def print_table(
    title: str | None, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, text: Sequence[str] = ()
) -> None:
    """A table. The first column and those named in `text` stand left and are folded if they must; all others are
    numbers, stand right and are never broken, because half a number is another number: a table that is wider than the
    terminal is printed in its whole width, and the terminal folds its lines. A missing value is a dash.
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # Not the table's own title: that is broken at the table's width.
    if title:
        console().print(Text(one_line(title), style="bold"))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    lines = [tuple(row) for row in rows]
    least = _EDGES
    for number, column in enumerate(columns):
        is_text = number == 0 or column in text
        cells = [line[number] for line in lines]
        head = one_line(column) if is_text else _folded(column, cells)
        # Without a least width rich cuts what it may not fold.
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
    """One JSON value on stdout. NaN is written as null, as JSON knows none."""
    # allow_nan=False: Python would write NaN, which is no JSON (RFC 8259, 6).
    text = json.dumps(clean(value), indent=2, ensure_ascii=False, allow_nan=False)
    # An encoding that lacks a character gets JSON's own escape: a substitute would be another value.
    if not has_all(text, sys.stdout):
        text = json.dumps(clean(value), indent=2, allow_nan=False)
    print(json_visible(text))


def say(text: object, *, end: str = "\n") -> None:
    """A line of text on stdout. Verbs print by this and the functions beside it alone: nothing of a file's gets to a
    terminal that obeys it."""
    print(visible(str(text)), end=end)


def note(text: str) -> None:
    """A line on stderr."""
    console(stderr=True).print(_plain(text))


def print_error(error: LeowarpError) -> None:
    """An error and its hint on stderr."""
    from rich.text import Text

    # stdout belongs to the answer: whoever pipes it must not find a message among the rows.
    err = console(stderr=True)
    # Soft wrap: a message that is copied or searched for has no line ends of ours.
    err.print(Text.assemble(("error: ", "bold red"), visible(error.message)), soft_wrap=True)
    if error.hint:
        err.print(Text.assemble(("  hint: ", "bold"), visible(error.hint)), soft_wrap=True)


def interruptible(verb: Callable[P, None]) -> Callable[P, None]:
    """The verb, which after Ctrl-C says what is left behind and ends with status 130."""

    @functools.wraps(verb)
    def run(*given: P.args, **named: P.kwargs) -> None:
        try:
            verb(*given, **named)
        except KeyboardInterrupt:
            print("leowarp: interrupted; unfinished run directories hold a file INCOMPLETE", file=sys.stderr)
            sys.exit(INTERRUPTED_EXIT_CODE)

    return run


def print_error_json(error: LeowarpError) -> None:
    """An error as the one JSON object on stdout."""
    # On stdout, unlike the text: with --json a program reads one object from there, whatever becomes of the verb.
    print_json({"error": error.message, "hint": error.hint, "kind": kind_of(error), "exit_code": error.exit_code})


def clean(value: Any) -> Any:
    """The same value for JSON: numpy scalars as numbers, NaN as None, tuples as lists."""
    if isinstance(value, dict):
        return {str(key): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    # numpy's scalars and arrays, of whatever type, and pandas' extension arrays
    if hasattr(value, "tolist") and not isinstance(value, str):
        return clean(value.tolist())
    if isinstance(value, float) and value != value:
        return None
    return value


def frame_records(frame: Any) -> list[dict[str, Any]]:
    """A data frame as a list of objects, missing values as None."""
    import pandas as pd

    records = frame.to_dict(orient="records")
    for record in records:
        for key, value in record.items():
            # `isna` of a list is an array of answers, which is no condition.
            if not hasattr(value, "__len__") and pd.isna(value):
                record[key] = None
    return clean(records)


def _plain(text: str) -> Any:
    """A text for rich that it does not read as markup: names of nodes and TOML hold square brackets."""
    from rich.text import Text

    return Text(visible(text))
