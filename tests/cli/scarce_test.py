# SPDX-License-Identifier: Apache-2.0
"""Tests the messages for two cases: resources are scarce, or a name is not valid text. Each message is one sentence,
and the status is never 70."""

import os
import shutil
import subprocess
import sys

import pytest

from leowarp.base import layout
from support.synthetic.run import write_synthetic_run
from support.synthetic.whole import complete


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    """A complete run with invented packets."""
    path = tmp_path_factory.mktemp("scarce") / "one"
    write_synthetic_run(path)
    return complete(path)


@pytest.mark.parametrize("words", [("show", "R"), ("show", "R", "--json"), ("--help",)])
def test_a_full_disk_behind_stdout_is_told_and_is_status_3(one, words):
    words = [str(one) if word == "R" else word for word in words]
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-m", "leowarp", *words], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 3, done.stderr
    assert "there is no space left" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("-n 6", ("report", "R")), ("-n 8", ("show", "R")), ("-f 0", ("export", "R", "drops", "-o", "OUT")),
        ("-f 4", ("view", "R", "-o", "OUT")), ("-v 200000", ("show", "R")), ("-v 450000", ("show", "R", "--links")),
        ("-s 512", ("show", "R")),
    ],
)  # fmt: skip
def test_tiny_limits_of_the_shell_end_in_a_sentence(one, tmp_path, limit, words):
    run = shutil.copytree(one, tmp_path / "run")
    places = {"R": str(run), "OUT": str(tmp_path / "out")}
    typed_words = [places.get(word, word) for word in words]
    line = f'ulimit {limit}; exec "$@"'
    done = subprocess.run(
        ["bash", "-c", line, "bash", sys.executable, "-m", "leowarp", *typed_words],
        capture_output=True, text=True, env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip
    # If the status is 1 and leowarp has written no message, the loader or a numerical library ended the process.
    assert done.returncode in (0, 1, 3), done
    assert "no rule foresees this" not in done.stderr
    if done.returncode == 3:
        assert done.stderr.count("error: ") == 1, done.stderr


@pytest.mark.parametrize("verb", [("export", "R", "drops", "--out"), ("view", "R", "--out"), ("show",)])
def test_names_that_are_no_text_are_files_like_any_other(leowarp, one, tmp_path, verb):
    name = os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe")
    answer = leowarp(*(one if word == "R" else word for word in verb), name)
    assert answer.status == (5 if verb == ("show",) else 0), answer
    assert "Traceback" not in answer.err


def test_a_manifest_with_an_invalid_byte_is_named(leowarp, one, tmp_path):
    run = shutil.copytree(one, tmp_path / "run")
    content = (run / layout.MANIFEST).read_bytes()
    (run / layout.MANIFEST).write_bytes(content[:100] + b"\xff" + content[101:])
    for verb in (("show", run), ("report", run), ("verify", run, "--files"), ("view", run)):
        answer = leowarp(*verb)
        assert answer.status == 5, answer
        assert layout.MANIFEST in answer.err
