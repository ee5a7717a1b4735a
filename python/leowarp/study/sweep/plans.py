# SPDX-License-Identifier: Apache-2.0
"""`plans.parquet`: every run that a study has or had, with the text of its plan, so that any run can be repeated."""

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

from leowarp.base import layout, parquetfiles, plainfiles, tomltext
from leowarp.base.errors import TraceError
from leowarp.guest.building.trust import Code
from leowarp.scenario import is_kernel_name
from leowarp.study.sweep import disk
from leowarp.study.sweep.parameters.expand import PlannedRun
from leowarp.study.sweep.parameters.file import KEEP
from leowarp.study.sweep.rows import Origin
from leowarp.study.sweep.store import Layout

PLANS = "plans.parquet"
"""The presence of this file marks a directory as a study's."""


@dataclass(frozen=True)
class StudyRun:
    """A run of a study with its identity.

    The run id is `sha256(plan_sha256, kernel_sha256, agent_sha256, leowarp_version)`, joined by newlines, cut to 64
    bits: among a million runs, two ids are equal with a probability of 3e-8.

    run_id: 16 hexadecimal digits derived from everything that the results depend on: the plan, the kernel, the agent
        and leowarp's version.
    number: Place in the study.
    around_seed: Text of its plan before and after the seed; the runs of a combination share it.
    inputs: Names of the files that the plan names; copies lie in `00-inputs/` of the study.
    kernel: The plan's `guest.kernel`.
    values: Dotted keys of the parameters, with values as written.
    columns: Columns of the results that its parameters fill.
    origin: Checksums of the kernel and agent, and the version, that make the run.
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
        """Text of the run's plan."""
        return str(self.seed).join(self.around_seed)

    def __str__(self) -> str:
        """Values and seed of the run, for messages: `isl.loss = 0.01 %, seed 7`."""
        return ", ".join([*(f"{key} = {value}" for key, value in self.values.items()), f"seed {self.seed}"])


def identified(run: PlannedRun | StudyRun, origin: Origin) -> StudyRun:
    """A run with the identity that it gets from `origin`.

    run: Run from a study file, or read back from `plans.parquet`. In the latter case kernel, agent or version may have
        changed, and it becomes another run.
    origin: The present kernel, agent and version.
    """
    parts = (run.plan_sha256, origin.kernel_sha256, origin.agent_sha256, origin.leowarp_version)
    # The plan alone does not identify a run: another kernel, agent or version may give another result
    # (docs/changes/0.2.0.md, "Results change").
    run_id = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
    # The run comes from an earlier start: with a newer kernel, agent or version it is another run.
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
    """Further settings of a study's start, stored in the metadata of `plans.parquet`.

    name, keep: Values from the study file.
    layout: Layout of the results.
    """

    name: str
    keep: str
    layout: Layout


def write_plans(folder: Path, facts: StudyFacts, runs: Sequence[StudyRun]) -> int:
    """Write `plans.parquet` with the study's runs and the earlier ones, so that any stored row can be repeated.

    facts: Settings of the present start.
    runs: All runs of the study, in order.
    Returns: Number of runs from earlier starts that are no longer in the study (`in_study` false).
    Raises OSError if the file cannot be written; the old file stays.
    Raises TraceError if the old file is damaged.
    """
    table = _table(runs, facts)
    path = folder / PLANS
    gone = 0
    if path.exists():
        old = parquetfiles.read_table(path, hint=_HINT)
        known = set(table["run_id"].to_pylist())
        # Plans of runs that left the study are kept, because their rows are kept: `run-again` works for every row.
        kept = old.filter(pa.array([run_id not in known for run_id in old["run_id"].to_pylist()], pa.bool_()))
        # Columns that older versions wrote are dropped.
        kept, gone = kept.select(table.column_names), len(kept)
        false = pa.array([False] * gone, pa.bool_())
        # A run that returns with a later study file has the same id, so it is already in `known`.
        kept = kept.set_column(kept.schema.get_field_index("in_study"), "in_study", false)
        table = pa.concat_tables([table, kept.cast(table.schema)])
        # Continuing a study does not rewrite the file: this saves a sync, and the file's time says when the study was
        # changed.
        if table.equals(old, check_metadata=True):
            return gone
    content = io.BytesIO()
    pq.write_table(table, content, compression="zstd")
    disk.write_file(path, content.getvalue())
    return gone


def keep_inputs(folder: Path, paths: Iterable[Path]) -> None:
    """Copy the files that plans name into `00-inputs/`, so that the directory alone can reproduce its runs.

    File names are unique (`expand` refuses two contents of one name). An identical copy is left alone.
    """
    for path in sorted(set(paths)):
        copy = folder / layout.INPUTS / path.name
        content = path.read_bytes()
        if not copy.exists() or copy.read_bytes() != content:
            copy.parent.mkdir(exist_ok=True)
            # A differing copy is replaced: the study file may name another version of the file, whose sha256 is in the
            # plans.
            disk.write_file(copy, content)


