# SPDX-License-Identifier: Apache-2.0
"""The records in a run directory: the marker of an incomplete run, `summary.json` and `manifest.json`.

`summary.json` and `manifest.json` are checked when they are read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from leowarp.base import neighbours, plainfiles
from leowarp.base.checksums import sha256_of_file
from leowarp.base.errors import TraceError
from leowarp.base.layout import INCOMPLETE, MANIFEST, PLAN, REPORT, SUMMARY, TRACE
from leowarp.base.spelling import nearest

TEXTS = ("name", "kind", "source", "destination", "congestion_control", "share_reason", "reason")
"""If these fields are present in a summary, their values are texts. The values of all other fields are numbers,
Booleans or null."""

KINDS = ("tcp", "ping", "udp", "program")

_LONGEST_MARK_BYTES = 1 << 20
_LONGEST_TEXT = 1000
"""The largest number of characters of a text in a summary. A plan allows fewer (`scenario.decoding`)."""
_LARGEST = 1e30
"""The largest absolute value of a float in a summary. leowarp's largest scalars are ns and bit/s, below 2^63."""

_DEEPEST = 64
"""The largest depth of objects and lists in a JSON file. leowarp's files have four levels."""

_MOST_RUNS, _MOST_LOOKED_AT = 4, 1000
"""A hint names at most `_MOST_RUNS` runs. At most `_MOST_LOOKED_AT` directories are searched for runs."""


def why_incomplete(path: Path) -> str | None:
    """Return the reason why a directory is not a complete run, or None if it is complete.

    Returns: The text that the failed run wrote to the file INCOMPLETE. If this file does not exist, the result names a
        file that the directory lacks.
    """
    if not path.is_dir():
        return "it is not a directory" if path.exists() else "there is no such directory"
    mark = path / INCOMPLETE
    # lexists is also true for a link without a target.
    if os.path.lexists(mark):
        try:
            text = plainfiles.read(mark, _LONGEST_MARK_BYTES).decode(errors="replace").strip()
        except OSError as error:
            return f"it is marked incomplete, and why cannot be read: {error.strerror}"
        return text or "it is marked incomplete (the file INCOMPLETE is empty: was the disk full?)"
    absent = what_is_missing(path)
    return None if absent is None else f"it has no {absent}"


def what_is_missing(path: Path) -> str | None:
    """Return the name of the first file that is missing for a complete run. If no file is missing, return None."""
    # A report is not required, because a run with `--no-report` is complete without it.
    return next((name for name in (PLAN, TRACE, SUMMARY, MANIFEST) if not (path / name).exists()), None)


def refuse_incomplete(path: Path) -> None:
    """Raise TraceError with the reason if a directory is not a complete run."""
    reason = why_incomplete(path)
    if reason is not None:
        # If the directory has no plan, it was probably mistyped; a hint about --force would not help.
        hint = _again(path) if (path / PLAN).exists() or os.path.lexists(path / INCOMPLETE) else _instead_of(path)
        raise TraceError(f"cannot open {path} as a run: {reason}", hint=hint)


def refuse_strange(path: Path) -> None:
    """Raise TraceError if a run directory contains an entry that is neither a regular file nor a directory."""
    why = plainfiles.why_not_plain(path)
    if why is not None:
        raise TraceError(
            f"cannot open {path} as a run: {why}, which a run never has",
            hint="whoever made it can tell what it is for; a run copied with `cp -r` or `rsync` needs none",
        )


def refuse_changed(
    run: Path, name: str, *, most_bytes: int = plainfiles.MOST_JSON_BYTES, if_longer: str | None = None
) -> None:
    """Raise TraceError if a file of a complete run is too long, or if the manifest has another sha256 for it.

    A flipped bit in a table usually changes numbers, but causes no error by itself. This check finds it. A process
    hashes a file again only if the file has changed. Hashing a file takes a seventh of the processor time that decoding
    it takes.

    run: A run directory. If the directory has no manifest, or the run is still being written, the file is not checked.
    name: The name of the file, relative to the run directory.
    most_bytes: The largest allowed size of the file. A longer file is not hashed, because hashing a sparse file of 1
        TiB would take ten minutes.
    if_longer: The hint for a file that is too long. By default, the hint is the command that runs the plan again.
    """
    if os.path.lexists(run / INCOMPLETE) or not (run / MANIFEST).exists():
        return
    listed = _files_of(run / MANIFEST, plainfiles.state(run / MANIFEST))
    # Manifests of the first versions list no files at all, or only the files of a report that was added later.
    if all(other.startswith(f"{REPORT}/") for other in listed):
        return
    if name not in listed:
        raise TraceError(
            f"cannot read {run / name}: {MANIFEST} beside it does not list it, so it is of another run",
            hint=f"leowarp verify {run} --files names all such files; {_again(run)}",
        )
    now = plainfiles.state(run / name)
    if now.size_bytes > most_bytes:
        error = plainfiles.too_long(run / name, most_bytes)
        raise TraceError(f"cannot read {run / name}: {error.strerror}", hint=if_longer or _again(run))
    if _sha256_of(run / name, now) != listed[name]:
        raise TraceError(
            f"cannot read {run / name}: {MANIFEST} has another sha256 of it, so it was changed or is of another run",
            hint=f"leowarp verify {run} --files names all such files; {_again(run)}",
        )


