# SPDX-License-Identifier: Apache-2.0
"""Hints for a name that does not exist: the name that was probably meant, and all that exist."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST_WORD = 60


def nearest(word: str, known: Iterable[str], cutoff: float = 0.55) -> str | None:
    """The known word that looks most like `word`, if one does.

    word: As typed; only its first 60 characters are compared.
    cutoff: The least similarity by `difflib`, 0 to 1.
    Returns: None: nothing is near enough to be proposed.

    >>> nearest("congestion_controll", ["congestion_control", "rate"])
    'congestion_control'
    """
    # Long words are cut: matching costs the product of the lengths.
    found = difflib.get_close_matches(word[:_LONGEST_WORD], list(known), n=1, cutoff=cutoff)
    return found[0] if found else None


def one_of(word: object, known: Iterable[object], lead: str = "one of", cutoff: float = 0.55) -> str:
    """The hint of a message that there is no `word`: what was probably meant, then all known words.

    word: As typed; what is no text has no word like it.
    known: In the order in which they are listed.
    lead: The words before the list.

    >>> one_of("sttr", ["cwnd", "srtt"])
    'did you mean "srtt"? one of cwnd, srtt'
    >>> one_of("foo", [], "stations:")
    'stations: none'
    """
    words = [str(each) for each in known]
    near = nearest(word, words, cutoff) if isinstance(word, str) else None
    return (f'did you mean "{near}"? ' if near else "") + f"{lead} {', '.join(words) or 'none'}"
