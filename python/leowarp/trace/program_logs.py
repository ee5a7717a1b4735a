# SPDX-License-Identifier: Apache-2.0
"""Files that the user's own programs left for other tools: keys of TLS connections, and qlogs."""

from __future__ import annotations

import re
from pathlib import Path

from leowarp.base.layout import PROGRAMS

_LOOKED_AT_BYTES = 4096
# A label, the client's random number, the secret (draft-ietf-tls-keylogfile, 2); ngtcp2 appends a blank
_KEY = re.compile(rb"[A-Z][A-Z0-9_]* (?:[0-9A-Fa-f]{2}){8,32} (?:[0-9A-Fa-f]{2}){16,}[ \r]*")
# draft-ietf-quic-qlog-main-schema, 12: a JSON text, or a sequence of them
_QLOG = (".qlog", ".sqlog")


def program_logs(directory: Path) -> dict[str, list[str]]:
    """Files of a run directory by content: `tls_keys` and `qlog`.

    A TLS key log is recognised by its first line, whatever its name is, a qlog by its suffix.

    Returns: Names relative to the directory, sorted; both keys always exist.
    """
    files = sorted(path for path in (directory / PROGRAMS).rglob("*") if path.is_file() and not path.is_symlink())
    kinds = {
        "tls_keys": [path for path in files if _holds_keys(path)],
        "qlog": [path for path in files if path.suffix in _QLOG],
    }
    return {kind: [path.relative_to(directory).as_posix() for path in paths] for kind, paths in kinds.items()}


def _holds_keys(path: Path) -> bool:
    with path.open("rb") as stream:
        lines = stream.read(_LOOKED_AT_BYTES).split(b"\n")
    # The last line is incomplete, or is the empty rest after the last line end.
    first = next((line for line in lines[:-1] if line.strip() and not line.startswith(b"#")), b"")
    return _KEY.fullmatch(first) is not None