@lru_cache(maxsize=64)
def _files_of(manifest: Path, state: plainfiles.State) -> dict[str, str]:
    return dict(read_manifest(manifest.parent).get("files", {}))


@lru_cache(maxsize=4096)
def _sha256_of(path: Path, state: plainfiles.State) -> str:
    return sha256_of_file(path)


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object from a run directory.

    Raises TraceError if the file is no JSON object, is nested too deeply, or has more than
    `plainfiles.MOST_JSON_BYTES`.
    path: A file in a run directory. A symbolic link is an error.
    """

    # Python's json accepts NaN and Infinity, which are not JSON (RFC 8259, section 6).
    def refuse(word: str) -> float:
        raise ValueError(f"{word} is no number of JSON")

    try:
        # The bytes are decoded before json reads them, because json would also accept UTF-16 and surrogates, which
        # other programs cannot read.
        text = plainfiles.read(path, plainfiles.MOST_JSON_BYTES).decode()
        plainfiles.refuse_many_values(text)
        value = json.loads(text, parse_constant=refuse)
        _refuse_deep(value)
    except RecursionError:
        raise TraceError(f"cannot read {path}: it is nested too deeply", hint=_again(path.parent)) from None
    except (OSError, ValueError) as error:
        raise TraceError(f"cannot read {path}: {error}", hint=_again(path.parent)) from error
    if not isinstance(value, dict):
        raise TraceError(f"cannot read {path}: it holds no JSON object", hint=_again(path.parent))
    return value


def _refuse_deep(value: Any) -> None:
    """Raise RecursionError if a value is nested too deeply for recursive functions."""
    level = [value]
    for _ in range(_DEEPEST):
        nested = [item for item in level if isinstance(item, dict | list)]
        level = [inner for item in nested for inner in (item.values() if isinstance(item, dict) else item)]
    if level:
        raise RecursionError


def read_summary(run: Path) -> dict[str, Any]:
    """Read `summary.json` of a run directory.

    Raises TraceError if the file is not a summary, or if a value is not a scalar. The error is also raised if the
    summary's flows differ from the plan's flows.
    """
    path = run / SUMMARY
    refuse_changed(run, SUMMARY)
    value = read_json(path)
    if (why := why_no_summary(value)) is not None:
        raise TraceError(f"cannot read {path}: {why}", hint=f"compute it anew: leowarp show {run} --again")
    neighbours.refuse_other_summary(run, value, f"compute it anew: leowarp show {run} --again")
    return value


def read_manifest(run: Path) -> dict[str, Any]:
    """Read `manifest.json` of a run directory.

    Raises TraceError if the file is not a manifest, or if the type of an entry is wrong.
    """
    path = run / MANIFEST
    value = read_json(path)
    if (why := why_no_manifest(value)) is not None:
        raise TraceError(f"cannot read {path}: {why}", hint=_again(run))
    return value


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write a JSON object atomically: a reader sees either all of it or nothing.

    Raises ValueError if a number is not finite, because JSON cannot represent it (RFC 8259, 6).
    """
    plainfiles.write(path, text_of_json(value).encode())