def read_facts(folder: Path) -> StudyFacts:
    """Settings of the directory's last start.

    The settings are checked like all input from files: names must be plain, because the partition names folders.

    Raises TraceError if the directory is not a study's.
    """
    path = _path(folder)
    try:
        # The settings are in the table's own metadata: settings and plans are replaced in one step, so they always
        # belong to the same start.
        stored = json.loads((parquetfiles.read_schema(path, hint=_HINT).metadata or {})[b"leowarp.study"])
        parameters = {name: pa.type_for_alias(kind) for name, kind in stored["parameters"].items()}
        texts = name, keep, partition = stored["name"], stored["keep"], stored["partition"]
        if not all(plainfiles.is_plain_name(text) for text in texts) or keep not in KEEP:
            raise ValueError(f"name, keep and partition are {texts}")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, error) from error
    return StudyFacts(name, keep, Layout(parameters, partition))


def read_plans(folder: Path, run_id: str | None = None) -> list[StudyRun]:
    """The runs of the study as last started; with `run_id`, only that run, even if it left the study.

    run_id: Id of the only run to read, whether or not it is still in the study.
    Returns: Runs in the order of the study; one or none if `run_id` is set.
    Raises TraceError if the directory is not a study's, or the file is damaged.
    """
    # Rows are filtered while reading: often one plan out of many thousands is needed.
    chosen = [("in_study", "==", True)] if run_id is None else [("run_id", "==", run_id)]
    path = _path(folder)
    table = parquetfiles.read_table(path, filters=chosen, hint=_HINT)
    try:
        return [_run(row) for row in table.to_pylist()]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, error) from error


def input_of(folder: Path, name: str) -> bytes:
    """A file that plans of the study name.

    Raises TraceError if it cannot be read.
    """
    path = folder / layout.INPUTS / name
    try:
        return plainfiles.read(path, plainfiles.MOST_INPUT_BYTES)
    except OSError as error:
        raise TraceError(f"cannot read {path}: {error.strerror}", hint=_HINT) from error


def code_of(folder: Path, run: StudyRun) -> list[Code]:
    """Code, besides leowarp's own kernel, that executes if a run is made from the study's directory alone.

    Raises TraceError if the text of its plan is not a valid plan.
    Returns: A custom kernel, then modules; empty for a plan that runs only leowarp's own kernel. The source of this
        code is given as `plans.parquet`, so that `trust` asks before it runs.
    """
    path = _path(folder)
    try:
        guest = tomltext.loads(run.plan)["guest"]
        kernel, modules = guest["kernel"], guest.get("cc_modules", [])
        # The study shows and groups runs by the column, but the text decides what would run. Column and text differ
        # only in a manipulated file.
        if kernel != run.kernel or not all(plainfiles.is_plain_name(name) for name in modules):
            raise ValueError(f"the plan of the run {run.run_id} names other code than its row")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _damaged(path, error) from error
    # "default" is the kernel that leowarp builds itself; any other value is a file named by the plan.
    code = [] if is_kernel_name(kernel) else [Code("guest.kernel", Path(kernel).expanduser(), path)]
    return code + [Code("guest.cc_modules", folder / layout.INPUTS / name, path) for name in modules]


def refuse_strange(folder: Path) -> None:
    """Raises TraceError if a study's directory contains anything except files and directories.

    A study never makes links, pipes or devices. A directory from someone else may contain them, to redirect writes or
    to block reads (docs/security.md).
    """
    if (why := plainfiles.why_not_plain(folder)) is not None:
        raise TraceError(
            f"cannot open {folder} as a study: {why}, which a study never has", hint="whoever made it can tell why"
        )


def _path(folder: Path) -> Path:
    """The file of plans; a directory without it is not a study's."""
    path = folder / PLANS
    if not path.exists():
        raise TraceError(f"cannot open {folder} as a study: it has no {PLANS}", hint="name the directory of a study")
    return path


def _table(runs: Sequence[StudyRun], facts: StudyFacts) -> pa.Table:
    """Plans as a table. The text of a plan is stored in two parts, which come before and after its seed. Both parts are
    equal for all seeds of a combination, so they compress well.
    """
    columns: dict[str, list[Any]] = {
        "run_id": [run.run_id for run in runs],
        "number": [run.number for run in runs],
        "in_study": [True] * len(runs),
        "seed": [run.seed for run in runs],
        "kernel": [run.kernel for run in runs],
        "inputs": [list(run.inputs) for run in runs],
        # Values are stored as JSON text: keys differ between studies, and values have any TOML type.
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
    """The error for a plans file that no study could have written."""
    return TraceError(f"cannot read {path}: {type(error).__name__}: {error}", hint=_HINT)


def _run(row: Mapping[str, Any]) -> StudyRun:
    """A row of `plans.parquet` as a run.

    Raises ValueError, KeyError, TypeError, AttributeError if any content is invalid; `read_plans` converts these to a
        TraceError.
    """
    # Run id and input name become file names: they must not lead out of the study's directory.
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
        # All seeds of a combination share one text object in memory.
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
