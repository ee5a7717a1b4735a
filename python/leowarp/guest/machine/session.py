# SPDX-License-Identifier: Apache-2.0
"""Programs of others: those that start programs (make, with its compilers), and what a program says of itself."""

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
"""Far above a version's line or a kernel's configuration; a program that never stops printing ends here."""
MOST_S = 20.0
"""Of the program's own time (`OwnTime`), not of the clock on the wall: a busy machine makes nothing fail."""


def output_of(*command: str) -> str:
    """What a program prints, which must be little and soon: it may be anybody's.

    *command: A name on the PATH or a path, and its arguments.
    Returns: Its standard output. What it says on stderr is the message if it fails.
    Raises HostError if it is not there, fails, prints more than `MOST_SAID_BYTES`, or has had `MOST_S` for itself
        (`OwnTime`): a version takes no machine so long.
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
        # Until it is waited for, nobody else can have its number.
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.stdout.close()
        process.stderr.close()
        process.wait()
    if process.returncode != 0:
        raise HostError(f"{attempted}: {complained.strip() or f'it ended with {process.returncode}'}", "leowarp doctor")
    return said


def _heard(process: "subprocess.Popen[bytes]", attempted: str) -> tuple[str, str]:
    """Both outputs of a process that has ended; its exit status is known then."""
    assert process.stdout is not None
    assert process.stderr is not None
    # Both at once: a program that fills the pipe of one while the other is read would wait for ever.
    outputs = {process.stdout.fileno(): bytearray(), process.stderr.fileno(): bytearray()}
    own = OwnTime([process.pid])
    with selectors.DefaultSelector() as open_ends:
        for end in outputs:
            open_ends.register(end, selectors.EVENT_READ)
        while open_ends.get_map() or process.poll() is None:
            it_runs = own.look()
            # It may have closed both and still run
            # A second at most, so that the program's own time is looked at while it says nothing.
            ready = open_ends.select(1.0 if open_ends.get_map() else POLL_S)
            # What has ended has closed them; somebody that it started, perhaps for good, has not.
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
    """A running program whose output, errors included, is text; it and all that it starts end with the block.

    Ctrl-C or a full disk: a session of their own is what a signal reaches whole.
    """
    with subprocess.Popen(
        command,
        stdin=stdin,
        stdout=stdout,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        cwd=cwd,
        # Messages of compilers and make are searched for in English (`kernel.first_errors`).
        env={**os.environ, **(environment or {}), "LC_ALL": "C"},
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
