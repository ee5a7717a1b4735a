# SPDX-License-Identifier: Apache-2.0
"""Runs other programs: make, which starts compilers, and programs with a short output."""

import os
import selectors
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from leowarp.base.errors import HostError
from leowarp.guest.machine.own_time import POLL_S, OwnTime

MOST_SAID_BYTES = 8 << 20
"""The limit of a program's output in bytes, far above the length of a version line or a configuration. A program that
prints more is ended."""
MOST_S = 20.0
"""The limit of a program's own time (`OwnTime`) in s. A limit in real time could end a correct program on a busy
machine."""


def output_of(*command: str) -> str:
    """Return the standard output of a program. The user may name any program. Its time and the size of its output are
    therefore limited.

    Raises HostError if the program is missing, fails, prints more than `MOST_SAID_BYTES`, or has used `MOST_S` of its
        own time (`OwnTime`). If the program fails, its stderr becomes the error's message.
    """
    attempted = f"asking `{' '.join(command)}`"
    try:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
    except FileNotFoundError as error:
        raise HostError(f"{attempted}: it is not on the PATH", hint="leowarp doctor") from error
    except (OSError, ValueError) as error:
        raise HostError(f"{attempted}: it cannot be started ({error})", hint="leowarp doctor") from error
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        said, complained = _heard(process, attempted)
    finally:
        # It is safe to signal a process only before it has been waited for. Until then, its id cannot belong to another
        # process.
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.stderr.close()
        process.wait()
    if process.returncode != 0:
        raise HostError(f"{attempted}: {complained.strip() or f'it ended with {process.returncode}'}", "leowarp doctor")
    return said


def _heard(process: "subprocess.Popen[bytes]", attempted: str) -> tuple[str, str]:
    """Return the standard output and standard error of a process, once it has ended and `returncode` is set."""
    assert process.stdout is not None
    assert process.stderr is not None
    # Both pipes are read at the same time. Otherwise, a program that fills the unread pipe would wait for ever.
    outputs = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    own = OwnTime([process.pid])
    with selectors.DefaultSelector() as open_ends:
        for end in outputs:
            open_ends.register(end, selectors.EVENT_READ)
        while open_ends.get_map() or process.poll() is None:
            it_runs = own.look()
            # A program may have closed both outputs and still run. The wait is at most 1 s, so that the program's own
            # time is checked even while it prints nothing.
            ready = open_ends.select(1.0 if open_ends.get_map() else POLL_S)
            # A program that has ended has closed its outputs. However, a process that it started may keep these outputs
            # open, perhaps for ever.
            if own.total_s > MOST_S or (open_ends.get_map() and not it_runs and not ready):
                raise HostError(
                    f"{attempted}: it has not ended, or not what it started", hint="is it the right program?"
                )
            for key, _ in ready:
                piece = os.read(key.fd, 1 << 16)
                outputs[key.fd] += piece
                if not piece:
                    open_ends.unregister(key.fd)
                if len(outputs[key.fd]) > MOST_SAID_BYTES:
                    raise HostError(
                        f"{attempted}: it prints more than {MOST_SAID_BYTES >> 20} MiB", hint="is it the right program?"
                    )
    said, complained = outputs.values()
    return said.decode(errors="replace"), complained.decode(errors="replace")


@contextmanager
def own_session(
    command: Sequence[str],
    *,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stdout: IO[str] | int = subprocess.PIPE,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator["subprocess.Popen[str]"]:
    """Start a program and yield it. Its standard output and standard error are one text stream. At the end of the
    `with` block, the program and all processes that it started are ended.

    The processes are also ended if the block ends by an exception (examples: Ctrl-C, a full disk). The program has its
    own session, so that all its processes can be signalled at once.
    """
    with subprocess.Popen(
        command,
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=cwd,
        # `LC_ALL=C` sets the language to English, because `kernel.first_errors` searches the messages of compilers and
        # make for English words.
        env={**os.environ, **(environment or {}), "LC_ALL": "C"},
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
