# SPDX-License-Identifier: Apache-2.0
"""Compare the files of a stage between a run and a second run of the same plan."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from leowarp.base import plainfiles, recorded
from leowarp.base.checksums import sha256_of_file
from leowarp.base.errors import LeowarpError, TraceError
from leowarp.trace import maker, maker_of
from leowarp.verification.pair import FIGURES, REPORT_PAGE, Pair
from leowarp.verification.verdicts import Found, Verdict

if TYPE_CHECKING:
    import pyarrow as pa

MOST_DIFFERENCES = 8

_SLICE_ROWS = 10_000

MOST_FIGURE_BYTES = 256 << 20

FACTS = ("seed", "warnings", "logs")
"""The keys of a manifest that describe the run instead of the machine."""


def bytes_of_both(pair: Pair, name: str) -> Found:
    """Compare a file byte by byte. A table from another version of pyarrow is compared by its values."""
    first, again = pair.first.path / name, pair.again.path / name
    if not first.exists() or not again.exists():
        whose = "the second run" if first.exists() else "it"
        return Found(name, Verdict.DIFFERS, (f"{whose} has no such file",))
    if _same(first, again):
        return Found(name, Verdict.IDENTICAL)
    if name.endswith(".parquet"):
        return _tables(pair, name)
    return Found(name, Verdict.DIFFERS, ("other bytes",))


def scalars_of_both(pair: Pair, name: str) -> Found:
    """Compare the summary. The cost in the summary must equal the cost in the run's own manifest."""
    try:
        text = plainfiles.read(pair.first.path / name, plainfiles.MOST_JSON_BYTES).decode()
        if text == recorded.text_of_json(pair.summary):
            return Found(name, Verdict.IDENTICAL)
        differences = _differing(pair.first.summary, pair.summary)
    except (OSError, ValueError, TraceError) as error:
        differences = [str(error)]
    return Found(name, Verdict.DIFFERS, tuple(differences or ["other bytes, the same scalars"]))


def facts_of_both(pair: Pair, name: str) -> Found:
    """Compare the keys `FACTS` of the manifests."""
    stored, made = ({key: run.manifest.get(key) for key in FACTS} for run in (pair.first, pair.again))
    differences = _differing(stored, made)
    return Found(name, Verdict.DIFFERS if differences else Verdict.IDENTICAL, tuple(differences))


def numbers_of_figures(pair: Pair, name: str) -> Found:
    """Compare a figure's numbers with those of the same figure of the second run. Both figures show the same flows."""
    try:
        stored = plainfiles.read(pair.first.path / name, MOST_FIGURE_BYTES).decode()
        if stored == _numbers(pair, name, stored):
            return Found(name, Verdict.IDENTICAL)
    except (OSError, ValueError, LeowarpError) as error:
        return Found(name, Verdict.DIFFERS, (f"it cannot be redrawn: {error}",))
    return Found(name, Verdict.DIFFERS, ("other numbers",))


def pages_of_both(pair: Pair, name: str) -> Found:
    """Compare a page or picture byte by byte, if the same version of leowarp drew both with the same libraries."""
    if maker_of(pair.manifest, name) != maker():
        return Found(name, Verdict.NOT_COMPARED, (f"drawn by {in_words(maker_of(pair.manifest, name))}",))
    page = REPORT_PAGE if name.startswith(f"{FIGURES}/") else name
    drawn = pair.drawn(page)
    if isinstance(drawn, str):
        return Found(name, Verdict.DIFFERS, (drawn,))
    again = drawn / name
    if not again.exists():
        return Found(name, Verdict.DIFFERS, ("no report has it",))
    # An earlier report may have drawn pictures with other options. The new report does not draw these pictures.
    if page != name and again.stat().st_size == 0:
        return Found(name, Verdict.NOT_COMPARED, ("an earlier report drew it",))
    if _same(pair.first.path / name, again):
        return Found(name, Verdict.IDENTICAL)
    return Found(name, Verdict.DIFFERS, ("other bytes",))


def in_words(made: Mapping[str, Any]) -> str:
    """Return the version of leowarp that made a run, and those of package and libraries that differ from the current.

    >>> in_words({"leowarp_version": "0.0.9", "package_sha256": None, "python": {}})[:13]
    'leowarp 0.0.9'
    """
    here = maker()
    version, package = made["leowarp_version"], made["package_sha256"]
    words = [f"leowarp {version or 'of an unknown version'}"]
    if package != here["package_sha256"]:
        words.append(f"package {package[:12] if isinstance(package, str) else 'not recorded'}")
    libraries = made["python"] or {}
    words += [f"{name} {libraries.get(name)}" for name, now in here["python"].items() if libraries.get(name) != now]
    return ", ".join(words)


