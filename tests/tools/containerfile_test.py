# SPDX-License-Identifier: Apache-2.0
"""Tests that the Containerfile copies nothing that was built outside of the container. Also tests that everything
exists that the Containerfile calls."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = (ROOT / "Containerfile").read_text().splitlines()


def test_nothing_that_a_checkout_built_gets_into_the_image():
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text().split()}
    kept_out = [re.compile(line.removeprefix("**/").replace(".", r"\.").replace("*", ".*"))
                for line in (ROOT / ".dockerignore").read_text().splitlines() if not line.startswith("#")]  # fmt: skip
    # Only setuptools creates directories named `*.egg-info`, and this project does not use setuptools.
    assert {name for name in ignored if not any(rule.fullmatch(name) for rule in kept_out)} == {"*.egg-info"}


def test_it_calls_a_goal_of_the_makefile_and_runs_as_an_ordinary_user():
    (goal,) = re.findall(r"make -C /leowarp (\w+)", "\n".join(LINES))
    assert re.search(rf"^{goal}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    words = [line.partition(" ")[0] for line in LINES]
    assert words.index("USER") < words.index("ENTRYPOINT")
