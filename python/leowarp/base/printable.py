# SPDX-License-Identifier: Apache-2.0
"""Text from a file, a directory or a program of another person, made safe for a terminal."""

from __future__ import annotations

import codecs
import io
import unicodedata
from typing import TextIO

SUBSTITUTES = {
    "–": "-", "—": "-", "−": "-", "─": "-", "━": "-", "│": "|", "┃": "|", "·": ".", "•": "*", "…": "...", "×": "x",
    "÷": "/", "±": "+-", "°": "deg", "µ": "u", "μ": "u", "Δ": "d", "≤": "<=", "≥": ">=", "≈": "~", "→": "->", "←": "<-",
    "⇒": "=>", "“": '"', "”": '"', "‘": "'", "’": "'", "ß": "ss", "ø": "o", "Ø": "O", "✓": "ok", "✗": "x", "█": "#",
    "╸": "-", "╺": "-",
}  # fmt: skip
"""ASCII substitutes for characters that an encoding may lack."""


def accept_any_character(stream: TextIO) -> None:
    """Make a stream write a substitute for each character that its encoding lacks, instead of raising.

    A dash in a table, or the name of a station, must not end a command whose work is done. A stream in UTF-8 lacks no
    character and stays unchanged, and so does a stream without an encoding.
    """
    if isinstance(stream, io.TextIOWrapper) and codecs.lookup(stream.encoding).name != "utf-8":
        codecs.register_error(_SUBSTITUTE, _substitute)
        stream.reconfigure(errors=_SUBSTITUTE)


def has_all(text: str, stream: TextIO) -> bool:
    """Whether a stream's encoding has all characters of a text."""
    try:
        # A stream in memory has no encoding, and accepts any character.
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _substitute(error: UnicodeError) -> tuple[str, int]:
    """Replacement of characters that cannot be encoded, and the position at which to continue."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_ascii, error.object[error.start : error.end])), error.end


def _ascii(char: str) -> str:
    r"""A character in ASCII: from the list, without its accent, or as an escape.

    >>> _ascii("–"), _ascii("é"), _ascii("東")
    ('-', 'e', '\\u6771')
    """
    plain = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode()
    return SUBSTITUTES.get(char) or plain or _escaped(char)


_SUBSTITUTE = "leowarp.substitute"


def visible(text: str) -> str:
    r"""The text with each character that has an effect instead of a glyph as an escape: `\x1b`, `\u202e`.

    A terminal executes control characters (colours, titles, the clipboard, answers typed for the user), and characters
    that change the direction of writing make a line read differently. Characters that `str.isprintable` accepts, line
    ends and tabs are kept. An incomplete UTF-8 sequence in a file's name becomes an escape, too.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char in "\n\t" else _escaped(char) for char in text)


def one_line(text: str) -> str:
    r"""The same as `visible`, with line ends and tabs as `\n` and `\t`, which do not belong in a name."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def json_visible(text: str) -> str:
    r"""JSON text in which the characters that `visible` escapes are JSON's own escapes: the text has the same value,
    and displays as with `visible`."""
    return "".join(char if char.isprintable() or char == "\n" else _json_escaped(char) for char in text)


def _escaped(char: str) -> str:
    code = ord(char)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"  # This is a byte of a name that is not UTF-8 (PEP 383).
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _json_escaped(char: str) -> str:
    code = ord(char)
    if code < 0x10000:
        return f"\\u{code:04x}"
    # JSON escapes are UTF-16: beyond the first plane, a pair of surrogates (RFC 8259, section 7).
    high, low = divmod(code - 0x10000, 0x400)
    return f"\\u{0xD800 + high:04x}\\u{0xDC00 + low:04x}"
