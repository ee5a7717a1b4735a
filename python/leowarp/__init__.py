# SPDX-License-Identifier: Apache-2.0
"""The real Linux TCP/IP stack over a moving low-Earth-orbit constellation, in virtual time.

>>> import leowarp as lw
>>> run = lw.run("madrid-tokyo.toml", set={"run.duration": "60 s"})     # doctest: +SKIP
>>> run.sockets()    # a pandas data frame, units in the column names   # doctest: +SKIP
>>> run.summary["flows"][0]["goodput_mean_bps"]                         # doctest: +SKIP
>>> run.figure("goodput")                                               # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from leowarp.results.run import Run
from leowarp.running.one import run
from leowarp.version import VERSION

if TYPE_CHECKING:
    from leowarp import reordering
    from leowarp.base.errors import GuestError, HostError, LeowarpError, ScenarioError, TraceError
    from leowarp.base.progress import Progress
    from leowarp.results.differences import diff
    from leowarp.running.many import Job, run_many
    from leowarp.running.seeds import run_seeds

    # mypy takes the module scenario.load for the function of that name
    from leowarp.scenario import Plan, Scenario, load, resolve  # type: ignore[no-redef]

__version__ = VERSION

# Public names are imported on first use, because `leowarp --help` and shell completion must not wait for pandas.
_PUBLIC = {
    "GuestError": "base.errors",
    "HostError": "base.errors",
    "Job": "running.many",
    "LeowarpError": "base.errors",
    "Plan": "scenario",
    "Progress": "base.progress",
    "Scenario": "scenario",
    "ScenarioError": "base.errors",
    "TraceError": "base.errors",
    "diff": "results.differences",
    "load": "scenario",
    "resolve": "scenario",
    "run_many": "running.many",
    "run_seeds": "running.seeds",
}

__all__ = [
    "GuestError",
    "HostError",
    "Job",
    "LeowarpError",
    "Plan",
    "Progress",
    "Run",
    "Scenario",
    "ScenarioError",
    "TraceError",
    "diff",
    "load",
    "open",
    "reordering",
    "resolve",
    "run",
    "run_many",
    "run_seeds",
]


def open(path: Any) -> Run:
    """Open the run in a directory.

    Raises
    ------
    TraceError
        If the directory is not a run, or if the run is incomplete. The message gives the reason.
    """
    return Run(path)


def __getattr__(name: str) -> Any:
    # A public module, which is used as `leowarp.reordering.density(...)`
    if name == "reordering":
        return importlib.import_module("leowarp.reordering")
    if name in _PUBLIC:
        return getattr(importlib.import_module(f"leowarp.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'leowarp' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_PUBLIC, "reordering"]
