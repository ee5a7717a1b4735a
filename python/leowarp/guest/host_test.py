# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from leowarp.errors import HostError
from leowarp.guest import diagnose, host
from leowarp.guest.doctor import examine
from leowarp.guest.drive import command_line
from leowarp.guest.host import Check


def test_all_that_is_lacking_is_in_one_error():
    checks = [Check("a", True, "fine", "fine"), Check("b", False, "no b", "a b", "get b"), Check("c", False, "0", "1")]
    with pytest.raises(HostError) as caught:
        host.demand(checks, "booting the guest")
    assert "booting the guest" in caught.value.message
    assert "b: no b; needed: a b" in caught.value.message
    assert "c: 0; needed: 1" in caught.value.message
    assert "a: fine" not in caught.value.message
    assert caught.value.hint == "get b"
    host.demand(checks[:1], "nothing")


def test_memory_goes_to_the_directory_named_first(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert host.memory_directory(1 << 20, [])[0] == tmp_path
    monkeypatch.setenv("TMPDIR", "/nonexistent")
    directory, check = host.memory_directory(1 << 20, [])
    assert directory in (Path("/dev/shm"), Path("/tmp"), Path("/var/tmp"))
    assert check.ok


def test_a_place_that_is_too_small_for_everybody_names_each():
    directory, check = host.memory_directory(1 << 60, [])
    assert directory is None
    assert not check.ok
    assert "/dev/shm has" in check.found
    assert "TMPDIR" in check.mend


def test_the_doctor_looks_at_everything_and_mends_what_fails(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    checks = {check.name: check for check in examine(memory_bytes=1 << 60)}
    for name in ("gcc", "flex", "bison", "bc", "xz", "rustc", "cargo", "memory", "a place for the guest's memory"):
        assert not checks[name].ok, name
        assert checks[name].mend, name
    assert "apt-get install -y --no-install-recommends flex" in checks["flex"].mend
    assert {"python", "ptrace", "cache", "kernel source", "space for the build"} <= checks.keys()


def test_the_command_line_holds_nothing_of_this_machine():
    line = command_line(1 << 30)
    assert line[0] == "mem=1024M"
    assert not [word for word in line if str(Path.home()) in word or str(Path.cwd()) in word]
    assert line == command_line(1 << 30)


PANIC = "Kernel panic - not syncing: "
NO_SPACE = "Bus error - the host /dev/shm or (temporary) mount likely just ran out of space"


@pytest.mark.parametrize(
    ("console", "returncode", "says"),
    [
        ("", 0, None),
        ("check_ptrace : expected SIGSTOP, got status = 9", 1, "forbids ptrace"),
        ("/dev/shm must be not mounted noexec", 1, "noexec"),
        (f"{NO_SPACE}\n{PANIC}x", -6, "ran out of space"),
        ("Too few physical memory! Needed=9, given=8", 1, "too small to boot"),
        ("setup_physmem - mapping 9 bytes of memory at 0x0 failed - errno = -12", 1, "ulimit -v"),
        ("Out of memory: Killed process 7 (leowarp-agent) total", 0, r"ran out of memory \(leowarp-agent\)"),
        (PANIC + "System is deadlocked on memory", -6, "ran out of memory"),
        (PANIC + "Attempted to kill init! exitcode=0x00000100", -6, r"agent .* died \(0x00000100\)"),
        (PANIC + "BUG: it broke", -6, r"panicked \(BUG: it broke\)"),
        (f"userspace - ptrace set fp regs failed, errno = 14\n{PANIC}x", -6, r"without the cure .*\(AMX"),
        ("", -31, "seccomp filter"),
        ("", -9, "out-of-memory killer"),
        ("", -25, "ulimit -f"),
        ("", -11, "signal SIGSEGV"),
        ("", 7, "exit status 7"),
    ],
)
def test_last_words_become_one_message(tmp_path, console, returncode, says):
    error = diagnose.failure(returncode, console, None, tmp_path, tmp_path / "console.txt")
    if says is None:
        assert error is None
    else:
        assert error is not None
        with pytest.raises(type(error), match=says):
            raise error


def test_a_failure_ends_with_the_consoles_last_lines_and_not_with_what_is_for_machines(tmp_path):
    registers = "RAX: 0000000000000000 RBX: 0000000000000001 RCX: 00000000600d1c2a"
    console = "\n".join(
        [
            'leowarp: {"t_ns": 1000000000}',
            "first word",
            *(f"word {n}" for n in range(20)),
            "",
            registers,
            PANIC + "BUG: x",
        ]
    )
    error = diagnose.failure(-6, console, None, tmp_path, tmp_path / "console.txt")
    first, *words = error.message.splitlines()
    assert first.startswith("the guest kernel panicked (BUG: x). The guest's last words (all of them in ")
    assert len(words) == diagnose.LAST_WORDS
    assert words[-2:] == ["    word 19", f"    {PANIC}BUG: x"]
    assert "first word" not in error.message


def test_the_line_that_says_the_cause_is_shown_however_much_follows_it(tmp_path):
    console = "\n".join(["/dev/shm must be not mounted noexec", *("and so on" for _ in range(100))])
    error = diagnose.failure(1, console, None, tmp_path, tmp_path / "console.txt")
    words = error.message.splitlines()[1:]
    assert words[0] == "    /dev/shm must be not mounted noexec"
    assert len(words) == diagnose.LAST_WORDS


def test_a_guest_that_printed_nothing_is_said_to_have(tmp_path):
    error = diagnose.failure(7, 'leowarp: {"t_ns": 5}\n', None, tmp_path, tmp_path / "console.txt")
    assert error.message == (
        f"the guest kernel ended with exit status 7; the guest printed nothing else ({tmp_path / 'console.txt'})"
    )
