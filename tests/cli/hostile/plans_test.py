# SPDX-License-Identifier: Apache-2.0
"""Tests the error messages for hostile plans, and for hostile files that a plan names."""

import shutil

import pytest

from leowarp.base import layout
from support.hostile import CHAIN, refused


def with_inputs(tmp_path, name, *, content=b"t_s,delay_ms\n0,5\n"):
    """Make a run directory that contains only a plan. The plan names the file `name`, which has the content
    `content`."""
    folder = tmp_path / "theirs"
    folder.mkdir(exist_ok=True)
    flow = '[[flows]]\nkind = "ping"\nsource = "A"\ndestination = "B"\n'
    (folder / layout.PLAN).write_text(f'name = "theirs"\n[measured]\nfile = "{name}"\n{flow}')
    (tmp_path / "secret.csv").write_bytes(content)
    return folder


@pytest.mark.parametrize("name", ["../secret.csv", "ABSOLUTE", "sub/secret.csv", ".."])
def test_the_plan_of_a_run_names_nothing_outside_it(leowarp, tmp_path, name):
    folder = with_inputs(tmp_path, str(tmp_path / "secret.csv") if name == "ABSOLUTE" else name)
    (folder / "sub").mkdir()
    shutil.copy(tmp_path / "secret.csv", folder / "sub")
    for path in (folder, folder / layout.PLAN):
        assert refused(leowarp("plan", path), "leads out of the run directory")


@pytest.mark.parametrize("linked", ["file", "folder", "beside"])
def test_the_plan_of_a_run_names_no_links(leowarp, tmp_path, linked):
    folder = with_inputs(tmp_path, "secret.csv")
    if linked == "folder":
        (folder / layout.INPUTS).symlink_to(tmp_path)
    elif linked == "file":
        (folder / layout.INPUTS).mkdir()
        (folder / layout.INPUTS / "secret.csv").symlink_to(tmp_path / "secret.csv")
    else:
        (folder / "secret.csv").symlink_to(tmp_path / "secret.csv")
    assert refused(leowarp("plan", folder), "no file" if linked == "beside" else "symbolic link")


def test_a_scenario_of_ones_own_names_files_anywhere(leowarp, tmp_path):
    folder = with_inputs(tmp_path, "../secret.csv")
    shutil.copy(folder / layout.PLAN, folder / "mine.toml")
    (tmp_path / "link.toml").symlink_to(folder / "mine.toml")
    assert leowarp("plan", folder / "mine.toml").status == 0


def test_the_plan_of_a_run_extends_nothing(leowarp, tmp_path):
    (tmp_path / layout.PLAN).write_text(f'extends = "{CHAIN}"\nname = "theirs"\n')
    assert refused(leowarp("plan", tmp_path), "stands alone")


TEXTS = {
    "NUL": b'name = "a"\0',
    "no UTF-8": b'name = "\xff\xfe"',
    "cut short": b'name = "a',
    "types": b'name = 3\nrun = 7\nflows = "x"\nstations = {}\nhosts = [1]\nguest = [[]]\nchain = true\nmodules = 1\n',
    "numbers": b'name = "a"\n[run]\nduration = 1e400\nseed = ' + b"9" * 5000,
    "quantities": b'name = "a"\n[run]\nduration = "' + b"9" * 5000 + b' s"\nseed = -1',
    "deep lists": b"x = " + b"[" * 100_000,
    "deep tables": b"x" + b".x" * 2_000_000 + b" = 1",
    "deep tables in quotes": b'"\\"".' * 2_000_000 + b"x = 1",
    "many problems": b'name = "a"\n' + b"".join(b"x%d = 1\n" % number for number in range(3000)),
    "a name for terminals": b'name = "\\u001b]0;owned\\u0007"',
    "a key for terminals": b'"\\u001b[31m\\u202e" = 1',
    "endless": None,
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", TEXTS)
def test_a_hostile_plan_is_an_error(leowarp, tmp_path, kind):
    path = tmp_path / layout.PLAN
    if TEXTS[kind] is None:
        with path.open("wb") as file:
            file.truncate(100 << 20)
    else:
        path.write_bytes(TEXTS[kind])
    answer = leowarp("plan", tmp_path)
    assert refused(answer)
    assert not set("\x1b\x07\u202e") & set(answer.err)


@pytest.mark.parametrize("table", ["guest", "tcp"])
def test_a_plan_names_no_program_to_the_guests_kernel(leowarp, table):
    setting = f'{table}.sysctl.kernel.core_pattern="|/host/in/events.bin"'
    assert refused(leowarp("plan", CHAIN, "--set", setting), "start a program")


@pytest.mark.slow
def test_a_hostile_study_file_is_an_error(leowarp, tmp_path):
    for number, text in enumerate(text for text in TEXTS.values() if text is not None):
        (tmp_path / f"{number}.toml").write_bytes(text)
        assert refused(leowarp("study", tmp_path / f"{number}.toml"))
