# SPDX-License-Identifier: Apache-2.0
"""Makes untrusted text (of a file, a directory or a program) safe to print on a terminal."""

from __future__ import annotations

import codecs
import io
import unicodedata
from typing import Any, TextIO

SUBSTITUTES = {
    "–": "-", "—": "-", "−": "-", "─": "-", "━": "-", "│": "|", "┃": "|", "·": ".", "•": "*", "…": "...", "×": "x",
    "÷": "/", "±": "+-", "°": "deg", "µ": "u", "μ": "u", "Δ": "d", "≤": "<=", "≥": ">=", "≈": "~", "→": "->", "←": "<-",
    "⇒": "=>", "“": '"', "”": '"', "‘": "'", "’": "'", "ß": "ss", "ø": "o", "Ø": "O", "✓": "ok", "✗": "x", "█": "#",
    "╸": "-", "╺": "-",
}  # fmt: skip
"""The ASCII substitutes for characters that a terminal's encoding may lack."""


def accept_any_character(stream: TextIO) -> None:
    """Make a stream write substitutes for characters that its encoding lacks, instead of raising an error.

    Without substitutes, a command could do all its work and then fail at a dash in a printed table. If a stream is
    UTF-8 or has no encoding, it accepts all characters and is not changed.
    """
    if isinstance(stream, io.TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
        codecs.register_error(_SUBSTITUTE, _substitute)
        stream.reconfigure(errors=_SUBSTITUTE)


def has_all(text: str, stream: TextIO) -> bool:
    """Return whether a stream's encoding can represent all characters of a text."""
    try:
        # A stream in memory has no encoding, and accepts any character.
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _substitute(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_ascii, error.object[error.start : error.end])), error.end


def _ascii(char: str) -> str:
    r"""Return the ASCII substitute for a character. It is the entry in the table of substitutes, the character without
    its accent, or an escape.

    >>> _ascii("–"), _ascii("é"), _ascii("東")
    ('-', 'e', '\\u6771')
    """
    plain = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode()
    return SUBSTITUTES.get(char) or plain or _escaped(char)


_SUBSTITUTE = "leowarp.substitute"


def visible(text: str) -> str:
    r"""Return the text, with an escape such as `\x1b` or `\u202e` in place of each invisible character.

    Control characters can change a terminal's colours, title and clipboard, and can type text as if from the user. Some
    characters change the direction of writing, and make a line look different. Characters that `str.isprintable`
    accepts, line ends and tabs are not changed. An incomplete UTF-8 sequence in a file's name becomes an escape too.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else _escaped(char) for char in text)


def one_line(text: str) -> str:
    r"""Escape a text like `visible`, and also line ends and tabs, as `\n` and `\t`. The function is for names, which
    must be on one line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def json_visible(text: str) -> str:
    r"""Return the JSON text with JSON escapes for all characters that `visible` would escape. The new text represents
    the same JSON value, and is safe to print."""
    return "".join(char if char.isprintable() or char == "\n" else _json_escaped(char) for char in text)


def clean(value: Any) -> Any:
    """Return the value as JSON types. numpy scalars become numbers, NaN becomes None, and tuples become lists."""
    if isinstance(value, dict):
        return {str(key): clean(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(item) for item in value]
    # numpy's scalars and arrays, and pandas' extension arrays, have `tolist`.
    if hasattr(value, "tolist") and not isinstance(value, str):
        return clean(value.tolist())
    if isinstance(value, float) and value != value:
        return None
    return value


def _escaped(char: str) -> str:
    """Return the escape of a character in a Python string literal."""
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"  # a byte of a name that is not UTF-8 (PEP 383)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escaped(char: str) -> str:
    code = ord(char)
    if code < 0x10000:
        return f"\\u{code:04x}"
    # JSON escapes are in UTF-16: a character beyond the first plane is a pair of surrogates (RFC 8259, section 7).
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
