# SPDX-License-Identifier: Apache-2.0
"""If pip refuses a wheel, a user can run the wheel. It then prints the requirements that the machine does not meet.
This test checks the output."""

import platform
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from leowarp import __main__ as entry

WHEEL = "leowarp-0.2.0-cp311-abi3-manylinux_2_34_x86_64.whl"


@pytest.mark.parametrize(
    ("python", "glibc", "says"),
    [
        ((3, 11, 2), ("glibc", "2.36"), []),
        ((3, 13, 0), ("glibc", "2.34"), []),
        ((3, 9, 2), ("glibc", "2.31"), ["Python 3.11 or newer", "glibc 2.34 or newer (this is 2.31)"]),
        ((3, 11, 2), ("glibc", "2.31"), ["glibc 2.34 or newer (this is 2.31)"]),
        ((3, 12, 1), ("", ""), ["glibc 2.34 or newer (this is another C library)"]),
    ],
)
def test_each_thing_that_a_machine_lacks_is_named_with_what_it_has(monkeypatch, python, glibc, says):
    monkeypatch.setattr(sys, "version_info", python)
    monkeypatch.setattr(platform, "libc_ver", lambda: glibc)
    lacks = entry.lacking(WHEEL)
    assert len(lacks) == len(says)
    for sentence, expected in zip(lacks, says, strict=True):
        assert sentence.startswith(expected)


def test_the_file_runs_out_of_a_wheel_by_any_python(tmp_path):
    wheel = tmp_path / WHEEL.replace("manylinux_2_34", "manylinux_2_999")
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.write(Path(entry.__file__), "leowarp/__main__.py")
    done = subprocess.run([sys.executable, "-I", f"{wheel}/leowarp"], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("leowarp needs glibc 2.999 or newer (this is 2.")


def test_a_wheel_of_another_name_is_no_reason_to_fall_over():
    (sentence,) = entry.lacking("leowarp-0.2.0-py3-none-any.whl")
    assert "leowarp-0.2.0-py3-none-any.whl" in sentence