def text_of_json(value: dict[str, Any]) -> str:
    """Return the text that `write_json` writes. Equal values give equal texts."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def why_no_summary(value: Mapping[str, Any]) -> str | None:
    """Return the end of a sentence that names the fault of a summary. The result is None if the summary is valid.

    The names of the scalars are not checked, because they differ between versions of leowarp.
    """
    flows = value.get("flows")
    if not isinstance(flows, list) or not all(isinstance(flow, dict) for flow in flows):
        return "it has no list `flows` of objects"
    for number, flow in enumerate(flows):
        if flow.get("kind", "tcp") not in KINDS:
            return f"flow {number} is of no kind that leowarp has"
        told = flow.get("flow", 0)
        if not isinstance(told, int) or not 0 <= told < 1 << 31:
            return f"the number of flow {number} is no whole number from 0 on"
    for entry in (value, *flows):
        for name, item in entry.items():
            if name != "flows" and not _is_scalar(name, item) and not _is_table_of_scalars(item):
                return f"{name!r:.80} is {type(item).__name__} {item!r:.40}, and no scalar of a run is"
    return None


def why_no_manifest(value: Mapping[str, Any]) -> str | None:
    """Return the fault of a manifest as the end of a sentence, or None if the manifest is valid."""
    shapes: dict[str, type] = {
        "warnings": list, "files": dict, "costs": dict, "kernel": dict, "agent": dict, "python": dict, "host": dict,
        "leowarp_version": str, "drawn": dict, "later": list, "directories": list,
    }  # fmt: skip
    for name, kind in shapes.items():
        if name in value and not isinstance(value[name], kind):
            return f"its {name} are of another type"
    if not all(isinstance(text, str) for text in value.get("warnings", ())):
        return "its warnings are not texts"
    if not all(isinstance(text, str) for text in value.get("files", {}).values()):
        return "its files have no checksums"
    # A manifest must list only files within its directory.
    for name in (*value.get("files", ()), *value.get("directories", ())):
        if not plainfiles.is_plain_path(name):
            return f"it lists {name!r:.80}, which is no file below its directory"
    if not all(isinstance(drawn, dict) for drawn in value.get("drawn", {}).values()):
        return "it does not say how its pages were drawn"
    if not all(isinstance(entry, dict) and _is_list_of_texts(entry.get("files")) for entry in value.get("later", ())):
        return "it does not say which files are of another version"
    if not all(_is_number(cost) for cost in value.get("costs", {}).values()):
        return "its costs are not numbers"
    return None


def _instead_of(path: Path) -> str:
    """Return the hint for a directory that is not a run. The hint contains commands with the names of runs in nearby
    directories."""
    runs = [each for folder in (path.parent, path) for each in _runs_in(folder)]
    near = nearest(path.name, [run.name for run in runs])
    # The run with the most similar name comes first. The sort is stable, so all other runs stay in the order of a
    # listing.
    shown = sorted(runs, key=lambda run: run.name != near)[:_MOST_RUNS]
    if near is not None:
        return f"did you mean {shown[0]}?"
    if shown:
        return f"runs there: {', '.join(map(str, shown))}{', ...' if len(runs) > len(shown) else ''}"
    return "a run is the directory that `leowarp run SCENARIO --out DIRECTORY` writes"


def _runs_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    each_run = (each for each in sorted(folder.iterdir())[:_MOST_LOOKED_AT] if (each / PLAN).is_file())
    return [each for each in each_run if (each / MANIFEST).is_file()]


def _again(path: Path) -> str:
    """Return the command that repeats the run of a directory. The command uses the directory's plan, if there is
    one."""
    plan = path / PLAN
    return f"run it again: leowarp run {plan if plan.exists() else 'SCENARIO.toml'} --out {path} --force"


def _is_list_of_texts(item: Any) -> bool:
    return isinstance(item, list) and all(isinstance(text, str) for text in item)


def _is_scalar(name: str, item: Any) -> bool:
    """Return whether a summary may contain `item` in the field `name`. A text field may contain text. Every other field
    may contain a number or a Boolean. Every field may contain null."""
    if name in TEXTS and item is not None:
        return isinstance(item, str) and len(item) <= _LONGEST_TEXT
    return item is None or _is_number(item)


def _is_table_of_scalars(item: Any) -> bool:
    """Return whether an item is an object whose values are scalars (example: `fairness`)."""
    return isinstance(item, dict) and all(_is_scalar(name, within) for name, within in item.items())


def _is_number(item: Any) -> bool:
    """Return whether an item is a number within limits. The limits are such that an integer fits into a column of a
    table, and that the square of a float is finite."""
    if isinstance(item, int):
        return abs(item) < 1 << 63
    # nan is not within the limits, because any comparison with nan is false.
    return isinstance(item, float) and abs(item) < _LARGEST
