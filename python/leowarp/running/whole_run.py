# SPDX-License-Identifier: Apache-2.0
"""A worker's task that makes one run in its run directory. This module imports only what a worker needs at its
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
    """A task (`leowarp.running.workers.Task`) for one run.

    number: The number of the task in the workers' events.
    set: mapping or sequence of "KEY=VALUE". The dotted scenario keys, each with its new value.
    options: The arguments `kernel`, `force`, `report`, `trust` of `leowarp.run`.
    """

    number: int
    scenario: Path | str
    set: Mapping[str, Any] | Sequence[str]
    out: Path | str
    options: Mapping[str, Any]

    def work(self, scratch: Path, tell: Tell) -> None:
        """Make the run and report its progress. Raises any `LeowarpError`."""
        try:
            one.run(self.scenario, self.set, self.out, progress=lambda at: tell(progress=asdict(at)), **self.options)
        except LeowarpError:
            raise
        except Exception as error:
            # The message names keys as they are written on the command line.
            raise unexpected(error) from error
        # The worker returns an empty result, because the run directory contains everything. The parent only learns that
        # the run is complete.
        tell(place=0, result={})
