# SPDX-License-Identifier: Apache-2.0
"""Find the files that the user's own programs wrote for other tools. The files contain keys of TLS connections, or they
are qlogs."""

from __future__ import annotations

import re
from pathlib import Path

from leowarp.base.layout import PROGRAMS

_LOOKED_AT_BYTES = 4096
# A line has a label, the client's random number and the secret (draft-ietf-tls-keylogfile, 2). ngtcp2 appends a space.
_KEY = re.compile(rb"[A-Z][A-Z0-9_]* (?:[0-9A-Fa-f]{2}){8,32} (?:[0-9A-Fa-f]{2}){16,}[ \r]*")
# Suffixes of qlogs from draft-ietf-quic-qlog-main-schema, 12: a file is one JSON text, or a sequence of JSON texts.
_QLOG = (".qlog", ".sqlog")


def program_logs(directory: Path) -> dict[str, list[str]]:
    """Find the TLS key logs and the qlogs in a run directory.

    The first line identifies a TLS key log, whatever the name of the file. The suffix of the name identifies a qlog.

    Returns: A dict with the keys `tls_keys` and `qlog`. The values are sorted lists of file names relative to the
        directory.
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
    # The last item of `lines` is left out, because it is not a complete line: either it has no line end, or it is
    # empty.
    first = next((line for line in lines[:-1] if line.strip() and not line.startswith(b"#")), b"")
    return _KEY.fullmatch(first) is not None
