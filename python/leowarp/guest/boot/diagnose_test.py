# SPDX-License-Identifier: Apache-2.0
import pytest

from leowarp.guest.boot import diagnose

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
        (f"userspace - ptrace set regs failed, errno = 3\n{PANIC}x", -6, "killed from outside"),
        (f"userspace - ptrace continue failed, op = 31, errno = 3\n{PANIC}x", -6, "killed from outside"),
        (f"userspace - ptrace continue failed, op = 31, errno = 1\n{PANIC}x", -6, "forbids ptrace"),
        (f"userspace - ptrace continue failed, op = 31, errno = 38\n{PANIC}x", -6, "forbids ptrace"),
        (
            "wait_stub_done : failed to wait for SIGTRAP, pid = 7, n = 7, errno = 0, status = 0x9",
            -6,
            "killed from outside",
        ),
        ("wait_stub_done : failed to wait for SIGTRAP, pid = 7, n = 7, errno = 0, status = 0xb7f", -6, "report it"),
        ("", -31, "seccomp filter"),
        ("", -9, "out-of-memory killer"),
        ("", -25, "ulimit -f"),
        ("", -11, "signal SIGSEGV"),
        ("", 7, "exit status 7"),
    ],
)
def test_last_words_become_one_message(tmp_path, console, returncode, says):
    error = diagnose.failure(returncode, None, diagnose.Words(console, tmp_path / "console.txt", tmp_path))
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
    error = diagnose.failure(-6, None, diagnose.Words(console, tmp_path / "console.txt", tmp_path))
    first, *words = error.message.splitlines()
    assert first.startswith("the guest kernel panicked (BUG: x). The guest's last words (all of them in ")
    assert len(words) == diagnose.LAST_WORDS
    assert words[-2:] == ["    word 19", f"    {PANIC}BUG: x"]
    assert "first word" not in error.message


def test_the_line_that_says_the_cause_is_shown_however_much_follows_it(tmp_path):
    console = "\n".join(["/dev/shm must be not mounted noexec", *("and so on" for _ in range(100))])
    error = diagnose.failure(1, None, diagnose.Words(console, tmp_path / "console.txt", tmp_path))
    words = error.message.splitlines()[1:]
    assert words[0] == "    /dev/shm must be not mounted noexec"
    assert len(words) == diagnose.LAST_WORDS


@pytest.mark.parametrize(
    ("console", "says", "hint"),
    [
        (
            "RIP: 0033:my_cc+0x1/0x2 [mine]\nRAX: 0000000000000000\n" + PANIC + "Kernel mode signal 8",
            "panicked in my_cc of the module mine (a division by zero, or a quotient that does not fit: Kernel mode",
            "fix the module mine",
        ),
        (PANIC + "Kernel mode signal 8", "panicked, with the module mine loaded (a division by zero", "your module"),
        (
            PANIC + "Kernel mode signal 4",
            "panicked, with the module mine loaded (an invalid instruction",
            "your module",
        ),
        (
            "RIP: 0033:my_cc+0x1/0x2 [mine]\n" + PANIC + "Kernel mode fault at addr 0x8, ip 0x1",
            "panicked in my_cc of the module mine (a null pointer: Kernel mode fault at addr 0x8",
            "fix the module mine",
        ),
        (
            "RIP: 0033:tcp_ack+0x1/0x2\n" + PANIC + "Kernel mode fault at addr 0x8000, ip 0x1",
            "panicked in tcp_ack, with the module mine loaded (a bad pointer: Kernel mode fault at addr 0x8000",
            "your module passes",
        ),
        (
            "BUG: failure at mine.c:9/my_cc()!\n" + PANIC + "BUG!",
            "panicked at mine.c:9 in my_cc of the module mine (BUG!)",
            "fix the module mine",
        ),
        ("", "ended with signal SIGABRT, with the module mine loaded", "a stack that overflows"),
    ],
)
def test_a_panic_names_place_reason_and_module(tmp_path, console, says, hint):
    words = diagnose.Words(console, tmp_path / "console.txt", tmp_path, modules=["mine"])
    error = diagnose.failure(-6, None, words)
    assert error is not None
    assert says in error.message
    assert hint in error.hint


def test_what_the_kernel_complained_of_before_is_told(tmp_path):
    complaints = ["the guest's kernel printed a warning", "and another"]
    words = diagnose.Words("", tmp_path / "console.txt", tmp_path, complaints=complaints)
    for error in (diagnose.failure(-6, None, words), diagnose.failure(0, {"error": "no", "hint": None}, words)):
        assert error is not None
        assert "; before that, the guest's kernel printed a warning; the guest printed nothing else" in error.message


def test_a_guest_that_printed_nothing_is_said_to_have(tmp_path):
    error = diagnose.failure(7, None, diagnose.Words('leowarp: {"t_ns": 5}\n', tmp_path / "console.txt", tmp_path))
    assert error.message == (
        f"the guest kernel ended with exit status 7; the guest printed nothing else ({tmp_path / 'console.txt'})"
    )


@pytest.mark.parametrize("console", ["", "last word"])
def test_a_console_that_is_removed_is_not_named(tmp_path, console):
    error = diagnose.failure(7, None, diagnose.Words(console, None, tmp_path))
    assert "None" not in error.message
    assert "all of them" not in error.message
