# SPDX-License-Identifier: Apache-2.0
import struct

import pytest

from leowarp.applications import LAUNCHER
from leowarp.base.errors import HostError
from leowarp.guest.building import trust
from leowarp.guest.user.programs import check_programs, keep_outputs, program_file, put_roots
from leowarp.scenario import load, resolve


def plan_of(folder, client: str, keys: str = ""):
    path = folder / "scenario.toml"
    path.write_text(
        'name = "programs"\n[run]\nduration = "10 s"\n[chain]\n[[flows]]\nsource = "A"\ndestination = "B"\n'
        f'[[flows]]\nkind = "program"\nsource = "A"\ndestination = "B"\nclient = "{client}"\n{keys}\n'
    )
    return resolve(load(path))


@pytest.fixture
def root(tmp_path):
    """Make a root directory of programs with a shell script and a program for ARM64."""
    root = tmp_path / "root"
    for name in ("run", "dev", "proc", "sys", "etc", "usr/bin", "etc/alternatives"):
        (root / name).mkdir(parents=True)
    (root / "etc/hosts").touch()
    (root / "bin").symlink_to("usr/bin")
    (root / "usr/bin/script").write_text("#!/bin/sh\n")
    for name, machine in (("sh", 62), ("arm", 183)):
        head = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HH", 2, machine)
        (root / "usr/bin" / name).write_bytes(head + bytes(44))
    (root / "usr/bin/text").write_text("hello")
    (root / "usr/bin/snake").write_text("#!/usr/bin/env python3\nprint()\n")
    (root / "usr/bin/lizard").write_text("#! /usr/bin/script -x\n")
    (root / "usr/bin/worm").write_text("#!/usr/bin/worm\n")
    (root / "usr/bin/dealer").write_text("#!/usr/bin/arm\n")
    (root / "usr/bin/mute").write_text("#!\n")
    for name in ("sh", "script", "snake", "lizard", "worm", "dealer", "mute", "arm", "text"):
        (root / "usr/bin" / name).chmod(0o755)
    (root / "usr/bin/data").write_text("#!/bin/sh\n")
    # The link's target is an absolute path within the root that the test makes, as in a Debian root.
    (root / "usr/bin/awk").symlink_to("/etc/alternatives/awk")
    (root / "etc/alternatives/awk").symlink_to("/usr/bin/script")
    (root / "usr/bin/round").symlink_to("round")
    return root


def test_a_program_is_looked_for_as_the_guest_does(tmp_path, root):
    keys = f'rootfs = "{root}"\ndirectory = "/usr"'
    check_programs(plan_of(tmp_path, "lizard", keys))
    for name in ("script", "/bin/script", "bin/../bin/script", "awk"):
        plan = plan_of(tmp_path, name, keys)
        check_programs(plan)
        assert program_file(plan.flows[1], name) == root / "usr/bin/script", name


@pytest.mark.parametrize(
    ("client", "says"),
    [
        ("iperf33", r'flows\.1\.client: there is no program "iperf33".*PATH: /usr/local/sbin'),
        ("/usr/bin/nothing", 'there is no program "/usr/bin/nothing"'),
        ("round", 'there is no program "round"'),
        ("arm", r"is for another processor \(ARM64\)"),
        ("text", "is no program: neither ELF nor a script"),
        ("data", "is not executable"),
        ("snake", r'snake" is a script for /usr/bin/env, which is not there in .*root'),
        ("worm", "a script for a script for another"),
        ("dealer", r"arm\" is for another processor"),
        ("mute", "names no interpreter"),
        ("/run/mine", "lies where the guest has a directory of its own"),
    ],
)
def test_what_cannot_run_is_said_before_anything_is_booted(tmp_path, root, client, says):
    with pytest.raises(HostError, match=says):
        check_programs(plan_of(tmp_path, client, f'rootfs = "{root}"'))


def test_a_root_needs_places_to_mount_upon(tmp_path, root):
    (root / "sys").rmdir()
    with pytest.raises(HostError, match="has no sys, in whose place"):
        check_programs(plan_of(tmp_path, "script", f'rootfs = "{root}"'))
    with pytest.raises(HostError, match="there is no directory"):
        check_programs(plan_of(tmp_path, "script", f'rootfs = "{root}/nothing"'))


def test_a_program_that_is_made_by_another_is_not_looked_for(tmp_path):
    check_programs(plan_of(tmp_path, "{run_dir}/made"))


def test_roots_are_links_and_outputs_move(tmp_path, root):
    (tmp_path / "in").mkdir()
    plan = plan_of(tmp_path, "script", f'rootfs = "{root}"')
    put_roots(plan, tmp_path / "in")
    put_roots(plan, tmp_path / "in")
    assert {link.name: link.readlink() for link in (tmp_path / "in/roots").iterdir()} == {"1": root}
    (tmp_path / "out/programs/1/client").mkdir(parents=True)
    (tmp_path / "out/programs/1/client/stdout").write_text("said")
    (tmp_path / "run/35-programs/0").mkdir(parents=True)
    keep_outputs(tmp_path / "out", tmp_path / "run")
    assert (tmp_path / "run/35-programs/1/client/stdout").read_text() == "said"
    assert not (tmp_path / "run/35-programs/0").exists()


def test_what_runs_is_known_by_its_words_and_by_the_files_that_these_name(tmp_path):
    script = tmp_path / "client.py"
    script.write_text("1")

    def identity(client: str, keys: str = "") -> str:
        (code,) = trust.commands_of(plan_of(tmp_path, client, keys).flows)
        assert code.commands is not None
        return code.commands.identity()

    first = identity(f"python3 {script}")
    assert identity(f"python3 {script}") == first
    assert identity(f"python3  {script}") != first
    assert identity(f"python3 {script}", 'environment = { A = "1" }') != first
    script.write_text("2")
    assert identity(f"python3 {script}") != first


def test_commands_that_come_with_leowarp_run_and_those_of_a_stranger_do_not(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    ours = plan_of(
        tmp_path, "iperf3 -c {server} -p {port} -t 5 -J", 'server = "iperf3 -s -1 -p {port}"\nport = 7\nstop = "8 s"'
    )
    trust.demand(ours)
    theirs = plan_of(tmp_path, "cat /etc/passwd")
    with pytest.raises(trust.ScenarioError, match=r"flows\.1\.client names `cat /etc/passwd`, which could read"):
        trust.demand(theirs)
    trust.demand(theirs.named_by_caller())
    trust.demand(theirs)


def test_the_programs_that_come_with_leowarp_must_be_seen_from_the_root(tmp_path, root):
    check_programs(plan_of(tmp_path, "sh {applications} --help"))
    plan = plan_of(tmp_path, "script {applications}", f'rootfs = "{root}"')
    with pytest.raises(HostError, match=r"flows\.1\.client: \{applications\} is /.*/launch\.py, which programs below"):
        check_programs(plan)
    # The launcher may also be a copy, at the same path below the user's root.
    (root / str(LAUNCHER).lstrip("/")).parent.mkdir(parents=True)
    (root / str(LAUNCHER).lstrip("/")).touch()
    check_programs(plan)
