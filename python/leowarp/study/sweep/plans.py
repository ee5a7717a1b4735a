# SPDX-License-Identifier: Apache-2.0
"""The file `plans.parquet`, with every run that a study has or has ever had. The text of a run's plan is enough to
repeat the run."""

from __future__ import annotations

import hashlib
import io
import json
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from leowarp.base import layout, plainfiles, tomltext
from leowarp.base.errors import TraceError
from leowarp.base.tables import parquetfiles
from leowarp.guest.building.trust import Code
from leowarp.scenario import is_kernel_name
from leowarp.study.sweep import disk
from leowarp.study.sweep.parameters.expand import PlannedRun
from leowarp.study.sweep.parameters.file import KEEP
from leowarp.study.sweep.rows import COSTS, FAILED, OK, Origin, flat
from leowarp.study.sweep.store import Layout

PLANS = "plans.parquet"
"""A directory with this file is the directory of a study."""


@dataclass(frozen=True)
class StudyRun:
    """A run of a study with its identity.

    The run id is the sha256 of `plan_sha256, kernel_sha256, agent_sha256, leowarp_version`, joined by newlines, and
    shortened to 64 bits. With a million runs, two ids are equal with a probability of 3e-8.

    number: The position in the study.
    around_seed: The text of the run's plan before and after the seed. All runs of a combination have the same two
        parts.
    inputs: The names of the input files of the plan. The study's directory has copies of these files in `00-inputs/`.
    kernel: The value of `guest.kernel` in the plan.
    values: A dict from dotted key to the value of the parameter, as written.
    columns: A dict from a result column to the value of the run's parameter.
    """

    run_id: str
    number: int
    seed: int
    around_seed: tuple[str, str]
    plan_sha256: str
    inputs: tuple[str, ...]
    kernel: str
    values: Mapping[str, Any]
    columns: Mapping[str, Any]
    origin: Origin

    @property
    def plan(self) -> str:
        """Return the text of the run's plan."""
        return str(self.seed).join(self.around_seed)

    def __str__(self) -> str:
        return ", ".join([*(f"{key} = {value}" for key, value in self.values.items()), f"seed {self.seed}"])

    def row(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """Return the run's row: `FIRST`, parameters, scalars, `COSTS`, `LAST` (see `rows`). Missing values are None.

        result: `summary` (as in `summary.json`, or None), `costs`, `warnings`, `error` (kind, message, hint, or None).
        """
        error, costs = result.get("error") or {}, result.get("costs") or {}
        row: dict[str, Any] = {"run_id": self.run_id, "number": self.number, "in_study": True,
                               "status": FAILED if error else OK, "seed": self.seed, **self.columns}  # fmt: skip
        # The costs are read from the worker's result, because the summary has only two of them.
        scalars = flat(result.get("summary") or {}) | {name: costs.get(name) for name in COSTS}
        # If a parameter and a scalar have the same name, the scalar is renamed.
        row |= {name if name not in row else f"summary_{name}": value for name, value in scalars.items()}
        row["warnings"] = list(result.get("warnings") or [])
        row |= {"error": error.get("message"), "error_hint": error.get("hint"), "error_kind": error.get("kind")}
        return row | {"plan_sha256": self.plan_sha256, **vars(self.origin)}


def identified(run: PlannedRun | StudyRun, origin: Origin) -> StudyRun:
    """Return the run with the id that follows from its plan and the current `origin`."""
    parts = (run.plan_sha256, origin.kernel_sha256, origin.agent_sha256, origin.leowarp_version)
    # The plan alone does not identify a run, because another kernel, agent or version may give another result
    # (docs/changes/0.2.0.md, "Results change").
    run_id = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    # A `StudyRun` was read from `plans.parquet`, maybe with an older origin.
    if isinstance(run, StudyRun):
        return replace(run, run_id=run_id, origin=origin)
    return StudyRun(
        run_id=run_id,
        number=run.number,
        seed=run.seed,
        around_seed=run.combination.around_seed,
        plan_sha256=run.plan_sha256,
        inputs=tuple(path.name for path in run.inputs),
        kernel=run.kernel,
        values=run.combination.values,
        columns=run.combination.columns,
        origin=origin,
    )


@dataclass(frozen=True)
class StudyFacts:
    """The settings of one start of a study, which are stored in the metadata of `plans.parquet`."""

    name: str
    keep: str
    layout: Layout


def write_plans(folder: Path, facts: StudyFacts, runs: Sequence[StudyRun]) -> int:
    """Write `plans.parquet`. It contains all current runs of the study, and all runs that the study once had.

    runs: All runs of the study, in order.
    Returns: The number of runs that are no longer in the study (`in_study` is false). Earlier starts of the study made
        these runs.
    Raises OSError if the file cannot be written. The old file is then unchanged.
    Raises TraceError if the old file is damaged.
    """
    table = _table(runs, facts)
    path = folder / PLANS
    gone = 0
    if path.exists():
        old = parquetfiles.read_table(path, hint=_HINT)
        known = set(table["run_id"].to_pylist())
        # A run that left the study keeps its plan, because `run-again` must work for every row of the results.
        kept = old.filter(pa.array([run_id not in known for run_id in old["run_id"].to_pylist()], pa.bool_()))
        # Columns that this version does not write are dropped.
        kept, gone = kept.select(table.column_names), len(kept)
        false = pa.array([False] * gone, pa.bool_())
        # A run that was removed from the study file and added again has its old id, so it is already in `known`.
        kept = kept.set_column(kept.schema.get_field_index("in_study"), "in_study", false)
        table = pa.concat_tables([table, kept.cast(table.schema)])
        # An unchanged file is not written again, which saves an fsync. Its modification time therefore shows when the
        # study last changed.
        if table.equals(old, check_metadata=True):
            return gone
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd")
    disk.write_file(path, content.getvalue())
    return gone


def keep_inputs(folder: Path, paths: Iterable[Path]) -> None:
    """Copy the files that plans name into `00-inputs/`. The directory alone is enough to reproduce its runs.

    `expand` rejects a study that has different files with the same name.
    """
    for path in sorted(set(paths)):
        copy = folder / layout.INPUTS / path.name
        content = path.read_bytes()
        if not copy.exists() or copy.read_bytes() != content:
            copy.parent.mkdir(exist_ok=True)
            # The study file may now name a newer version of the file. A plan contains the sha256 of its own version.
            disk.write_file(copy, content)


def read_facts(folder: Path) -> StudyFacts:
    """Read the settings of the last start of the study in a directory.

    Raises TraceError if the directory is not a study's directory.
    """
    path = _path(folder)
    try:
        # Settings and plans are in one file, so they always belong to the same start of the study.
        stored = json.loads((parquetfiles.read_schema(path, hint=_HINT).metadata or {})[b"leowarp.study"])
        parameters = {name: pa.type_for_alias(kind) for name, kind in stored["parameters"].items()}
        # The name of the partition column becomes a folder name, so it must be a plain name.
        texts = name, keep, partition = stored["name"], stored["keep"], stored["partition"]
        if not all(plainfiles.is_plain_name(text) for text in texts) or keep not in KEEP:
            raise ValueError(f"name, keep and partition are {texts}")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, error) from error
    return StudyFacts(name, keep, Layout(parameters, partition))


