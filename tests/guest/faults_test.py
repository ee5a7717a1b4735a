# SPDX-License-Identifier: Apache-2.0
"""Tests that every fault in the guest or around it ends the run with one clear message, and leaves no process
behind."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import leowarp as lw
from leowarp import report
from leowarp.base.errors import GuestError, HostError
from leowarp.guest import GuestImage, GuestProgress
from leowarp.guest.boot.standstill import Patience
from support.waiting import wait_until, wait_until_gone
from support.without_ptrace import NO_PTRACE

pytestmark = pytest.mark.guest

MIB = 1 << 20


def guests_in(directory: Path) -> list[int]:
    """Return the ids of the processes whose working directory is `directory`."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            if Path(os.readlink(f"/proc/{entry}/cwd")) == directory.resolve():
                found.append(int(entry))
        except OSError:
            continue
    return found


def test_a_good_guest_gives_its_end_its_cost_and_its_progress(drive_fault, guest_directory):
    seen: list[GuestProgress] = []
    result = drive_fault("none", on_progress=seen.append)
    assert result.end["virtual_ns"] == 3_000_000_000
    assert result.out_dir == guest_directory / "out"
    assert result.cpu_s > 0
    # The kernel's program needs more than 7 MiB, so a smaller peak would be the memory of the launching process.
    assert 10 * MIB < result.peak_memory_bytes < 128 * MIB
    assert guests_in(guest_directory) == []
    result.discard()
    assert not guest_directory.exists()


@pytest.mark.parametrize(
    ("fault", "error", "says"),
    [
        ("no-end", GuestError, r"ended after 2 s of 3 s without out/end\.json"),
        ("not-ok", GuestError, "does not say ok"),
        ("exit", GuestError, r"the agent inside the guest died \(0x00000300\)"),
        ("crash", GuestError, r"the agent inside the guest died \(0x0000000b\)"),
        ("memory-of-init", GuestError, r"ran out of memory"),
        ("memory-of-child", GuestError, r"ran out of memory \(init\)"),
        ("report", GuestError, "the guest reports: cannot do it"),
        ("flood", GuestError, "printed more than 16 MiB"),
    ],
)
def test_a_fault_of_the_guest_is_named(drive_fault, guest_directory, fault, error, says):
    with pytest.raises(error, match=says) as caught:
        drive_fault(fault)
    assert "console.txt" in str(caught.value) or fault in ("not-ok",)
    assert guests_in(guest_directory) == []


def test_a_warning_of_a_kernel_without_modules_is_seen(drive_fault):
    (told,) = drive_fault("warning").kernel_warnings
    assert ": net/ipv4/tcp.c:7 in tcp_close; its state may be wrong from there on" in told
    assert drive_fault("none").kernel_warnings == ()


def test_memory_errors_say_what_to_type(drive_fault):
    with pytest.raises(GuestError) as caught:
        drive_fault("memory-of-child")
    assert "guest.memory" in caught.value.hint


def test_a_hint_of_the_agent_is_passed_on(drive_fault):
    with pytest.raises(GuestError) as caught:
        drive_fault("report")
    assert caught.value.hint == "do something else"


@pytest.mark.parametrize(
    ("fault", "calls", "hint"),
    [
        ("spin", "it has made no system call since", "let it block"),
        ("call-in-child", r"its last system calls of \d{4,} since: getpid(, getpid){7}\b", "read the clock"),
        ("poll-in-child", r"its last system calls of \d{4,} since: poll(, poll){7}\b", "no longer ask for"),
    ],
)
def test_a_program_that_never_sleeps_is_found_and_named(drive_fault, guest_directory, fault, calls, hint):
    says = r"virtual time stopped at .* s after boot.*on its processor: init; " + calls
    with pytest.raises(GuestError, match=says) as caught:
        drive_fault(fault, patience=Patience(frozen_cpu_s=2))
    assert hint in caught.value.hint
    assert guests_in(guest_directory) == []


