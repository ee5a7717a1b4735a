# SPDX-License-Identifier: Apache-2.0
"""Hints for a name that does not exist: the name that was probably meant, and all names that exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST_WORD = 60


def nearest(word: str, known: Iterable[str], cutoff: float = 0.55) -> str | None:
    """Return the known word that is most similar to `word`, or None if no word is similar enough.

    word: The word as typed. Only its first 60 characters are compared.
    cutoff: The smallest similarity that is enough, 0 to 1, as computed by `difflib`.

    >>> nearest("congestion_controll", ["congestion_control", "rate"])
    'congestion_control'
    """
    # Long words are cut, because the time for a comparison is proportional to the product of the lengths.
    found = difflib.get_close_matches(word[:_LONGEST_WORD], list(known), n=1, cutoff=cutoff)
    return found[0] if found else None


def guess(word: object, known: Iterable[str], cutoff: float = 0.55) -> str:
    """Return the beginning of a hint, with the word that was probably meant. Without such a word, the result is "".

    word: The word as typed, or a value that is no text.
    """
    near = nearest(word, known, cutoff) if isinstance(word, str) else None
    return f'did you mean "{near}"? ' if near else ""


def one_of(word: object, known: Iterable[object], lead: str = "one of", cutoff: float = 0.55) -> str:
    """Return a hint for an unknown word. The hint has the word that was probably meant, followed by all known words.

    word: The word as typed. For a value that is no text, only the known words are listed.
    known: The known words, in the order in which the hint lists them.
    lead: The text before the list of known words.

    >>> one_of("sttr", ["cwnd", "srtt"])
    'did you mean "srtt"? one of cwnd, srtt'
    >>> one_of("foo", [], "stations:")
    'stations: none'
    """
    words = [str(each) for each in known]
    return f"{guess(word, words, cutoff)}{lead} {', '.join(words) or 'none'}"