def read_plans(folder: Path, run_id: str | None = None) -> list[StudyRun]:
    """Read the runs of the study in order, as its last start planned them. With `run_id`, return only the run with this
    id, even if it is no longer in the study. The list is empty if the id is unknown.

    Raises TraceError if the directory is not a study's directory, or if the file with the plans is damaged.
    """
    # The rows are filtered while reading, because often only one of many thousands of plans is needed.
    chosen = [("in_study", "==", True)] if run_id is None else [("run_id", "==", run_id)]
    path = _path(folder)
    table = parquetfiles.read_table(path, filters=chosen, hint=_HINT)
    try:
        return [_run(row) for row in table.to_pylist()]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, error) from error


def input_of(folder: Path, name: str) -> bytes:
    """Return the content of an input file to which plans of the study refer.

    Raises TraceError if the file cannot be read.
    """
    path = folder / layout.INPUTS / name
    try:
        return plainfiles.read(path, plainfiles.MOST_INPUT_BYTES)
    except OSError as error:
        raise TraceError(f"cannot read {path}: {error.strerror}", hint=_HINT) from error


def code_of(folder: Path, run: StudyRun) -> list[Code]:
    """Return the code that a run in the study's directory would execute: the user's kernel, if any, and modules. The
    result says that `plans.parquet` names this code, so `trust` asks the user before the code runs.

    Raises TraceError if the text of the run's plan is not a valid plan.
    """
    path = _path(folder)
    try:
        guest = tomltext.loads(run.plan)["guest"]
        kernel, modules = guest["kernel"], guest.get("cc_modules", [])
        # The study displays the column `kernel` and groups runs by it, but the kernel in the plan's text is executed.
        # The two differ only if somebody manipulated the file.
        if kernel != run.kernel or not all(plainfiles.is_plain_name(name) for name in modules):
            raise ValueError(f"the plan of the run {run.run_id} names other code than its row")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, error) from error
    code = [] if is_kernel_name(kernel) else [Code("guest.kernel", Path(kernel).expanduser(), path)]
    return code + [Code("guest.cc_modules", folder / layout.INPUTS / name, path) for name in modules]