def _numbers(pair: Pair, name: str, stored: str) -> str:
    from leowarp import report
    from leowarp.report.figures.figure_data import figure_text, flows_of_text

    stem = PurePosixPath(name).stem
    if name != f"{FIGURES}/{stem}.csv":
        raise ValueError("leowarp draws no such figure")
    flows = flows_of_text(stored)
    if REPORT_PAGE in pair.manifest.get("drawn", {}) and maker_of(pair.manifest, REPORT_PAGE) == maker():
        drawn = pair.drawn(REPORT_PAGE)
        # If the page cannot be drawn, the verdict on the page says why.
        if not isinstance(drawn, str) and (drawn / name).exists():
            text = (drawn / name).read_text(encoding="utf-8")
            if flows == flows_of_text(text):
                return text
    return figure_text(report.figure(pair.called(pair.first.path.resolve().name), stem, flow=flows), flows)


def _tables(pair: Pair, name: str) -> Found:
    from leowarp.base.tables import parquetfiles

    try:
        first, again = (parquetfiles.read_table(run.path / name) for run in (pair.first, pair.again))
    except TraceError as error:
        return Found(name, Verdict.DIFFERS, (str(error),))
    differences = _rows(first, again)
    pyarrow = (maker_of(pair.manifest, name)["python"] or {}).get("pyarrow")
    if not differences and pyarrow != maker()["python"]["pyarrow"]:
        return Found(name, Verdict.SAME_VALUES, (f"other bytes: it was written with pyarrow {pyarrow}",))
    return Found(name, Verdict.DIFFERS, tuple(differences or ["other bytes, the same values"]))


def _rows(first: pa.Table, again: pa.Table) -> list[str]:
    if not first.schema.equals(again.schema, check_metadata=True):
        names, made = set(first.schema.names), set(again.schema.names)
        return [f"other columns ({', '.join(sorted(names ^ made)) or 'types or metadata'})"]
    if len(first) != len(again):
        return [f"{len(first):,} rows, and {len(again):,} in the second run"]
    differences: list[str] = []
    # Tables are compared in slices of rows, because a trace has millions of rows, and most slices are equal.
    for start, column in itertools.product(range(0, len(first), _SLICE_ROWS), first.schema.names):
        pieces = [table[column].slice(start, _SLICE_ROWS) for table in (first, again)]
        if pieces[0].equals(pieces[1]):
            continue
        # Values are compared as text, because nan does not equal itself.
        pairs = zip(*(map(repr, piece.to_pylist()) for piece in pieces), strict=True)
        rows = [(start + row, *pair) for row, pair in enumerate(pairs) if pair[0] != pair[1]]
        differences += [differing(f"{column} in row {row}", was, now) for row, was, now in rows]
        if len(differences) > MOST_DIFFERENCES:
            break
    return few(differences)


def _differing(stored: Any, made: Any) -> list[str]:
    """Return a sentence for each value that differs between two JSON documents, with its dotted key."""
    first, again = dict(_leaves(stored)), dict(_leaves(made))
    keys = [key for key in {**again, **first} if first.get(key) != again.get(key)]
    return few([differing(key, first.get(key, "missing"), again.get(key, "missing")) for key in keys])


def _leaves(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """Yield the dotted key and text of each value of a JSON document. As text, 1, true and 1.0 are different."""
    entries = value if isinstance(value, dict) else dict(enumerate(value)) if isinstance(value, list) else {}
    if not entries:
        yield key, json.dumps(value, ensure_ascii=False)
    for name, inner in entries.items():
        yield from _leaves(inner, f"{key}.{name}" if key else str(name))


def _same(first: Path, again: Path) -> bool:
    return sha256_of_file(first) == sha256_of_file(again)


def differing(what: str, stored: str, made: str) -> str:
    """Return a sentence that says how the second run differs from the stored run."""
    return f"{what} is {stored:.80}, and {made:.80} in the second run"


def few(differences: list[str]) -> list[str]:
    """Shorten a list to the first `MOST_DIFFERENCES` differences, with a note about the others."""
    more = ["and more differ"] if len(differences) > MOST_DIFFERENCES else []
    return differences[:MOST_DIFFERENCES] + more
