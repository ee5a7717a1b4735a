# SPDX-License-Identifier: Apache-2.0
"""The process of a guest's kernel. The host counts the resources of this process from its start to its end."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from leowarp.base.errors import HostError
from leowarp.guest.boot.watch import members_of_session
from leowarp.guest.machine.own_time import POLL_S


class Child:
    """A program in its own session. `launch.py` starts the program. The program dies with the leowarp process.

    command: The absolute path of the program, and its arguments.
    environment: The complete environment of the program.
    output: The file for everything that the program prints.
    descriptors: The descriptors of this process that the program gets in addition to the standard ones. The keys are
        the numbers in this process. The values are the numbers in the program.
    returncode: The exit status of the program, or the negative number of the signal that ended it. None until the
        process is reaped.
    rusage: The resources that the process used. None until the process is reaped. `ru_maxrss` is the process's largest
        resident size in KiB, as counted by the host's kernel, and at least the launcher's 10 MiB.
    Raises HostError if the host does not allow the process to start.
    """

    def __init__(
        self,
        command: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        output: Path,
        descriptors: Mapping[int, int] | None = None,
    ) -> None:
        self.returncode: int | None = None
        self.rusage: resource.struct_rusage | None = None
        self._ended: int | None = None
        # The new process sends its process id through a pipe. The pipe's write end closes when the process calls exec.
        answer, pipe = os.pipe()
        told, launcher, others = b"", _launcher(), descriptors or {}
        request = {
            "command": list(command), "directory": str(directory), "environment": dict(environment),
            "numbers": list(others.values()),
        }  # fmt: skip
        try:
            try:
                with output.open("wb") as file:
                    launcher.ask(request, [file.fileno(), pipe, *others])
            finally:
                os.close(pipe)
            try:
                while piece := os.read(answer, 64):
                    told += piece
            except BaseException:
                # Reading was interrupted, for instance by Ctrl-C. The new process may already be running. Its id is
                # therefore still read. A new process sends its id before it does anything else.
                launcher.end()
                while piece := os.read(answer, 64):
                    told += piece
                if told:
                    self.pid = int(told)
                    self.end()
                raise
        finally:
            os.close(answer)
        if not told:
            words = [*launcher.end().splitlines(), *output.read_text(errors="replace").splitlines()]
            raise HostError(f"starting {command[0]}: {words[-1] if words else 'no word of the launcher'}")
        self.pid = int(told)
        # The pidfd becomes readable when the process has ended, so select can wait for the end without polling or
        # reaping.
        self._ended = os.pidfd_open(self.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def has_ended(self, timeout_s: float) -> bool:
        """Wait at most `timeout_s` of real time for the end of the process, and return whether it has ended."""
        assert self._ended is not None
        return bool(select.select([self._ended], [], [], timeout_s)[0])

    def reap(self) -> resource.struct_rusage:
        """Wait for the end of the process, and return all resources that it used."""
        if self.rusage is None:
            _, status, self.rusage = os.wait4(self.pid, 0)
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.rusage

    def end(self) -> None:
        """Kill the process if it still runs, and wait until all processes of its session have ended."""
        if self.rusage is None:
            # SIGKILL, because a guest that is stuck may ignore milder signals.
            os.kill(self.pid, signal.SIGKILL)
            self.reap()
        if self._ended is not None:
            os.close(self._ended)
            self._ended = None
        # The host kills the processes of a guest when it handles the death of their tracer (PTRACE_O_EXITKILL).
        # Usually, no process of the session remains, and `killpg` raises an error.
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
            while members_of_session(self.pid):
                time.sleep(POLL_S)


class _Launcher:
    """A running `launch.py`. It starts guests as children of the leowarp process. The launcher ends when `end` is
    called, or when this object is garbage-collected."""

    def __init__(self) -> None:
        own, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # The options -I and -S start Python without site-packages and without the user's settings. They also keep the
        # launcher small, because a guest's peak memory is at least as large.
        words = [sys.executable, "-I", "-S", str(Path(__file__).with_name("launch.py")), str(os.getpid())]
        with theirs:
            process = subprocess.Popen(
                words, cwd="/", env={}, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        self._socket, self._owner_pid = own, os.getpid()
        self._finish = weakref.finalize(self, _finished, self._owner_pid, process, own)

    @property
    def serves(self) -> bool:
        """Whether this process can use the launcher. The launcher must still run, and this process must have started
        it. A forked child process inherits this object, but cannot use the launcher."""
        return self._finish.alive and self._owner_pid == os.getpid()

    def ask(self, request: Mapping[str, Any], descriptors: Sequence[int]) -> None:
        # If the launcher has died, the caller gets no answer, but can still read the launcher's last output.
        with suppress(BrokenPipeError, ConnectionResetError):
            socket.send_fds(self._socket, [json.dumps(request).encode()], descriptors)

    def end(self) -> str:
        """End the launcher if it still runs, and return its last output."""
        return self._finish() or ""


def _finished(owner_pid: int, process: subprocess.Popen[bytes], own: socket.socket) -> str:
    own.close()
    if os.getpid() != owner_pid:
        return ""
    process.kill()
    _, words = process.communicate()
    return words.decode(errors="replace")


def _launcher() -> _Launcher:
    """Return the launcher of this thread. Guests die when the thread that started their launcher ends (prctl(2)), so
    each thread has its own launcher."""
    if _OF_THREAD.launcher is None or not _OF_THREAD.launcher.serves:
        _OF_THREAD.launcher = _Launcher()
    return _OF_THREAD.launcher


class _OfThread(threading.local):
    launcher: _Launcher | None = None


_OF_THREAD = _OfThread()
