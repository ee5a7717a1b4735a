# SPDX-License-Identifier: Apache-2.0
"""A batch of runs as it is handed to a worker, and what a worker makes of it. Nothing in it needs shared memory."""

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
"""A worker makes sure so often that kernel and agent are still those of the study, which takes it 0.15 s; in a checkout
their sources may change while a study runs."""


@dataclass(frozen=True)
class Order:
    """One run of a batch.

    plan: The text of its plan.
    inputs: Names of the files that it names, which the batch has.
    out: Where its run directory is to stay; None: nothing stays but its row.
    """

    plan: str
    inputs: tuple[str, ...]
    out: str | None


@dataclass(frozen=True)
class Batch:
    """Runs for one worker, one after the other.

    inputs: Name -> content (base64) of the files that plans name.
    kernel: `guest.kernel` of all of them.
    image: Checksums of kernel and agent that the worker's must have.
    version: Of leowarp, likewise.
    """

    number: int
    orders: tuple[Order, ...]
    inputs: Mapping[str, str]
    kernel: str
    image: tuple[str, str]
    version: str
    maker: Maker

    def work(self, scratch: Path, tell: Tell) -> None:
        """Makes the runs, in the process of a worker (`leowarp.running.workers.Task`).

        scratch: A directory of the worker's own; it is gone afterwards.
        tell: Gets `place` and `result` of each run as soon as it is made.
        Raises HostError: As `results_of`.
        """
        for place, result in results_of(self, scratch):
            tell(place=place, result=result)

    def encode(self) -> dict[str, Any]:
        """As JSON has it, for `DaskWorkers`; `decode` is the way back."""
        # The maker is an object of any class, so it is pickled. This is safe here: a batch goes from the process that
        # runs the study to its own workers, and never comes from a file.
        return {
            "number": self.number,
            "orders": [asdict(order) for order in self.orders],
            "inputs": dict(self.inputs),
            "kernel": self.kernel,
            "image": list(self.image),
            "version": self.version,
            "maker": encode_file(pickle.dumps(self.maker)),
        }

    @classmethod
    def decode(cls, encoded: Mapping[str, Any]) -> Batch:
        """The batch of which `encoded` is the JSON.

        The maker is unpickled, which may run code: only what `encode` gave in a process of ours comes here.
        """
        orders = tuple(Order(**{**order, "inputs": tuple(order["inputs"])}) for order in encoded["orders"])
        maker = pickle.loads(base64.b64decode(encoded["maker"]))
        return cls(**{**encoded, "orders": orders, "image": tuple(encoded["image"]), "maker": maker})


def encode_file(content: bytes) -> str:
    """A file's content for `Batch.inputs`: base64, as JSON has no bytes.

    >>> encode_file(b"leo")
    'bGVv'
    """
    return base64.b64encode(content).decode()


def results_of(batch: Batch, scratch: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Result of each run of a batch, as soon as it is known.

    scratch: Made if it is not there, and removed at the end, whatever ends it.
    Yields place: Of the run in the batch; each place at most once, not necessarily in order.
    Yields result: `summary` (as `summary.json`, or None), `costs`, `warnings`, `error` (as `errors.encode_error`, or
        None).
    Raises HostError if this machine's leowarp, kernel or agent is not the one that the study wants.
    """
    _check(batch)
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        # All plans before the first run: a file that cannot be written or a plan that does not load fails the batch at
        # once.
        plans = [_plan(batch, order, scratch / "plans" / f"{place:04d}") for place, order in enumerate(batch.orders)]
        out = [None if order.out is None else Path(order.out) for order in batch.orders]
        for made in batch.maker.make(plans, scratch / "work", out=out):
            yield (
                made.index,
                {
                    "summary": made.summary,
                    "costs": made.costs,
                    "warnings": list(made.warnings),
                    # As kind, message and hint: an exception object need not survive pickling between versions.
                    "error": None if made.error is None else encode_error(made.error),
                },
            )
    # Also when the generator is closed in the middle, by Ctrl-C in the worker.
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _plan(batch: Batch, order: Order, folder: Path) -> scenario.Plan:
    """The plan of an order, with its files beside it in a folder of its own, as a run directory has them."""
    folder.mkdir(parents=True)
    inputs = {name: base64.b64decode(batch.inputs[name]) for name in order.inputs}
    write_plan(folder, order.plan, inputs)
    # The user who started the study was asked what may run (`engine`).
    return scenario.resolve(scenario.load(folder / layout.PLAN)).named_by_caller()


def _check(batch: Batch) -> None:
    """Raises HostError if leowarp, kernel or agent of this worker are not those of the study, at most
    every `CHECK_S`.
    """
    # The run's identity has the version in it: a row made by another would stand under the wrong id.
    if batch.version != VERSION:
        raise HostError(
            f"this worker has leowarp {VERSION}, and the study was started with {batch.version}",
            hint="install the same version on every machine",
        )
    # By maker, kernel and checksums: a worker may get batches of several kernels in turn.
    # Hashing takes 0.15 s, so not for every batch.
    now = time.monotonic()
    if now - _CHECKED.get((batch.maker, batch.kernel, batch.image), -CHECK_S) < CHECK_S:
        return
    # The same holds for kernel and agent; in a checkout they are built from sources that may change meanwhile.
    mine = batch.maker.image_sha256(batch.kernel)
    for what, here, wanted in zip(("kernel", "agent"), mine, batch.image, strict=True):
        if here != wanted:
            raise HostError(
                f"the guest's {what} of this worker (sha256 {here[:12]}) is not that of the study ({wanted[:12]})",
                hint="install the same wheel on every machine, or let them share one cache (LEOWARP_CACHE)",
            )
    _CHECKED[batch.maker, batch.kernel, batch.image] = now


_CHECKED: dict[tuple[Maker, str, tuple[str, str]], float] = {}
"""Facts that this process has checked, and when."""
