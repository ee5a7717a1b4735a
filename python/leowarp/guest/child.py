# SPDX-License-Identifier: Apache-2.0
"""The process of a guest's kernel, of which the host counts what it uses from its first instant to its last."""

from __future__ import annotations

import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from leowarp.errors import HostError
from leowarp.guest.own_time import POLL_S
from leowarp.guest.watch import members_of_session


class Child:
    """A program in a session of its own that dies with this process; `launch.py` starts it.

    Parameters
    ----------
    command : sequence of str
        An absolute path, and arguments.
    directory : Path
        Where it works.
    environment : mapping
        All of its environment.
    output : Path
        File for all that it prints.
    descriptors : mapping of int to int
        Descriptors of this process that it gets beside the standard ones, each with its number there.

    Attributes
    ----------
    pid : int
    returncode : int, optional
        Once it was reaped: its exit status, or less the signal that ended it.
    rusage : resource.struct_rusage, optional
        Likewise: what it used. `ru_maxrss` is its largest resident size in KiB as the host's kernel counted it; what
        is less than the launcher's own 7 MiB is told as those.

    Raises
    ------
    HostError
        If the host lets no such process be made.
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
        # The guest's process id comes back through a pipe: it is the launcher's sibling, so Popen does not know it.
        answer, pipe = os.pipe()
        told = b""
        try:
            self._launcher = _launched(command, directory, environment, output, pipe, descriptors or {})
            try:
                while piece := os.read(answer, 64):
                    told += piece
            except BaseException:
                # An interruption. Whoever was made tells its process id before it does anything else.
                self._end_launcher()
                while piece := os.read(answer, 64):
                    told += piece
                if told:
                    self.pid = int(told)
                    self.end()
                raise
        finally:
            os.close(answer)
        if not told:
            self._end_launcher()
            *_, why = ["no word of the launcher", *output.read_text(errors="replace").strip().splitlines()]
            raise HostError(f"starting {command[0]}: {why}")
        self.pid = int(told)
        # A descriptor that is readable once the process has ended: select waits for it without polling or reaping.
        self._ended = os.pidfd_open(self.pid)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def has_ended(self, timeout_s: float) -> bool:
        """Whether it has ended; waits for that, but not longer than this.

        Parameters
        ----------
        timeout_s : float
            By the clock on the wall; 0 asks and does not wait.
        """
        assert self._ended is not None
        return bool(select.select([self._ended], [], [], timeout_s)[0])

    def reap(self) -> resource.struct_rusage:
        """Waits for its end; returns all that it used."""
        if self.rusage is None:
            _, status, self.rusage = os.wait4(self.pid, 0)
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.rusage

    def end(self) -> None:
        """Kill it if it still runs; returns once nothing of its session runs any more."""
        if self.rusage is None:
            # SIGKILL: a guest that is stuck need not obey anything milder.
            os.kill(self.pid, signal.SIGKILL)
            self.reap()
        if self._ended is not None:
            os.close(self._ended)
            self._ended = None
        # The processes of a guest die with their tracer (PTRACE_O_EXITKILL), as soon as the host gets round to it.
        for pid in members_of_session(self.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while members_of_session(self.pid):
            time.sleep(POLL_S)
        self._end_launcher()

    def _end_launcher(self) -> None:
        """The launcher has nothing left to end, or nothing yet."""
        self._launcher.kill()
        self._launcher.wait()


def _launched(
    command: Sequence[str],
    directory: Path,
    environment: Mapping[str, str],
    output: Path,
    pipe: int,
    descriptors: Mapping[int, int],
) -> subprocess.Popen[bytes]:
    """The launcher, started; the writing end of the pipe is closed here, so that reading ends when the child has
    written.
    """
    launcher = Path(__file__).with_name("launch.py")
    # -I and -S: no site-packages, no user's settings. The launcher stays small, and its size is what peak memory begins
    # at.
    pairs = ",".join(f"{own}:{number}" for own, number in descriptors.items())
    words = [sys.executable, "-I", "-S", str(launcher), str(os.getpid()), str(pipe), pairs, *command]
    try:
        with output.open("wb") as file:
            return subprocess.Popen(
                words, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=file,
                stderr=subprocess.STDOUT, pass_fds=[pipe, *descriptors], start_new_session=True,
            )  # fmt: skip
    finally:
        os.close(pipe)
