# SPDX-License-Identifier: Apache-2.0
"""`run_study` makes the missing runs of a study file and returns the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from leowarp.base import plainfiles
from leowarp.base.errors import LeowarpError, ScenarioError, decode_error
from leowarp.base.layout import STUDY_LOCK
from leowarp.base.machine.cgroups import usable_cores
from leowarp.base.progress import building, shown
from leowarp.guest import Declared, mistakes
from leowarp.guest.building import trust
from leowarp.running.workers import LocalWorkers
from leowarp.scenario import Plan
from leowarp.study.sweep import disk
from leowarp.study.sweep.display import OnStudyProgress, StudyDisplay
from leowarp.study.sweep.lock import holding
from leowarp.study.sweep.maker import GUESTS, Maker
from leowarp.study.sweep.manifest import STUDY as STUDY_KIND
from leowarp.study.sweep.manifest import remove_manifest, write_manifest
from leowarp.study.sweep.page import PAGE, write_page
from leowarp.study.sweep.parameters.expand import MOST_PROBLEMS, Combination, PlannedRun, expand
from leowarp.study.sweep.parameters.file import StudyFile
from leowarp.study.sweep.parameters.keys import column_name, column_types, plan_key
from leowarp.study.sweep.plans import (
    PLANS,
    StudyFacts,
    StudyRun,
    code_of,
    identified,
    keep_inputs,
    read_facts,
    read_plans,
    refuse_strange,
    write_plans,
)
from leowarp.study.sweep.rows import FAILED, RESERVED, Origin
from leowarp.study.sweep.session import Session, Task, Workers
from leowarp.study.sweep.store import Layout, Store
from leowarp.version import VERSION

STUDY = "study.toml"
"""The copy of the study file beside the results, as it was at the last start."""
SCRATCH = ".scratch"
"""The folder in which local workers make their runs. The folder is deleted at the end."""
MOST_PARTITIONS = 64
"""The largest number of values of a parameter that partitions the data set, because many small files read slowly."""


@dataclass(frozen=True)
class StudyResult:
    """The result of a study. All requested runs have been made or have failed.

    Attributes
    ----------
    path : Path
        The directory of the study.
    name : str
    page : Path
        The path of `index.html`.
    failures : dict of run id to LeowarpError
        The runs that could not be made, each with its error.
    removed : int
        The number of runs that are only in an earlier version of the study file, not in the current version. The rows
        of these runs remain in the results.
    """

    path: Path
    name: str
    page: Path
    failures: dict[str, LeowarpError]
    removed: int
    _table: pa.Table

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"StudyResult({self.name!r}, {len(self._table)} runs{failed}, {str(self.path)!r})"

    def table(self, columns: list[str] | None = None) -> pa.Table:
        """Return one row per requested run, in the order of the study. Failed runs have the `status` "failed".

        Parameters
        ----------
        columns : list of str, optional
            The columns to read, by default all (docs/guides/studies.md lists them).

        Returns
        -------
        Table
            Missing values are null. The unit of a quantity is in the column's name and in the field's metadata.
        """
        return self._table if columns is None else self._table.select(columns)


@dataclass(frozen=True)
class Options:
    """The keyword arguments of `run_study`."""

    at_once: int | None = None
    scheduler: str | None = None
    progress: bool | OnStudyProgress = True
    only: Callable[[StudyRun], bool] | None = None
    retry_failed: bool = False
    maker: Maker = GUESTS
    trust: bool = False


def run_study(
    study: StudyFile | Path | str, out: Path | str | None = None, *, at_once: int | None = None,
    scheduler: str | None = None, progress: bool | OnStudyProgress = True,
    only: Callable[[StudyRun], bool] | None = None, retry_failed: bool = False, maker: Maker = GUESTS,
    trust: bool = False,
) -> StudyResult:  # fmt: skip
    """Make the runs of a study that have no result yet.

    Parameters
    ----------
    study : StudyFile or path
        A study file, or the directory of a study that was started before.
    out : path, optional
        The directory of the study, by default `studies/<name>`.
    at_once : int, optional
        The number of worker processes on this machine, by default the number of usable cores.
    scheduler : str, optional
        The address of a Dask scheduler (`tcp://host:8786`), whose workers make the runs.
    progress : bool or callable
        True shows a display on stderr. A function is called with each `StudyProgress`.
    only : callable, optional
        A function that selects the runs that this start makes. Its argument is a `StudyRun`, which has `values` and
        `seed`. Runs that are not selected can be made at a later start.
    retry_failed : bool
        True to repeat runs that failed at earlier starts.
    maker : Maker
        The object that makes the runs. The maker is pickled when it is sent to the workers.
    trust : bool
        True to execute kernels and modules that the file names, even without an earlier consent of the user.

    Raises
    ------
    ScenarioError
        If the study file or the directory is wrong, or if another process is using the directory.
    HostError
        If the machine lacks something that the study needs. Completed runs remain stored, and the next start makes only
        the remaining runs.

    Returns
    -------
    StudyResult
        The page and the rows of the requested runs, including failed runs.

    Notes
    -----
    A run is made if the directory has no row with the run's id. The id is derived from the plan, the kernel, the agent
    and leowarp's version. For an interrupted study, `run_study` makes only the missing runs. If the study file is
    changed, new runs are added, and existing runs remain. With another kernel, all runs are repeated.

    >>> done = run_study("queue-sweep.toml", only=lambda run: run.seed == 1)            # doctest: +SKIP
    >>> done.table(["cc", "seed", "flow0_goodput_mean_bps"]).to_pandas()                # doctest: +SKIP
    """
    if at_once is not None and scheduler is not None:
        raise ScenarioError("--jobs counts workers of this machine, and --scheduler has others", "leave one away")
    options = Options(at_once, scheduler, progress, only, retry_failed, maker, trust)
    if not isinstance(study, StudyFile) and Path(study).is_dir():
        folder = Path(study)
        refuse_strange(folder)
        if out is not None and Path(out).resolve() != folder.resolve():
            raise ScenarioError(f"{folder} is a study's directory, and --out names another", "leave --out away")
        return _gone_on(folder, options)
    file = study if isinstance(study, StudyFile) else StudyFile.load(study)
    planned = expand(file)
    folder = Path(out) if out is not None else Path("studies") / file.name
    facts = StudyFacts(file.name, file.keep, layout_of(file))
    return _started(folder, facts, file, planned, options)


def run_plans(name: str, label: str, plans: Mapping[str, Plan], out: Path, options: Options) -> StudyResult:
    """Make the runs of any plans as one study, with the steps of `run_study`.

    label: The name of the results' column that contains the names of the runs.
    plans: The plans by name. No two plans may be equal.
    out: The directory of the study, for the results and all run directories.
    """
    planned = [
        PlannedRun(number, Combination({label: key}, {label: key}, plan), plan.run.seed)
        for number, (key, plan) in enumerate(plans.items())
    ]
    facts = StudyFacts(name, "all", Layout({label: pa.string()}, "status"))
    return _started(out, facts, None, planned, options)


def layout_of(file: StudyFile) -> Layout:
    """Return the columns of a study's parameters and the partition column of its results.

    The partition column is the first parameter with few values that are all words or counts. If no parameter meets both
    conditions, the partition column is `status`.

    Raises ScenarioError if a label equals the name of another column.
    """
    types: dict[str, pa.DataType] = {}
    partition = "status"
    for parameter in (parameter for joined in file.dimensions for parameter in joined):
        own = column_types(parameter.parts, parameter.label)
        if reserved := sorted(own.keys() & RESERVED):
            hint = f'write {{ values = [...], label = "a_{reserved[0]}" }}'
            raise ScenarioError(f"{parameter.origin}: {parameter.key}: the column {reserved[0]} is taken", hint)
        types |= own
        key = plan_key(parameter.parts)
        is_word = key is None or key.declared.kind in ("word", "text", "count", "file")
        if partition == "status" and is_word and len(parameter.values) <= MOST_PARTITIONS:
            # Words and counts can be folder names. A quantity has a column of numbers and a column of texts.
            partition = column_name(parameter.parts, parameter.label)
    return Layout(types, partition)


def _gone_on(folder: Path, options: Options) -> StudyResult:
    """Continue the study of a directory, even if the study file was changed or deleted."""
    # The study's facts are read before the lock is opened, so that a directory without a study gets no lock file.
    read_facts(folder)
    with holding(folder):
        # The settings are read under the lock, because the process that held the lock before may have changed them.
        facts, runs = read_facts(folder), read_plans(folder)
        trust.demand_code(_code_of(folder, runs, options.trust))
        return _held(folder, facts, None, runs, options)


def _started(
    folder: Path, facts: StudyFacts, file: StudyFile | None, planned: Sequence[PlannedRun], options: Options
) -> StudyResult:
    # All checks that may reject the study come before anything is written.
    _refuse_what_is_not_ours(folder, facts.name)
    trust.demand_code(_code_of(folder, planned, options.trust))
    _refuse_parameters(facts.name, planned, options)
    with disk.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with holding(folder):
        # Another study may have started in the directory since the first check.
        _refuse_what_is_not_ours(folder, facts.name)
        return _held(folder, facts, file, planned, options)


def _held(
    folder: Path, facts: StudyFacts, file: StudyFile | None, runs: Sequence[PlannedRun | StudyRun], options: Options
) -> StudyResult:
    origins: dict[str, Origin] = {}
    for kernel in dict.fromkeys(run.kernel for run in runs):
        # The image is hashed and its missing parts are built, which may take minutes.
        with building(options.progress is True) as built:
            origins[kernel] = Origin(*options.maker.image_sha256(kernel, built.message, built.steps), VERSION)
    # Runs that were read from the directory get new ids if the kernel or the version of leowarp has changed.
    known = [identified(run, origins[run.kernel]) for run in runs]
    with disk.writing(folder):
        remove_manifest(folder)
        keep_inputs(folder, [path for run in runs if isinstance(run, PlannedRun) for path in run.inputs])
        # Plans are written before results, so that every row has its plan even if the study is killed.
        removed = write_plans(folder, facts, known)
        if file is not None:
            disk.write_file(folder / STUDY, file.text.encode())
    return _made(folder, facts, known, removed, options)


def _code_of(folder: Path, runs: Sequence[PlannedRun | StudyRun], may_run: bool) -> list[trust.Code]:
    """Return the code that the plans would execute, without duplicates. If `may_run` is true, it is treated as if the
    user had named it on the command line."""
    # Runs with the same values differ only in their seed, so one run per combination of values is examined.
    alike = {id(run.combination) if isinstance(run, PlannedRun) else run.around_seed: run for run in runs}
    distinct: dict[trust.Code, None] = {}
    for run in alike.values():
        codes = trust.code_of(run.combination.plan.guest) if isinstance(run, PlannedRun) else code_of(folder, run)
        distinct |= {replace(code, named_in=None) if may_run else code: None for code in codes}
    return list(distinct)


def _refuse_parameters(name: str, planned: Sequence[PlannedRun], options: Options) -> None:
    """Raise ScenarioError if a run sets a parameter or a value that its kernel module does not take.

    The parameters of a module are known only after it is compiled, so they are not checked when plans are loaded.
    """
    declared: dict[str, Declared] = {}
    wrong: dict[tuple[str, str], Combination] = {}
    with building(options.progress is True) as built:
        for combination in {id(run.combination): run.combination for run in planned}.values():
            plan = combination.plan
            # Many of thousands of combinations have the same guest settings.
            guest = repr(plan.guest)
            if plan.modules and guest not in declared:
                declared[guest] = options.maker.declared(plan, built.message, built.steps)
            for mistake in mistakes(plan.modules, declared.get(guest, {})):
                wrong.setdefault(mistake, combination)
    if wrong:
        lines = [f"{message}; {cure}\n    in the combination {first}" for (message, cure), first in wrong.items()]
        shown = "\n".join(lines[:MOST_PROBLEMS])
        count = "" if len(lines) == 1 else f"{len(lines)} errors:\n"
        raise ScenarioError(f"the study {name} sets what its modules do not take; {count}{shown}")


def _made(folder: Path, facts: StudyFacts, runs: Sequence[StudyRun], removed: int, options: Options) -> StudyResult:
    """Make the requested runs that have no result, and return the rows of all requested runs."""
    asked = [run for run in runs if options.only is None or options.only(run)]
    store = Store(folder, facts.layout)
    try:
        store.align({run.run_id: (run.number, run.columns) for run in runs})
        if options.retry_failed:
            store.drop([run.run_id for run in asked if store.status.get(run.run_id) == FAILED])
        missing = sum(run.run_id not in store.status for run in asked)
        if missing:
            task = Task(facts.name, folder, asked, facts.keep, options.maker)
            with shown(options.progress, StudyDisplay) as show:
                workers = _workers(folder, missing, options)
                try:
                    Session(task, store, workers, show).run()
                finally:
                    # A running guest would still write into the scratch directory.
                    workers.end()
                    plainfiles.remove(folder / SCRATCH)
        store.compact()
        table = store.table()
    finally:
        store.close()
    mine = table.filter(table["in_study"])
    with disk.writing(folder):
        # After a partial start, a page with only the requested runs would be misleading.
        write_page(folder, facts.name, runs, mine, len(table) - len(mine))
        failed = pc.sum(pc.equal(mine["status"], FAILED)).as_py() or 0
        counts = {"planned": len(runs), "made": len(mine), "failed": failed}
        write_manifest(folder, STUDY_KIND, {"name": facts.name, "runs": counts})
    wanted = pa.array([run.run_id for run in asked], pa.string())
    table = table.filter(pc.is_in(table["run_id"], wanted))
    return StudyResult(folder, facts.name, folder / PAGE, _failures(table), removed, table)


def _workers(folder: Path, missing: int, options: Options) -> Workers:
    """Return the workers of the user's Dask scheduler, else local processes, but not more than `missing` runs.

    Local workers use `.scratch` in `folder`, so that temporary files are on the same disk as the results.
    """
    if options.scheduler is not None:
        # Dask is an optional dependency (`leowarp[dask]`).
        from leowarp.study.sweep.scheduler import DaskWorkers

        return DaskWorkers(options.scheduler)
    scratch = folder / SCRATCH
    with disk.writing(folder):
        # Workers that were killed during an earlier start may have left files.
        plainfiles.remove(scratch)
        scratch.mkdir()
    return LocalWorkers(
        # A process under Slurm or taskset may use only some of the cores.
        min(options.at_once or usable_cores(), missing),
        scratch.resolve(),
        "a worker of the study",
    )


def _failures(table: pa.Table) -> dict[str, LeowarpError]:
    failed = table.filter(pc.equal(table["status"], FAILED))
    columns = {"run_id": "run_id", "error_kind": "kind", "error": "message", "error_hint": "hint"}
    rows = failed.select(list(columns)).rename_columns(list(columns.values())).to_pylist()
    return {row["run_id"]: decode_error(row) for row in rows}


def _refuse_what_is_not_ours(folder: Path, name: str) -> None:
    """Raise ScenarioError if the directory contains another study, or something that is not a study.

    A directory with a lock file and no plans is accepted, because its study ended before its plans were written.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ScenarioError(f"cannot make a study in {folder}: it is a file", hint="choose another with --out")
    refuse_strange(folder)
    if (folder / PLANS).exists():
        # A study is recognised by its name only, so that a changed study file continues in its directory.
        other = read_facts(folder).name
        if other != name:
            raise ScenarioError(
                f"cannot make the study {name} in {folder}: it holds the study {other}",
                hint="choose another directory with --out",
            )
    elif not (folder / STUDY_LOCK).exists() and (strange := sorted(entry.name for entry in folder.iterdir())):
        raise ScenarioError(
            f"cannot make a study in {folder}: it holds {strange[0]!r}, which is not part of a study",
            hint="choose an empty or a new directory with --out",
        )
