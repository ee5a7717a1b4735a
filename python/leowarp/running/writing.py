# SPDX-License-Identifier: Apache-2.0
"""Writing a run directory, which is either complete or marked incomplete.

While a run is being written, the directory contains a file `INCOMPLETE` with the reason. The writer holds a lock on it,
which distinguishes a killed writer from a running one. At the end of a run, `manifest.json` is written, and then the
mark is deleted.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from leowarp.base import plainfiles, runtables
from leowarp.base.errors import HostError, ScenarioError, TraceError
from leowarp.base.layout import ARTEFACTS, INCOMPLETE, INPUTS, MANIFEST, PLAN, REPORT
from leowarp.base.recorded import what_is_missing, why_incomplete

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class Writing:
    """Context for writing a run directory: `with Writing(path, force=False) as directory:`.

    `Writing` creates the directory and the mark `INCOMPLETE`, and locks the mark. An exception writes its message into
    the mark and leaves the files. A normal end deletes the mark, if there is a manifest.

    path: The run directory; missing parent directories are created.
    force: Whether an existing complete run is replaced. An incomplete run is always replaced.
    Raises ScenarioError if `path` contains a complete run and `force` is not set, or contains something other than a
        run.
    Raises HostError if it cannot be written: no permission, no space.
    Raises TraceError if the block ended without a manifest.
    """

    def __init__(self, path: Path | str, *, force: bool = False) -> None:
        self.path = Path(path)
        self.force = force
        self._mark = -1

    def __enter__(self) -> Path:
        try:
            self._mark = self._locked_mark()
            try:
                # The mark is created before any file of an older run is deleted.
                self.because("the run was started and has not ended; a kill -9 or a power cut leaves it so")
                for name in ARTEFACTS:
                    if name != INCOMPLETE:
                        plainfiles.remove(self.path / name)
                    plainfiles.remove(self.path / f"{name}{plainfiles.PARTIAL}")
            except BaseException:
                os.close(self._mark)
                raise
        except OSError as error:
            raise _unwritable(self.path, error) from error
        runtables.made_here(self.path)
        return self.path

    def _locked_mark(self) -> int:
        """A locked descriptor of the mark. The lock excludes other writers; existing files may then be replaced.

        Raises ScenarioError if another process writes there, or existing files may not be replaced.
        Raises OSError if the mark cannot be created or locked.
        """
        while True:
            self._refuse_what_is_not_ours()
            self.path.mkdir(parents=True, exist_ok=True)
            # The mark is opened without O_EXCL: the mark of a killed run is locked and written again. NOFOLLOW is set,
            # because through a link another file would be emptied. NONBLOCK is set, because a pipe created since the
            # check above would block the open.
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            mark = os.open(self.path / INCOMPLETE, flags, 0o666)
            try:
                # A lock is used instead of a process id in a file, because the id may have been reused. The host
                # releases the lock when the process ends, so a killed writer does not exclude others.
                fcntl.flock(mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_the_mark_of_what_may_go(mark):
                    return mark
            except BlockingIOError:
                os.close(mark)
                raise ScenarioError(
                    f"cannot write a run to {self.path}: another process is writing one there",
                    hint="wait for it, or choose another directory with --out",
                ) from None
            except BaseException:
                os.close(mark)
                raise
            os.close(mark)

    def _is_the_mark_of_what_may_go(self, mark: int) -> bool:
        """Whether a locked mark still exists, and does not belong to a run that was completed meanwhile.

        Another writer may have ended between the check of the directory and the lock. The other writer may have deleted
        the mark after this process opened the mark. The other writer may also have deleted the mark earlier. Then the
        mark is a new empty file beside a complete run.
        """
        here = os.fstat(mark)
        try:
            there = os.stat(self.path / INCOMPLETE, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
            return False
        # A run is replaced beginning with the plan, and its manifest is written last, so a complete run has not been
        # modified.
        if here.st_size == 0 and not self.force and what_is_missing(self.path) is None:
            os.unlink(self.path / INCOMPLETE)
            return False
        return True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if error is None and not (self.path / MANIFEST).exists():
                raise TraceError(f"the run in {self.path} ended without a manifest")
            if error is None:
                os.unlink(self.path / INCOMPLETE)
            # If the reader of leowarp's output has gone (a closed pager), the disk is not at fault.
            elif isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                self.because(f"an operation of the system failed: {error}")
                raise self._failed(error) from error
            else:
                self.because(f"{kind.__name__ if kind else 'error'}: {error}" if str(error) else "it was interrupted")
        finally:
            os.close(self._mark)

    def _failed(self, error: OSError) -> HostError:
        """Message for a system error while the run was made: the directory is blamed only if the error names it."""
        # Errors of writes do not name a file. Missing space is either here or in the directory for temporary files.
        if error.errno in _NO_SPACE or (isinstance(error.filename, str | Path) and self._holds(Path(error.filename))):
            return _unwritable(self.path, error)
        hint = "it is an error of this machine and not of the scenario: mend what it names, then start the run again"
        return HostError(f"the run in {self.path} failed: {error}", hint=hint)

    def _holds(self, path: Path) -> bool:
        """Whether a path is the run directory or inside it."""
        return Path(os.path.abspath(path)).is_relative_to(os.path.abspath(self.path))

    def because(self, reason: str) -> None:
        """Write the reason why the directory is incomplete as a line into the mark, replacing its content.

        Raises OSError if it cannot be written for a reason other than a full disk.
        """
        text = f"This run is not complete: {reason}\n".encode()
        try:
            os.truncate(self._mark, 0)
            os.pwrite(self._mark, text, 0)
        except OSError as error:
            # A full disk is a frequent reason for the end of a run. The mark then stays an empty file.
            if error.errno not in _NO_SPACE:
                raise

    def _refuse_what_is_not_ours(self) -> None:
        """Raise ScenarioError unless the directory is absent, empty, an incomplete run, or a run that may be
        replaced."""
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise ScenarioError(f"cannot write a run to {self.path}: it is a file", hint="choose another with --out")
        # Temporary files left by a kill also belong to leowarp.
        names = [entry.name for entry in self.path.iterdir()]
        strange = sorted(name for name in names if name.removesuffix(plainfiles.PARTIAL) not in ARTEFACTS)
        if strange:
            raise ScenarioError(
                f"cannot write a run to {self.path}: it holds {strange[0]!r}, which is not part of a run",
                hint="choose an empty or a new directory with --out",
            )
        if (why := plainfiles.why_not_plain(self.path)) is not None:
            raise ScenarioError(
                f"cannot write a run to {self.path}: {why}, and nothing is written through one",
                hint="choose an empty or a new directory with --out",
            )
        if why_incomplete(self.path) is None and not self.force:
            # This is the state after a kill during the report: the run itself is complete.
            lacks_report = not (self.path / REPORT / "index.html").exists()
            raise ScenarioError(
                f"cannot write a run to {self.path}: it holds a complete run{' without a report' * lacks_report}",
                hint=f"leowarp report {self.path} draws its report; " * lacks_report
                + "type --force to replace it, or choose another directory with --out",
            )


def write_plan(directory: Path, plan_text: str, inputs: Mapping[str, bytes | Path]) -> None:
    """Write `00-plan.toml` and, if it names files, their copies in `00-inputs/`.

    directory: A run directory that is being written.
    inputs: For each file name its content, or the file to copy.
    Raises ScenarioError if a name is not a plain file name: a path could lead out of the directory.
    """
    plainfiles.write(directory / PLAN, plan_text.encode())
    for name, content in inputs.items():
        if not plainfiles.is_plain_name(name):
            raise ScenarioError(f"cannot write the input {name!r} of a plan: it is not the name of a file")
        (directory / INPUTS).mkdir(exist_ok=True)
        if isinstance(content, Path):
            with plainfiles.opened(content, links=True) as file:
                plainfiles.write(directory / INPUTS / name, file)
        else:
            plainfiles.write(directory / INPUTS / name, content)


def _unwritable(path: Path, error: OSError) -> HostError:
    """Message for an error of the file system."""
    hint = "free some space, or choose another directory with --out"
    if error.errno not in _NO_SPACE:
        hint = "choose a directory that may be written with --out"
    return HostError(f"cannot write the run directory {path}: {error}", hint=hint)
