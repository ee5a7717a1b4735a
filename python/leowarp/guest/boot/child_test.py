# SPDX-License-Identifier: Apache-2.0
"""Tests of `Child` with a program in place of the guest's kernel."""

import os
import select
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from leowarp.base.errors import HostError
from leowarp.guest.boot import child as children
from leowarp.guest.boot.child import Child
from support.waiting import wait_until, wait_until_gone

MIB = 1 << 20


@pytest.fixture
def start(tmp_path):
    """Start a Python program in the same way as a guest's kernel."""
    started = []

    def run(text, environment=None):
        started.append(Child([sys.executable, "-S", "-c", text], tmp_path, environment or {}, tmp_path / "console"))
        return started[-1]

    yield run
    for each in started:
        each.end()


@pytest.mark.parametrize("mib", [32, 256])
def test_the_peak_of_memory_is_the_programs_own_however_short_its_life(start, mib):
    # The array `big` raises the peak memory of the test's own process. The child's result must not include that peak.
    big = bytearray(128 * MIB)
    rusage = start(f"bytearray({mib} << 20)").reap()
    assert mib * MIB < rusage.ru_maxrss * 1024 < (mib + 32) * MIB
    assert len(big) > 0


def test_it_works_where_it_is_told_with_nothing_but_its_environment(start, tmp_path):
    text = "import os; print(os.getcwd(), dict(os.environ), os.getsid(0) == os.getpid(), os.listdir('/proc/self/fd'))"
    child = start(text, {"LC_ALL": "C"})
    usage = child.reap()
    # The test adds user and system time, because a short process may have spent all its time in the kernel.
    assert usage.ru_utime + usage.ru_stime > 0
    assert child.returncode == 0
    # The program itself opens descriptor 3, to list the directory.
    assert (tmp_path / "console").read_text() == f"{tmp_path} {{'LC_ALL': 'C'}} True ['0', '1', '2', '3']\n"


def test_it_is_ended_with_all_of_its_session(start):
    child = start("import os, time; os.fork(); time.sleep(3600)")
    assert not child.has_ended(0.0)
    child.end()
    assert child.returncode == -signal.SIGKILL
    assert not children.members_of_session(child.pid)
    child.end()


# The program in `STOPPED_CHILD` asks to be traced (PTRACE_TRACEME is 0) and stops. The child in start_ptraced_child
# (arch/um/os-Linux/start_up.c) does the same before the kernel sets PTRACE_O_EXITKILL. If the parent is killed before
# it collects the stop, the child stays stopped.
STOPPED_CHILD = """
import ctypes, os, signal, time
if (pid := os.fork()) == 0:
    ctypes.CDLL(None).ptrace(0, 0, 0, 0)
    os.kill(os.getpid(), signal.SIGSTOP)
os.waitid(os.P_PID, pid, os.WSTOPPED | os.WNOWAIT)
print(flush=True)
time.sleep(3600)
"""


