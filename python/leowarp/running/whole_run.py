# SPDX-License-Identifier: Apache-2.0
"""A run into a directory of its own as a task for a worker; this module imports no more than the worker needs at its
start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leowarp.base.errors import LeowarpError, unexpected
from leowarp.running import one

if TYPE_CHECKING:
    from leowarp.running.workers import Tell


@dataclass(frozen=True)
class WholeRun:
    """A task (`leowarp.running.workers.Task`) of one run.

    number: Number that identifies its events.
    set: mapping or sequence of "KEY=VALUE". Dotted keys and their new values.
    options: `kernel`, `force`, `report`, `trust`: all as in the arguments of `leowarp.run`.
    """

    number: int
    scenario: Path | str
    set: Mapping[str, Any] | Sequence[str]
    out: Path | str
    options: Mapping[str, Any]

    def work(self, scratch: Path, tell: Tell) -> None:
        """Make the run and report its progress; the directory is its entire result. Raises a `LeowarpError`."""
        try:
            one.run(self.scenario, self.set, self.out, progress=lambda at: tell(progress=asdict(at)), **self.options)
        except LeowarpError:
            raise
        except Exception as error:
            # The same as on the command line
            raise unexpected(error) from error
        # The result is in the directory; the parent needs to know only that it exists.
        tell(place=0, result={})
