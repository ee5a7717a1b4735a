# SPDX-License-Identifier: Apache-2.0
"""Batches of runs. A batch consists of the runs that are sent to a worker, and the results that the worker returns. A
batch contains everything that its worker needs. Workers therefore need no shared file system or memory."""

from __future__ import annotations

import base64
import pickle
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from leowarp import scenario
from leowarp.base import layout
from leowarp.base.errors import HostError, encode_error
from leowarp.running.workers import Tell
from leowarp.running.writing import write_plan
from leowarp.study.sweep.maker import Maker
from leowarp.version import VERSION

CHECK_S = 30.0
"""A worker checks at this interval in s whether it still has the study's kernel and agent, which takes 0.15 s. The
sources of a checkout may change while a study runs."""


@dataclass(frozen=True)
class Order:
    """One run of a batch: the text of its plan, and what to store.

    inputs: The names of the plan's input files. The batch contains the content of these files.
    out: The directory for the complete run. None means that only the run's row is stored.
    """

    plan: str
    inputs: tuple[str, ...]
    out: str | None


@dataclass(frozen=True)
class Batch:
    """A sequence of runs that one worker makes.

    inputs: The content (base64) of the plans' input files, by file name.
    kernel: The `guest.kernel` of all runs in the batch.
    image: The checksums of the study's kernel and agent, which must equal the worker's checksums.
    version: The version of leowarp in the study's process, which must equal the worker's version.
    """

    number: int
    orders: tuple[Order, ...]
    inputs: Mapping[str, str]
    kernel: str
    image: tuple[str, str]
    version: str
    maker: Maker

    def work(self, scratch: Path, tell: Tell) -> None:
        """Make the runs in a worker process (`leowarp.running.workers.Task`), and tell each result of `results_of`."""
        for place, result in results_of(self, scratch):
            tell(place=place, result=result)

    def encode(self) -> dict[str, Any]:
        """Return the batch as JSON, for `DaskWorkers`. The method `decode` reverses the encoding."""
        # The maker may be of any class, so it is pickled. Pickling is safe here: a batch goes only from the study's
        # process to its own workers, and never through a file.
        maker = base64.b64encode(pickle.dumps(self.maker)).decode()
        return vars(self) | {"orders": [asdict(order) for order in self.orders], "maker": maker}

    @classmethod
    def decode(cls, encoded: Mapping[str, Any]) -> Batch:
        """Make a batch from its JSON form.

        Unpickling the maker may execute code. Decode only the output of `encode` from one of leowarp's own processes.
        """
        orders = tuple(Order(**{**order, "inputs": tuple(order["inputs"])}) for order in encoded["orders"])
        maker = pickle.loads(base64.b64decode(encoded["maker"]))
        return cls(**{**encoded, "orders": orders, "image": tuple(encoded["image"]), "maker": maker})


def results_of(batch: Batch, scratch: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Make the runs of a batch, and yield each result as soon as its run has ended.

    scratch: The directory, which is created if missing and always removed at the end.
    Yields place: The position of the run in the batch. The positions may come in any order.
    Yields result: `summary` (as in `summary.json`, or None), `costs`, `warnings`, `error` (from `errors.encode_error`,
        or None).
    Raises HostError if this machine's leowarp, kernel or agent differs from the study's.
    """
    _check(batch)
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        # If a file cannot be written or a plan is wrong, the complete batch fails before any run is made.
        plans = [_plan(batch, order, scratch / "plans" / f"{place:04d}") for place, order in enumerate(batch.orders)]
        out = [None if order.out is None else Path(order.out) for order in batch.orders]
        for made in batch.maker.make(plans, scratch / "work", out=out):
            yield (
                made.index,
                {
                    "summary": made.summary,
                    "costs": made.costs,
                    "warnings": list(made.warnings),
                    # Another version may be unable to unpickle an exception object.
                    "error": None if made.error is None else encode_error(made.error),
                },
            )
    # The folder is removed even if the generator is closed early, for example when Ctrl-C ends the worker.
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _plan(batch: Batch, order: Order, folder: Path) -> scenario.Plan:
    """Load the plan of one run, after its text and input files are written side by side as in a run directory."""
    folder.mkdir(parents=True)
    inputs = {name: base64.b64decode(batch.inputs[name]) for name in order.inputs}
    write_plan(folder, order.plan, inputs)
    # `engine` has already asked the user which code may be executed, when the study started.
    return scenario.resolve(scenario.load(folder / layout.PLAN)).named_by_caller()


def _check(batch: Batch) -> None:
    """Raise HostError if this worker's leowarp, kernel or agent differs from the study's."""
    # A row's run id is computed from the version, so a row made by another version would have a wrong id.
    if batch.version != VERSION:
        raise HostError(
            f"this worker has leowarp {VERSION}, and the study was started with {batch.version}",
            hint="install the same version on every machine",
        )
    now = time.monotonic()
    if now - _CHECKED.get((batch.maker, batch.kernel, batch.image), -CHECK_S) < CHECK_S:
        return
    # Even with equal versions, the sources of kernel and agent in a checkout may have changed.
    mine = batch.maker.image_sha256(batch.kernel)
    for what, here, wanted in zip(("kernel", "agent"), mine, batch.image, strict=True):
        if here != wanted:
            raise HostError(
                f"the guest's {what} of this worker (sha256 {here[:12]}) is not that of the study ({wanted[:12]})",
                hint="install the same wheel on every machine, or let them share one cache (LEOWARP_CACHE)",
            )
    _CHECKED[batch.maker, batch.kernel, batch.image] = now


_CHECKED: dict[tuple[Maker, str, tuple[str, str]], float] = {}
"""The time of the last check in this process. A worker may alternate between kernels, so there is one per kernel."""
