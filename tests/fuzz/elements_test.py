# SPDX-License-Identifier: Apache-2.0
"""Tests the readers of element sets: each sequence of bytes must be read, or refused with a hint.

Each target tries only a few examples in the ordinary suite. ``make fuzz SECONDS=600 TARGET=elements`` runs the targets
for a given time.
"""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.ephemeris.elements import element_file
from support.element_sets import ENCODINGS, OMM, checked, lines_of
from support.fuzz import EXAMPLES

SEEDS = {
    "tle": "\n".join(["2 1", "SAT-1", *lines_of(1), "# comment", "SAT-2", *lines_of(2)]),
    **{
        name: encode([OMM | {"NORAD_CAT_ID": number, "CENTER_NAME": "EARTH", "REF_FRAME": "TEME"} for number in (1, 2)])
        for name, encode in ENCODINGS.items()
    },
}
PIECES = [
    "", "\n", "\r\n", "\0", "\x1a", ",", ";", "=", "[", "]", "{", "}", "<", ">", "<!--", "]]>", "&amp;", '"', "-", "+",
    "e99", "1e999", "nan", "null", "1 ", "2 ", "0", "9", "\u00e9", "\ufeff", "\uff11", "segment", "omm", "</segment>",
    "COMMENT x\n", "CCSDS_OEM_VERS = 2.0\n", "CCSDS_OMM_VERS = 2.0\n", "EPOCH", "9999-12-31T23:59:59+23:59",
    "0001-001T00:00:00+14",
]  # fmt: skip
"""The texts that are inserted into files: characters of each encoding, and extreme values."""


@st.composite
def damaged(draw: st.DrawFn, text: str) -> bytes:
    """Return a file of which some parts are replaced, doubled, moved or removed. In half of the files, the checksums of
    all lines that are as long as a TLE line are correct."""
    for _ in range(draw(st.integers(1, 6))):
        begin = draw(st.integers(0, len(text)))
        end = min(len(text), begin + draw(st.sampled_from([0, 1, 1, 2, 8, 69, 200])))
        middle = draw(st.one_of(st.sampled_from(PIECES), st.just(text[begin:end] * 2), st.text(max_size=3)))
        text = text[:begin] + middle + text[end:]
    if draw(st.booleans()):
        text = "\n".join(checked(line) if len(line) == 69 else line for line in text.split("\n"))
    return text.encode("utf-8", "surrogatepass")


@pytest.mark.parametrize("kind", SEEDS)
def test_a_damaged_file_of_elements_is_read_or_refused(kind: str, tmp_path: Path) -> None:
    hints: list[str | None] = []

    @settings(
        max_examples=EXAMPLES, deadline=None, database=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )  # fmt: skip
    @given(damaged(SEEDS[kind]))
    def target(data: bytes) -> None:
        path = tmp_path / "set"
        path.write_bytes(data)
        try:
            found = element_file(path)
        except ScenarioError as refused:
            hints.append(refused.hint)
            return
        assert found.elements
        for element in found.elements:
            # Tables must not contain NaN: for each element set at its epoch, SGP4 gives a position or reports an error.
            error, position_km, _ = element.satrec.sgp4_tsince(0.0)
            assert error or np.isfinite(position_km).all()
            assert 0 <= element.catalogue_number < 10**9
            assert 1 <= element.line <= len(data) + 1

    target()
    assert all(hints)
