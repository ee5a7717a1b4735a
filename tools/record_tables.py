# SPDX-License-Identifier: Apache-2.0
"""Generate the agent's definition of the trace's columns from `leowarp.trace.schema`: Rust for the macro `tables!`.

    python tools/record_tables.py crates/timeline/src/record/tables.rs

The text depends only on the columns, so a test can compare it with the file.
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from leowarp.trace.schema import RECORDED
from leowarp.trace.schema.columns import Column

HEAD = """\
// SPDX-License-Identifier: Apache-2.0
//! The columns of each table. Made from python/leowarp/trace/schema/ by `make docs`; do not edit.
//!
//! Where a text says "null", the record holds the missing value of the column's type.

use super::format::{tables, Field, Record, Table};

tables! {
"""


def rust() -> str:
    """Return the text of `tables.rs`."""
    return HEAD + "".join(f"{line}\n" for line in lines()) + "}\n"


def lines() -> Iterator[str]:
    """Yield the input of the macro `tables!`: the text, name, struct and columns of each table.

    Yields: A line of Rust without its end, formatted as by rustfmt.
    """
    for table in RECORDED.values():
        yield f"    /// {table.doc}"
        yield f"    {text(table.name)} {table.record} {{"
        for column in table.columns:
            yield f"        {column.name}: {column.kind.wire} [{text(unit(column))}, {text(column.doc)}],"
        yield "    }"


def unit(column: Column) -> str:
    """Return the unit of a column. "1" means no unit, as the agent's header requires (design/interfaces.md, section
    5)."""
    return column.unit or "1"


def text(value: str) -> str:
    """Return the text as a Rust string literal. If the text is printable, the literal is the same as in JSON.

    Examples
    --------
    >>> text('a "b"')
    '"a \\\\"b\\\\""'
    """
    return json.dumps(value, ensure_ascii=False)


def main(words: list[str] | None = None) -> None:
    """Write the file that the command line names."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", type=Path, help="what is written; crates/timeline/src/record/tables.rs by `make docs`")
    parser.parse_args(words).file.write_text(rust(), encoding="utf-8")


if __name__ == "__main__":
    main()
