# SPDX-License-Identifier: Apache-2.0
"""What is said of a directory that is no run."""

import pytest

from leowarp.errors import TraceError
from leowarp.layout import INCOMPLETE, MANIFEST
from leowarp.recorded import refuse_incomplete


def hint_of(path):
    with pytest.raises(TraceError) as caught:
        refuse_incomplete(path)
    return str(caught.value.hint)


def test_a_misspelt_run_is_answered_with_the_nearest_and_never_with_force(tmp_path):
    for name in ("cubic", "bbr"):
        (tmp_path / name).mkdir()
        (tmp_path / name / MANIFEST).write_text("{}")
    assert hint_of(tmp_path / "cubik") == f"did you mean {tmp_path / 'cubic'}?"
    assert hint_of(tmp_path) == f"runs there: {tmp_path / 'bbr'}, {tmp_path / 'cubic'}"
    assert "--force" not in hint_of(tmp_path / "elsewhere" / "typo")


def test_a_run_that_failed_is_answered_with_the_command_that_makes_it_again(tmp_path):
    (tmp_path / INCOMPLETE).write_text("the disk is full")
    assert hint_of(tmp_path).endswith("--force")
