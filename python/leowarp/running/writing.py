# SPDX-License-Identifier: Apache-2.0
"""Writes a run directory. At any time, the directory is complete or marked as incomplete.

While a run is written, its directory contains the file `INCOMPLETE` with a reason. The writer holds a lock on
`INCOMPLETE`. Other processes can therefore tell whether the writer was killed or still runs. At the end, the writer
first writes `manifest.json` and then deletes `INCOMPLETE`.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from leowarp.base import plainfiles
from leowarp.base.errors import HostError, ScenarioError, TraceError
from leowarp.base.layout import ARTEFACTS, INCOMPLETE, INPUTS, MANIFEST, PLAN, REPORT
from leowarp.base.recorded import what_is_missing, why_incomplete
from leowarp.base.tables import runtables

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class Writing:
    """A context in which a run directory is written: `with Writing(path, force=False) as directory:`.

    The context creates the directory and the mark, which is the file `INCOMPLETE`, and locks the mark. If an exception
    ends the context, the exception's message is written to the mark, and all files are kept. If the context ends
    normally and there is a manifest, the file `INCOMPLETE` is deleted.

    path: The run directory. Missing parent directories are created too.
    force: Whether a complete run at `path` is replaced. An incomplete run is always replaced.
    Raises ScenarioError if `path` contains a complete run and `force` is false, or contains something other than a
        run.
    Raises HostError if the directory cannot be written, for lack of permission or space.
    Raises TraceError if the context ends normally but there is no manifest.
    """

    def __init__(self, path: Path | str, *, force: bool = False) -> None:
        self.path = Path(path)
        self.force = force
        self._mark = -1

    def __enter__(self) -> Path:
        try:
            self._mark = self._locked_mark()
            try:
                # The mark is written before any file of an older run is deleted.
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
        """Lock the file `INCOMPLETE` and return its descriptor. The lock excludes other writers. While this process has
        the lock, it may replace existing files.

        Raises ScenarioError if another process writes to the directory, or if the existing files must not be replaced.
        Raises OSError if the mark cannot be created or locked.
        """
        while True:
            self._refuse_what_is_not_ours()
            self.path.mkdir(parents=True, exist_ok=True)
            # Without O_EXCL, the mark of a killed run can be opened, locked and written again. O_NOFOLLOW is needed
            # because a write through a symbolic link would change another file. Since the check above, somebody may
            # have replaced the mark by a named pipe. O_NONBLOCK is needed because opening this pipe would block.
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            mark = os.open(self.path / INCOMPLETE, flags, 0o666)
            try:
                # A process id in the mark would not be enough, because ids are reused. The host's kernel releases a
                # lock when its process ends, so a killed writer does not exclude other writers.
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
        """Return whether the locked file is still the directory's `INCOMPLETE`, and the run has not become complete.

        Another writer may have ended after this process checked the directory, but before it got the lock. Perhaps that
        writer deleted the mark after this process had opened it. The locked file is then no longer in the directory.
        Perhaps the writer deleted the mark earlier. In this case, this process created a new, empty mark, although the
        run is complete.
        """
        here = os.fstat(mark)
        try:
            there = os.stat(self.path / INCOMPLETE, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
            return False
        # A writer that replaces a run deletes the plan first and writes the manifest last. While a writer replaces a
        # run, the run is therefore never complete.
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
            # A BrokenPipeError means that the reader of leowarp's output is gone (a closed pager); it is no error of
            # the disk.
            elif isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                self.because(f"an operation of the system failed: {error}")
                raise self._failed(error) from error
            else:
                self.because(f"{kind.__name__ if kind else 'error'}: {error}" if str(error) else "it was interrupted")
        finally:
            os.close(self._mark)

    def _failed(self, error: OSError) -> HostError:
        """Return the error to raise if a system error occurs while the run is made. The error names the run directory
        only if the system error concerns this directory."""
        # Errors of write(2) name no file. If a disk is full, it is always the disk of the run directory or of temporary
        # files.
        if error.errno in _NO_SPACE or (isinstance(error.filename, str | Path) and self._holds(Path(error.filename))):
            return _unwritable(self.path, error)
        hint = "it is an error of this machine and not of the scenario: mend what it names, then start the run again"
        return HostError(f"the run in {self.path} failed: {error}", hint=hint)

    def _holds(self, path: Path) -> bool:
        return Path(os.path.abspath(path)).is_relative_to(os.path.abspath(self.path))

    def because(self, reason: str) -> None:
        """Replace the content of the file `INCOMPLETE` by one line that says why the directory is incomplete.

        Raises OSError if the reason cannot be written. If the disk is full, no error is raised.
        """
        text = f"This run is not complete: {reason}\n".encode()
        try:
            os.truncate(self._mark, 0)
            os.pwrite(self._mark, text, 0)
        except OSError as error:
            # Runs often end because the disk is full. On a full disk, the mark remains an empty file; an empty mark is
            # enough to show that the run is incomplete.
            if error.errno not in _NO_SPACE:
                raise

    def _refuse_what_is_not_ours(self) -> None:
        """Raise ScenarioError if the directory contains anything but an incomplete run or a run that may be replaced.
        An absent or empty directory is allowed."""
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise ScenarioError(f"cannot write a run to {self.path}: it is a file", hint="choose another with --out")
        # Temporary files of a killed writer do not count as foreign, because leowarp wrote them.
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
            # If leowarp was killed while it made the report, the run itself is complete.
            lacks_report = not (self.path / REPORT / "index.html").exists()
            raise ScenarioError(
                f"cannot write a run to {self.path}: it holds a complete run{' without a report' * lacks_report}",
                hint=f"leowarp report {self.path} draws its report; " * lacks_report
                + "type --force to replace it, or choose another directory with --out",
            )


def write_plan(directory: Path, plan_text: str, inputs: Mapping[str, bytes | Path]) -> None:
    """Write `00-plan.toml`, and copies of the files that the plan names to `00-inputs/`.

    directory: The run directory that is being written.
    inputs: A dict of file name -> the content of the file, or the path of the file to copy.
    Raises ScenarioError if a name contains a path, which could lead out of the directory.
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
    hint = "free some space, or choose another directory with --out"
    if error.errno not in _NO_SPACE:
        hint = "choose a directory that may be written with --out"
    return HostError(f"cannot write the run directory {path}: {error}", hint=hint)