def test_a_guest_that_sleeps_for_ever_is_found(drive_fault):
    with pytest.raises(GuestError, match="the agent has said nothing for 600 virtual seconds"):
        drive_fault("sleep")


def test_memory_too_small_to_boot_in(drive_fault):
    with pytest.raises(GuestError, match=r"memory is too small to boot in|ran out of memory|panicked"):
        drive_fault("none", memory_bytes=8 * MIB)


def test_an_interrupt_ends_the_guest(drive_fault, guest_directory):
    def interrupt(progress: GuestProgress) -> None:
        if progress.virtual_ns:
            assert guests_in(guest_directory)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        drive_fault("endless", on_progress=interrupt)
    assert guests_in(guest_directory) == []


DRIVER = """
import sys
from pathlib import Path
from leowarp.base.errors import LeowarpError
from leowarp.guest import GuestImage, drive
kernel, init, directory, memory_mib = sys.argv[1:5]
directory = Path(directory)
try:
    image = GuestImage(Path(kernel), Path(init))
    result = drive(image, directory, directory / "console.txt", duration_ns=3_000_000_000, seed=1,
                   memory_bytes=int(memory_mib) << 20)
    print("end", result.end["ok"])
except LeowarpError as error:
    print(f"{type(error).__name__}: {error}")
    sys.exit(error.exit_code)
"""


