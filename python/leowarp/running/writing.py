# SPDX-License-Identifier: Apache-2.0
"""Writing a run directory, which is either complete or marked incomplete.

While a run is being written, the directory holds a file `INCOMPLETE` that says why. The writer keeps it locked, which
distinguishes a killed writer from one that still works. The last step of a run is `manifest.json`, then the mark goes.
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

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)


class Writing:
    """A run directory while it is written: `with Writing(path, force=False) as directory:`.

    It makes the directory and the mark `INCOMPLETE`, and locks that. An exception replaces the text of the mark by
    its message and leaves what was written; a normal end takes the mark away, provided that there is a manifest.

    path: The run directory; it and those above it are made if they are missing.
    force: Whether a complete run there is replaced. An incomplete one always is.
    Raises ScenarioError if `path` holds a complete run and `force` is not set, or something that is no run.
    Raises HostError if it cannot be written: no permission, no space.
    Raises TraceError if what was done in it ended without a manifest.
    """

    def __init__(self, path: Path | str, *, force: bool = False) -> None:
        self.path = Path(path)
        self.force = force
        self._mark = -1

    def __enter__(self) -> Path:
        try:
            self._mark = self._locked_mark()
            try:
                # The mark stands before anything of an older run goes.
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
        return self.path

    def _locked_mark(self) -> int:
        """A descriptor of the mark, locked; with it nobody else writes here, and what is here may be replaced.

        Raises ScenarioError if another process writes there, or what is there may not be replaced.
        Raises OSError if it cannot be made or locked.
        """
        while True:
            self._refuse_what_is_not_ours()
            self.path.mkdir(parents=True, exist_ok=True)
            # Opened and not created anew: the mark of a run that was killed is locked and written again. NOFOLLOW:
            # where a link stands, another file would be emptied.
            # NONBLOCK: a pipe that came there since the look above would be waited for.
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            mark = os.open(self.path / INCOMPLETE, flags, 0o666)
            try:
                # A lock and not the number of the process in a file, which may be another's by then.
                # The host drops the lock with the process, so a writer that was killed does not keep others out.
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
        """Whether a locked mark is still there, and not beside a run that was completed meanwhile.

        Another writer may have ended between the look at the directory and the lock. It has taken the mark away after
        it was opened here. Or it did so before, and then the mark is a new one, empty, beside a complete run.
        """
        here = os.fstat(mark)
        try:
            there = os.stat(self.path / INCOMPLETE, follow_symlinks=False)
        except FileNotFoundError:
            return False
        if (here.st_dev, here.st_ino) != (there.st_dev, there.st_ino):
            return False
        # A run is replaced plan first and written manifest last, so what lacks nothing has not been touched.
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
            # A reader of our output that has gone (a pager that was closed) is no fault of the disk.
            elif isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                self.because(f"an operation of the system failed: {error}")
                raise self._failed(error) from error
            else:
                self.because(f"{kind.__name__ if kind else 'error'}: {error}" if str(error) else "it was interrupted")
        finally:
            os.close(self._mark)

    def _failed(self, error: OSError) -> HostError:
        """Message for an error of the system while the run was made: it is the directory's only if it names it."""
        # A write names no file. One that has no space has none here, or in the place for temporary files.
        if error.errno in _NO_SPACE or (isinstance(error.filename, str | Path) and self._holds(Path(error.filename))):
            return _unwritable(self.path, error)
        hint = "it is an error of this machine and not of the scenario: mend what it names, then start the run again"
        return HostError(f"the run in {self.path} failed: {error}", hint=hint)

    def _holds(self, path: Path) -> bool:
        """Whether a path leads into this directory, or is it."""
        return Path(os.path.abspath(path)).is_relative_to(os.path.abspath(self.path))

    def because(self, reason: str) -> None:
        """Writes why the directory is not complete: a line in the mark, in place of what stood there.

        Raises OSError if it cannot be written for another reason than a full disk.
        """
        text = f"This run is not complete: {reason}\n".encode()
        try:
            os.truncate(self._mark, 0)
            os.pwrite(self._mark, text, 0)
        except OSError as error:
            # A full disk is one of the reasons why runs end: then the mark alone, an empty file, must do.
            if error.errno not in _NO_SPACE:
                raise

    def _refuse_what_is_not_ours(self) -> None:
        """Raises ScenarioError unless the directory is absent, empty, an incomplete run, or one to be replaced."""
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise ScenarioError(f"cannot write a run to {self.path}: it is a file", hint="choose another with --out")
        # Leftovers of a kill from a file that was to appear whole are ours, too.
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
            # As after a kill while the report was drawn: the run is made already.
            lacks_report = not (self.path / REPORT / "index.html").exists()
            raise ScenarioError(
                f"cannot write a run to {self.path}: it holds a complete run{' without a report' * lacks_report}",
                hint=f"leowarp report {self.path} draws its report; " * lacks_report
                + "type --force to replace it, or choose another directory with --out",
            )


def write_plan(directory: Path, plan_text: str, inputs: Mapping[str, bytes]) -> None:
    """Writes `00-plan.toml` and, if it names files, their copies in `00-inputs/`.

    directory: A run directory that is being written.
    inputs: mapping of file name to content
    Raises ScenarioError if a name is more than that of a file: a path would lead out of the directory.
    """
    plainfiles.write(directory / PLAN, plan_text.encode())
    for name, content in inputs.items():
        if not plainfiles.is_plain_name(name):
            raise ScenarioError(f"cannot write the input {name!r} of a plan: it is not the name of a file")
        (directory / INPUTS).mkdir(exist_ok=True)
        plainfiles.write(directory / INPUTS / name, content)


def _unwritable(path: Path, error: OSError) -> HostError:
    """Message for an error of the file system."""
    hint = "free some space, or choose another directory with --out"
    if error.errno not in _NO_SPACE:
        hint = "choose a directory that may be written with --out"
    return HostError(f"cannot write the run directory {path}: {error}", hint=hint)
