# SPDX-License-Identifier: Apache-2.0
"""Tests that `verify` accepts a run with the user's own module. If the module is from someone else, `verify` requires
--trust."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.guest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_ones_own_module_is_remembered_and_a_strangers_is_not(tmp_path):
    source = tmp_path / "mine_reno.c"
    source.write_text((EXAMPLES / "mild_reno.c").read_text().replace("mild_reno", "mine_reno"))

    def typed(user, *words):
        done = subprocess.run(
            [sys.executable, "-m", "leowarp", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True,
            text=True, check=False, env={**os.environ, "XDG_STATE_HOME": str(tmp_path / user)},
        )  # fmt: skip
        return done.returncode, done.stderr

    out = tmp_path / "run"
    status, said = typed(
        "me", "run", EXAMPLES / "chain.toml", "--out", out, "--no-report", "--cc-module", source,
        "--set", "run.duration=1 s", "--set", "flows.0.congestion_control=mine_reno",
    )  # fmt: skip
    assert status == 0, said
    handed_over = Path(shutil.copytree(out, tmp_path / "theirs"))
    assert typed("me", "verify", out)[0] == 0
    status, said = typed("somebody", "verify", handed_over)
    assert status == 2
    assert "guest.cc_modules names the C file" in said
    assert "00-inputs/mine_reno.c" in said
    assert typed("somebody", "verify", handed_over, "--trust")[0] == 0
    assert typed("somebody", "verify", handed_over)[0] == 0, "what was accepted once is not asked again"