@pytest.fixture
def driver(spawn):
    """A function that starts a guest from a separate process. `before` contains words to put in front of the process's
    command."""

    def start(image: GuestImage, directory: Path, fault: str, before: Sequence[str] = (), memory_mib: int = 96):
        (directory / "in").mkdir(exist_ok=True)
        (directory / "in" / "fault").write_text(fault)
        command = [*before, sys.executable, "-c", DRIVER, image.kernel, image.agent, directory, memory_mib]
        return spawn(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    return start


def outcome(process: subprocess.Popen) -> tuple[int, str]:
    """Return the exit status and output of a process that `driver` has started."""
    output, _ = process.communicate()
    return process.returncode, output


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_guest_dies_with_its_parent(driver, fault_image, guest_directory, number):
    parent = driver(fault_image, guest_directory, "endless")
    console = guest_directory / "console.txt"
    wait_until(lambda: console.exists() and b"t_ns" in console.read_bytes(), parent)
    assert len(guests_in(guest_directory)) >= 2
    parent.send_signal(number)
    parent.communicate()
    assert parent.returncode != 0
    wait_until_gone(lambda: guests_in(guest_directory))


def test_a_guest_killed_from_outside_is_blamed_on_the_host(driver, fault_image, guest_directory):
    parent = driver(fault_image, guest_directory, "endless")
    console = guest_directory / "console.txt"
    wait_until(lambda: console.exists() and b"t_ns" in console.read_bytes(), parent)
    (kernel,) = (pid for pid in guests_in(guest_directory) if os.getsid(pid) == pid)
    os.kill(kernel, signal.SIGKILL)
    status, output = outcome(parent)
    assert status == HostError.exit_code
    assert "killed from outside" in output


def test_without_ptrace_the_message_says_so_before_anything_boots(driver, fault_image, guest_directory):
    status, output = outcome(driver(fault_image, guest_directory, "none", [sys.executable, "-c", NO_PTRACE]))
    assert status == HostError.exit_code
    assert "ptrace(PTRACE_TRACEME): Operation not permitted" in output
    assert "--cap-add=SYS_PTRACE" in output
    assert not (guest_directory / "console.txt").exists()


def test_everything_that_is_lacking_is_said_at_once(driver, fault_image, guest_directory):
    before = ["sh", "-c", 'ulimit -f 1000; ulimit -v 2000000; exec "$0" "$@"', sys.executable, "-c", NO_PTRACE]
    status, output = outcome(driver(fault_image, guest_directory, "none", before, memory_mib=1 << 24))
    assert status == HostError.exit_code
    for lacking in ("ulimit -f", "ulimit -v", "ptrace", "a place for the guest's memory", "MiB available"):
        assert lacking in output


def in_own_mounts(script: str) -> list[str]:
    """Return words to put before a command. With these words before it, the command can mount its own file systems."""
    # `unshare` is possible for root, or for root of a new user namespace. A container may forbid both uses of
    # `unshare`.
    for unshare in (["unshare", "-m"], ["unshare", "-Urm"]):
        probe = [*unshare, "mount", "-t", "tmpfs", "none", "/var/tmp"]
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return [*unshare, "sh", "-e", "-c", f'{script}; exec "$0" "$@"']
    pytest.skip("this container forbids mounts, with which file systems are made full, tiny or noexec")


@pytest.mark.parametrize("options", ["noexec", "size=64k"])
def test_a_noexec_or_tiny_shared_memory_is_passed_over(driver, fault_image, guest_directory, options):
    before = in_own_mounts(f"mount -t tmpfs -o {options} none /dev/shm")
    status, output = outcome(driver(fault_image, guest_directory, "none", before))
    assert (status, output) == (0, "end True\n")


def test_no_place_for_the_memory_is_an_error_that_lists_each(driver, fault_image, tmp_path):
    # The command will see only this file system, so the program and its directory must be on it.
    directory = tmp_path / "small"
    directory.mkdir()
    places = ("/dev/shm", "/var/tmp")
    if any(Path(used).resolve().is_relative_to(place) for used in (sys.prefix, lw.__file__) for place in places):
        pytest.skip("this checkout lies in a directory that the test hides")
    mounts = "; ".join(f"mount -t tmpfs -o size=64k none {place}" for place in places)
    mounts += f"; export TMPDIR=/nonexistent; mount -t tmpfs -o size=70m none {directory}; mkdir {directory}/in"
    status, output = outcome(driver(fault_image, directory, "none", in_own_mounts(mounts), memory_mib=1 << 24))
    assert status == HostError.exit_code
    assert "/nonexistent does not exist" in output
    assert "/dev/shm has 0 MiB free" in output
    assert "set TMPDIR" in output


def test_a_full_disk_is_said_whatever_else_happens(driver, fault_image, tmp_path):
    directory = tmp_path / "small"
    directory.mkdir()
    mounts = f"mount -t tmpfs -o size=70m none {directory}; mkdir {directory}/in; printf disk > {directory}/in/fault"
    status, output = outcome(driver(fault_image, directory, "none", in_own_mounts(mounts)))
    assert status == HostError.exit_code, output
    assert f"the file system of {directory} is full" in output


def test_an_unwritable_home_and_an_odd_environment_do_not_matter(driver, fault_image, guest_directory):
    before = ["env", "-i", "HOME=/nonexistent", "PATH=/usr/bin:/bin"]
    assert outcome(driver(fault_image, guest_directory, "none", before)) == (0, "end True\n")


def test_a_missing_kernel_is_a_clear_error(driver, fault_image, guest_directory):
    image = GuestImage(Path("/nonexistent/linux"), fault_image.agent)
    status, output = outcome(driver(image, guest_directory, "none"))
    assert status == HostError.exit_code
    assert "/nonexistent/linux is not there" in output
    assert "leowarp kernel build" in output


def test_patience_has_defaults_that_building_a_whole_constellation_does_not_reach():
    # building a constellation of 72 x 22 satellites takes 6.3 s of processor time, in which virtual time hardly
    # advances
    assert Patience().frozen_cpu_s >= 5 * 6.3


def test_a_report_that_fails_costs_nobody_the_run(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise ValueError("a figure's fault")

    monkeypatch.setattr(report, "write_report", broken)
    scenario = Path(__file__).parents[2] / "examples" / "chain.toml"
    with pytest.raises(ValueError, match="a figure's fault"):
        lw.run(scenario, {"run.duration": "1 s"}, tmp_path / "run", progress=False)
    monkeypatch.undo()
    assert lw.open(tmp_path / "run").summary["flows"]
    assert report.write_report(tmp_path / "run").exists()
