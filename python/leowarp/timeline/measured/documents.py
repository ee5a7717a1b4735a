# SPDX-License-Identifier: Apache-2.0
"""Files of JSON with one long list in them: what irtt and iperf3 write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from leowarp.errors import ScenarioError

IRTT_HINT = "write it with: irtt client -i 10ms -d 5m -o trace.json SERVER"
IPERF3_HINT = "write it with: iperf3 -J -i 0.1 -t 300 -c SERVER > transfer.json"
JSON_HINT = f"{IRTT_HINT}, or: {IPERF3_HINT.removeprefix('write it with: ')}"


def document_of(path: Path, text: str, key: str, tool: str, hint: str) -> dict[str, Any]:
    """The object that a text of JSON is.

    Parameters
    ----------
    path : Path
        Where the text is from, for messages.
    key : str
        Name of the list that must be in it.
    tool : str
        Who writes such files.
    hint : str
        How to write another.

    Raises
    ------
    ScenarioError
        With the line, if it is not JSON or ends in the middle; if there is no such list, or nothing in it.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        # Either tool writes its JSON in one piece at its end: half of it is half of a copy, and nothing of it is whole.
        if error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string"):
            raise ScenarioError(
                f"{path}:{error.lineno}: the JSON ends in the middle: the file was cut short", hint
            ) from error
        raise ScenarioError(f"{path}:{error.lineno}: not JSON: {error.msg} (column {error.colno})", hint) from error
    # ValueError of a number: Python refuses to read one of more than 4300 digits (sys.set_int_max_str_digits).
    except (RecursionError, ValueError) as error:
        raise ScenarioError(f"{path}: JSON nested too deeply, or with numbers too long, for {tool}'s", hint) from error
    if not isinstance(document, dict) or not isinstance(document.get(key), list):
        raise ScenarioError(f"{path}: JSON without {key}, so not {tool}'s", hint)
    # iperf3 ends with an error as JSON when its server is busy: what it says is worth more than "nothing was measured".
    if isinstance(document.get("error"), str) and not document[key]:
        raise ScenarioError(f"{path}: {tool} measured nothing and says: {document['error'][:200]}", hint)
    if not document[key]:
        raise ScenarioError(f"{path}: {key} is empty: nothing was measured", hint)
    return document
