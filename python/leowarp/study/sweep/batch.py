# SPDX-License-Identifier: Apache-2.0
"""A batch of runs as sent to a worker, and the results that the worker returns. Nothing in a batch needs shared
memory."""

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
"""Interval at which a worker checks that kernel and agent are still those of the study. A check takes 0.15 s. It is
repeated because in a checkout, sources may change while a study runs."""


@dataclass(frozen=True)
class Order:
    """One run of a batch.

    plan: Text of the run's plan.
    inputs: Names of files that the plan names; the batch contains them.
    out: Directory where the run is kept; None: only its row is kept.
    """

    plan: str
    inputs: tuple[str, ...]
    out: str | None


@dataclass(frozen=True)
class Batch:
    """Runs for one worker, which makes them one after the other.

    inputs: Name -> content (base64) of the files that plans name.
    kernel: `guest.kernel` of all runs.
    image: Checksums of kernel and agent, which the worker's must match.
    version: Version of leowarp, which the worker's must match.
    """

    number: int
    orders: tuple[Order, ...]
    inputs: Mapping[str, str]
    kernel: str
    image: tuple[str, str]
    version: str
    maker: Maker

    def work(self, scratch: Path, tell: Tell) -> None:
        """Make the runs inside a worker's process (`leowarp.running.workers.Task`).

        scratch: A directory for this worker only; deleted afterwards.
        tell: Called with `place` and `result` as soon as each run is made.
        Raises HostError: See `results_of`.
        """
        for place, result in results_of(self, scratch):
            tell(place=place, result=result)

    def encode(self) -> dict[str, Any]:
        """The batch as JSON, for `DaskWorkers`; `decode` reverses this."""
        # The maker can be an object of any class, so it is pickled. This is safe: a batch goes only from the study's
        # process to its own workers, never through a file.
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
        """Decode a batch from its JSON form.

        Unpickling the maker may run code: decode only what `encode` produced in one of leowarp's own processes.
        """
        orders = tuple(Order(**{**order, "inputs": tuple(order["inputs"])}) for order in encoded["orders"])
        maker = pickle.loads(base64.b64decode(encoded["maker"]))
        return cls(**{**encoded, "orders": orders, "image": tuple(encoded["image"]), "maker": maker})


def encode_file(content: bytes) -> str:
    """Content of a file for `Batch.inputs`, in base64 because JSON has no bytes.

    >>> encode_file(b"leo")
    'bGVv'
    """
    return base64.b64encode(content).decode()


def results_of(batch: Batch, scratch: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the result of each run of a batch as soon as it is known.

    scratch: Created if missing, and always removed at the end.
    Yields place: Place of the run in the batch; each place at most once, not necessarily in order.
    Yields result: `summary` (as `summary.json`, or None), `costs`, `warnings`, `error` (as `errors.encode_error`, or
        None).
    Raises HostError if this machine's leowarp, kernel or agent differs from the study's.
    """
    _check(batch)
    scratch.mkdir(parents=True, exist_ok=True)
    try:
        # All plans are loaded before the first run: a file that cannot be written or a bad plan fails the whole batch
        # at once.
        plans = [_plan(batch, order, scratch / "plans" / f"{place:04d}") for place, order in enumerate(batch.orders)]
        out = [None if order.out is None else Path(order.out) for order in batch.orders]
        for made in batch.maker.make(plans, scratch / "work", out=out):
            yield (
                made.index,
                {
                    "summary": made.summary,
                    "costs": made.costs,
                    "warnings": list(made.warnings),
                    # Errors travel as kind, message and hint: an exception object may not survive pickling between
                    # versions.
                    "error": None if made.error is None else encode_error(made.error),
                },
            )
    # The folder is removed even if the generator is closed early, for example by Ctrl-C in the worker.
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _plan(batch: Batch, order: Order, folder: Path) -> scenario.Plan:
    """Load an order's plan; its input files are placed beside it in a separate folder, as in a run directory."""
    folder.mkdir(parents=True)
    inputs = {name: base64.b64decode(batch.inputs[name]) for name in order.inputs}
    write_plan(folder, order.plan, inputs)
    # `engine` already asked the user who started the study which code may run.
    return scenario.resolve(scenario.load(folder / layout.PLAN)).named_by_caller()


def _check(batch: Batch) -> None:
    """Raises HostError if this worker's leowarp, kernel or agent differs from the study's; checked at most every
    `CHECK_S`.
    """
    # The run id includes the version, so a row from another version would be stored under the wrong id.
    if batch.version != VERSION:
        raise HostError(
            f"this worker has leowarp {VERSION}, and the study was started with {batch.version}",
            hint="install the same version on every machine",
        )
    # Checks are cached by maker, kernel and checksums: a worker may alternate between kernels. Hashing takes 0.15 s,
    # too long for every batch.
    now = time.monotonic()
    if now - _CHECKED.get((batch.maker, batch.kernel, batch.image), -CHECK_S) < CHECK_S:
        return
    # Kernel and agent are checked like the version; in a checkout, their sources may change meanwhile.
    mine = batch.maker.image_sha256(batch.kernel)
    for what, here, wanted in zip(("kernel", "agent"), mine, batch.image, strict=True):
        if here != wanted:
            raise HostError(
                f"the guest's {what} of this worker (sha256 {here[:12]}) is not that of the study ({wanted[:12]})",
                hint="install the same wheel on every machine, or let them share one cache (LEOWARP_CACHE)",
            )
    _CHECKED[batch.maker, batch.kernel, batch.image] = now


_CHECKED: dict[tuple[Maker, str, tuple[str, str]], float] = {}
"""Facts that this process has checked, with the time of each check."""
