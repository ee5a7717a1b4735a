# SPDX-License-Identifier: Apache-2.0
"""JSON files that contain one long list, as irtt and iperf3 write them.

A file may contain several documents. iperf 3.16 and 3.17 print the same document twice, `--logfile` appends documents,
and `--json-stream` writes one document per line. The text around the documents (warnings from a shell's `2>&1`) is
skipped and counted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from leowarp.base.errors import ScenarioError
from leowarp.base.skips import Skips

IRTT_HINT = "write it with: irtt client -i 10ms -d 5m -o trace.json SERVER"
IPERF3_HINT = "write it with: iperf3 -J -i 0.1 -t 300 -c SERVER > transfer.json"
JSON_HINT = f"{IRTT_HINT}, or: {IPERF3_HINT.removeprefix('write it with: ')}"

# iperf3 divides by an interval of length zero (esnet/iperf 364), and C prints the result as nan or inf, which is not
# JSON.
_NOT_A_NUMBER = re.compile(r"(?<=:)(\s*)(-?(?:nan|inf))\b", re.IGNORECASE)

Pairs = Callable[[list[tuple[str, Any]]], Any]


def part_of(value: Any, *keys: str) -> Any:
    """Return the value at a path of keys in nested objects, or None if a key is missing."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


@dataclass(frozen=True)
class Document:
    """One JSON value of a file.

    line, last_line: The first and the last line, from 1.
    element: If the file's value is a list of documents, the index of this document, otherwise None.
    """

    line: int
    last_line: int
    value: Any
    element: int | None = None


def documents_of(
    path: Path, text: str, tool: str, hint: str, skips: Skips, pairs: Pairs | None = None
) -> list[Document]:
    """Return all JSON values in a text.

    pairs: The function that builds an object from its key-value pairs. Two pairs may have the same key.
    Raises ScenarioError, with the line, if there is no JSON value.
    """
    text = _NOT_A_NUMBER.sub(lambda found: found[1] + "null".ljust(len(found[2])), text)
    decoder = json.JSONDecoder(object_pairs_hook=pairs)
    found: list[Document] = []
    failed: ScenarioError | None = None
    place, line = 0, 1
    while place < len(text):
        if text[place].isspace():
            line += text[place] == "\n"
            place += 1
            continue
        if text[place] in "{[":
            try:
                value, end = decoder.raw_decode(text, place)
            except json.JSONDecodeError as error:
                failed = failed or _not_json(path, text, error, hint)
            # Python raises ValueError for a number with more than 4300 digits.
            except (RecursionError, ValueError):
                failed = failed or ScenarioError(
                    f"{path}: JSON nested too deeply, or with numbers too long, for {tool}'s", hint
                )
            else:
                last_line = line + text.count("\n", place, end)
                found.append(Document(line, last_line, value))
                place, line = end, last_line
                continue
        skips.add(
            "line that is no JSON, or damaged",
            "lines that are no JSON, or damaged",
            f"line {line}, {text[place : place + 40].splitlines()[0]!r}",
        )
        ends = text.find("\n", place)
        place = len(text) if ends < 0 else ends
    if not any(isinstance(one.value, dict) for one in found) and failed is not None:
        raise failed
    return found


def document_of(
    path: Path, text: str, key: str, tool: str, hint: str, skips: Skips, pairs: Pairs | None = None
) -> tuple[dict[str, Any], list[str]]:
    """Return the only JSON object in a text that has the required list, and remarks about the other objects.

    Raises ScenarioError, with the line, if the text is not JSON or is truncated; also if the list is missing or empty,
        or if there are two different ones.
    """
    mine = Skips()
    documents = documents_of(path, text, tool, hint, mine, pairs)
    having = [
        one
        for whole in documents
        for one in _elements(whole)
        if isinstance(one.value, dict) and isinstance(one.value.get(key), list)
    ]
    if not having:
        # If a document is truncated, only its inner objects are complete. None of the inner objects is the required
        # object.
        if len(mine) and text.lstrip().startswith(("{", "[")):
            raise _failure(path, text, tool, hint)
        raise ScenarioError(f"{path}: JSON without {key}, so not {tool}'s", hint)
    skips.add_all(mine)
    # If the server is busy, iperf3's JSON has an error and an empty list of intervals. iperf3's error helps the user
    # more than leowarp's message that nothing was measured.
    full = [one for one in having if one.value[key]]
    if not full:
        said = next((one.value["error"] for one in having if isinstance(one.value.get("error"), str)), None)
        if said is not None:
            raise ScenarioError(f"{path}: {tool} measured nothing and says: {said[:200]}", hint)
        raise ScenarioError(f"{path}: {key} is empty: nothing was measured", hint)
    first, *others = full
    for one in others:
        if one.value != first.value:
            raise ScenarioError(
                f"{path}:{one.line}: {len(full)} JSON documents in one file, of which one begins here",
                _apart(path, first, one),
            )
    notes = [f"the same JSON document {len(full)} times, read once"] if others else []
    for one in having:
        if not one.value[key]:
            notes.append(f"line {one.line}: another document, in which nothing was measured")
    return first.value, notes


def _failure(path: Path, text: str, tool: str, hint: str) -> ScenarioError:
    """Return the error for a text that begins with JSON but lacks the required object."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return _not_json(path, text, error, hint)
    except (RecursionError, ValueError):
        pass
    return ScenarioError(f"{path}: JSON nested too deeply, or with numbers too long, for {tool}'s", hint)


def _not_json(path: Path, text: str, error: json.JSONDecodeError, hint: str) -> ScenarioError:
    # irtt and iperf3 write all of their JSON when they end, so a truncated document means that the file was not copied
    # completely.
    if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
        return ScenarioError(f"{path}:{error.lineno}: the JSON ends in the middle: the file was cut short", hint)
    return ScenarioError(f"{path}:{error.lineno}: not JSON: {error.msg} (column {error.colno})", hint)


def _elements(whole: Document) -> list[Document]:
    # `jq -s` and scripts combine several files into a list.
    if not isinstance(whole.value, list):
        return [whole]
    return [Document(whole.line, whole.last_line, value, number) for number, value in enumerate(whole.value)]


def _apart(path: Path, first: Document, second: Document) -> str:
    if first.element is not None and second.element is not None and first.line == second.line:
        cut = f"jq '.[{first.element}]' {path} > first.json; jq '.[{second.element}]' {path} > second.json"
    elif second.line > first.last_line:
        cut = f"head -n {second.line - 1} {path} > first.json; tail -n +{second.line} {path} > second.json"
    else:
        cut = f"jq -s '.[0]' {path} > first.json; jq -s '.[1]' {path} > second.json"
    return f"read them apart: {cut}"
