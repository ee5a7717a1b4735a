# SPDX-License-Identifier: Apache-2.0
"""A worker's task that makes one run in its own directory; it imports only what a worker needs to start."""

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
    """A task (`leowarp.running.workers.Task`) for one run.

    number: Key of the task's events.
    set: mapping or sequence of "KEY=VALUE". Dotted keys with their new values.
    options: `kernel`, `force`, `report`, `trust`: arguments of `leowarp.run`.
    """

    number: int
    scenario: Path | str
    set: Mapping[str, Any] | Sequence[str]
    out: Path | str
    options: Mapping[str, Any]

    def work(self, scratch: Path, tell: Tell) -> None:
        """Make the run and report its progress; the only result is the run directory. Raises a `LeowarpError`."""
        try:
            one.run(self.scenario, self.set, self.out, progress=lambda at: tell(progress=asdict(at)), **self.options)
        except LeowarpError:
            raise
        except Exception as error:
            # The keys have the form in which the command line gives them.
            raise unexpected(error) from error
        # The result is in the directory; the parent only needs to know that it exists.
        tell(place=0, result={})