def refuse_strange(folder: Path) -> None:
    """Raise TraceError if the directory of a study contains anything except files and directories.

    A study never makes links, pipes or devices. In a directory from another person, such entries could redirect writes
    or block reads (docs/security.md).
    """
    if (why := plainfiles.why_not_plain(folder)) is not None:
        raise TraceError(
            f"cannot open {folder} as a study: {why}, which a study never has", hint="whoever made it can tell why"
        )


def _path(folder: Path) -> Path:
    path = folder / PLANS
    if not path.exists():
        raise TraceError(f"cannot open {folder} as a study: it has no {PLANS}", hint="name the directory of a study")
    return path


def _table(runs: Sequence[StudyRun], facts: StudyFacts) -> pa.Table:
    columns: dict[str, list[Any]] = {
        "run_id": [run.run_id for run in runs],
        "number": [run.number for run in runs],
        "in_study": [True] * len(runs),
        "seed": [run.seed for run in runs],
        "kernel": [run.kernel for run in runs],
        "inputs": [list(run.inputs) for run in runs],
        # Values are stored as JSON text, because keys differ between studies, and values may have any TOML type.
        "values": [json.dumps(run.values, default=str) for run in runs],
        "columns": [json.dumps(run.columns) for run in runs],
        "origin": [json.dumps(vars(run.origin)) for run in runs],
        "plan_sha256": [run.plan_sha256 for run in runs],
        "before_seed": [run.around_seed[0] for run in runs],
        "after_seed": [run.around_seed[1] for run in runs],
    }
    facts_json = {
        "name": facts.name,
        "keep": facts.keep,
        "parameters": {name: str(kind) for name, kind in facts.layout.parameters.items()},
        "partition": facts.layout.partition,
    }
    arrays = {name: pa.array(values, _TYPES.get(name, pa.string())) for name, values in columns.items()}
    return pa.table(arrays, metadata={"leowarp.study": json.dumps(facts_json)})


def _damaged(path: Path, error: Exception) -> TraceError:
    return TraceError(f"cannot read {path}: {type(error).__name__}: {error}", hint=_HINT)


def _run(row: Mapping[str, Any]) -> StudyRun:
    """Return the run that a row of `plans.parquet` describes.

    Raises ValueError, KeyError, TypeError or AttributeError if the content is invalid. `read_plans` converts these
        errors to a TraceError.
    """
    # The run id and the names of inputs become file names, so they must not lead out of the study's directory.
    if re.fullmatch(r"[0-9a-f]{16}", row["run_id"]) is None:
        raise ValueError(f"{row['run_id']!r:.80} is not the id of a run")
    for name in row["inputs"]:
        if not plainfiles.is_plain_name(name):
            raise ValueError(f"{name!r:.80} is not the name of an input")
    values = json.loads(row["values"])
    columns = json.loads(row["columns"])
    if not isinstance(values, dict) or not isinstance(columns, dict):
        raise ValueError(f"the parameters of the run {row['run_id']} are no table")
    return StudyRun(
        **{name: row[name] for name in ("run_id", "number", "seed", "plan_sha256", "kernel")},
        # The texts are interned, so that all seeds of a combination share them in memory.
        around_seed=(sys.intern(row["before_seed"]), sys.intern(row["after_seed"])),
        inputs=tuple(row["inputs"]),
        values=values,
        columns=columns,
        origin=Origin(**json.loads(row["origin"])),
    )


_HINT = "it is damaged, or no leowarp wrote it: start the study again from its file, in another directory"
_TYPES = {
    "number": pa.int64(), "in_study": pa.bool_(), "seed": pa.int64(), "inputs": pa.list_(pa.string()),
    "before_seed": pa.large_string(), "after_seed": pa.large_string(),
}  # fmt: skip