@pytest.mark.slow
@pytest.mark.parametrize("text", ["print(flush=True); import time; time.sleep(3600)", STOPPED_CHILD])
def test_it_dies_with_its_parent_and_so_does_its_session(spawn, tmp_path, text):
    script = f"""
import sys
from pathlib import Path
from leowarp.guest.boot.child import Child
child = Child([sys.executable, "-S", "-c", {text!r}], Path("."), {{}}, Path("console"))
print(child.pid, flush=True)
input()
"""
    parent = spawn([sys.executable, "-c", script], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    pid = int(parent.stdout.readline())
    wait_until((tmp_path / "console").read_text, parent)
    parent.kill()
    parent.wait()
    wait_until_gone(lambda: children.members_of_session(pid))


@pytest.fixture
def launchers(monkeypatch):
    """The launchers that the test started. The fixture first ends this thread's launcher."""
    children._launcher().end()

    class Kept(subprocess.Popen):
        def __init__(self, *arguments, **settings):
            super().__init__(*arguments, **settings)
            kept.append(self)

    kept = []
    monkeypatch.setattr(children.subprocess, "Popen", Kept)
    return kept


def held(launcher):
    """Return the open descriptors of a launcher. Its own socket and the pipe for its last output are left out."""
    names = [str(each.readlink()) for each in Path(f"/proc/{launcher.pid}/fd").iterdir()]
    return [name for name in names if not name.startswith(("socket:", "pipe:"))]


def test_a_launcher_holds_nothing_of_its_guests_but_their_ends(start, launchers):
    first, second = (start("import time; time.sleep(3600)") for _ in range(2))
    [launcher] = launchers
    assert Path(f"/proc/{launcher.pid}/cwd").readlink() == Path("/")
    # A launcher has one pidfd for its parent and one for each of the two guests.
    wait_until(lambda: sorted(held(launcher)) == ["/dev/null", *["anon_inode:[pidfd]"] * 3], launcher)
    os.kill(first.pid, signal.SIGKILL)
    wait_until(lambda: sorted(held(launcher)) == ["/dev/null", *["anon_inode:[pidfd]"] * 2], launcher)
    assert not second.has_ended(0.0)


def test_a_launcher_ends_what_a_guest_has_left(start, launchers):
    child = start("import os, time; os.fork() or time.sleep(3600)")
    child.reap()
    wait_until_gone(lambda: children.members_of_session(child.pid))


def test_a_launcher_ends_with_its_thread(tmp_path, launchers):
    def work():
        with Child([sys.executable, "-S", "-c", ""], tmp_path, {}, tmp_path / "console") as child:
            child.reap()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    start_of_this_thread = Child([sys.executable, "-S", "-c", ""], tmp_path, {}, tmp_path / "console")
    start_of_this_thread.end()
    of_thread, _ = launchers
    assert of_thread.poll() is not None


def test_a_launcher_that_was_killed_is_replaced(start, launchers):
    start("").reap()
    launchers[0].kill()
    launchers[0].wait()
    with pytest.raises(HostError, match="no word of the launcher"):
        start("")
    assert start("").reap() is not None
    assert len(launchers) == 2


def test_an_interruption_while_it_starts_leaves_no_process(tmp_path, monkeypatch, launchers):
    def interrupted(descriptor, size):
        # Popen reads before `launchers` has an entry. `interrupted` passes these reads on.
        if launchers and not reads:
            reads.append(descriptor)
            # The test waits until the program's process id can be read, and then raises KeyboardInterrupt.
            select.select([descriptor], [], [])
            raise KeyboardInterrupt
        return read(descriptor, size)

    def ended(child):
        ends.append(child.pid)
        end(child)

    reads, read, ends, end = [], os.read, [], Child.end
    monkeypatch.setattr(children.os, "read", interrupted)
    monkeypatch.setattr(Child, "end", ended)
    command = [sys.executable, "-S", "-c", "import time; time.sleep(3600)"]
    with pytest.raises(KeyboardInterrupt):
        Child(command, tmp_path, {}, tmp_path / "console")
    [program] = ends
    [launcher] = launchers
    # The test compares process ids, because a test process may have other children, such as a resource tracker.
    for pid in (launcher.pid, program):
        with pytest.raises(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
    assert not children.members_of_session(program)


def test_a_launcher_that_fails_is_quoted(tmp_path, monkeypatch):
    (tmp_path / "launch.py").write_text("raise OSError(1, 'clone(CLONE_PARENT)')")
    children._launcher().end()
    monkeypatch.setattr(children, "__file__", str(tmp_path / "child.py"))
    with pytest.raises(HostError, match=r"starting /bin/true: .*clone\(CLONE_PARENT\)"):
        Child(["/bin/true"], tmp_path, {}, tmp_path / "console")


def test_a_program_that_cannot_be_started_says_why_on_its_console(tmp_path):
    with Child([str(tmp_path / "absent")], tmp_path, {}, tmp_path / "console") as child:
        child.reap()
        assert child.returncode == 1
    assert "No such file or directory" in (tmp_path / "console").read_text()
