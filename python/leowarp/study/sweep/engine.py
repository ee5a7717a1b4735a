# SPDX-License-Identifier: Apache-2.0
"""`run_study`: the runs of a study file, made where they are not there yet, and their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from leowarp.base import plainfiles
from leowarp.base.errors import LeowarpError, ScenarioError, decode_error
from leowarp.base.progress import building, shown
from leowarp.guest import Declared, mistakes
from leowarp.guest.building import trust
from leowarp.guest.machine.cgroups import usable_cores
from leowarp.running.workers import LocalWorkers
from leowarp.study.sweep import disk
from leowarp.study.sweep.display import OnStudyProgress, StudyDisplay
from leowarp.study.sweep.lock import LOCK, Holding
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
"""The study file as it was last started with, kept beside its results."""
SCRATCH = ".scratch"
"""Where workers of this machine make their runs; it is gone at the end."""
MOST_PARTITIONS = 64
"""A parameter with more values makes no folders: files of a few rows each would be slower to read than one."""


@dataclass(frozen=True)
class StudyResult:
    """A study that has come to its end.

    Attributes
    ----------
    path : Path
        Its directory.
    name : str
    page : Path
        `index.html`.
    failures : dict of run id to LeowarpError
        Runs that could not be made.
    removed : int
        Runs of an earlier study file that are no longer in the study; their rows stay in the results.
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
        """One row a run that was asked for, in the order of the study; failed ones have `status` "failed".

        Parameters
        ----------
        columns : list of str, optional
            Those alone; all if not given (docs/guides/studies.md lists them).

        Returns
        -------
        Table
            A missing value is null; quantities have their unit in the name and in the field's metadata.
        """
        return self._table if columns is None else self._table.select(columns)


@dataclass(frozen=True)
class Options:
    """How a study is made; see `run_study`, whose keyword arguments these are."""

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
    """Makes the runs of a study that have no result yet.

    Parameters
    ----------
    study : StudyFile or path
        A study file, or the directory of a study that was started before.
    out : path, optional
        The study's directory; `studies/<name>` if not given.
    at_once : int, optional
        Worker processes on this machine; as many as there are usable cores if not given.
    scheduler : str, optional
        Address of a Dask scheduler (`tcp://host:8786`) whose workers make the runs instead.
    progress : bool or callable
        True: a display on stderr. A callable gets each `StudyProgress`.
    only : callable, optional
        Which runs are asked for (a `StudyRun` has `values` and `seed`); the others are left for later.
    retry_failed : bool
        Whether failed runs of earlier starts are repeated.
    maker : Maker
        What makes the runs; it is pickled on its way to the workers.
    trust : bool
        Whether kernels and modules that a file names may run, though they were never accepted.

    Raises
    ------
    ScenarioError
        If the study file or the directory is wrong, or another process is at work there.
    HostError
        If the machine lacks something. Finished runs stay, and the next start goes on from there.

    Returns
    -------
    StudyResult
        The rows of the runs that were asked for, failed ones included, and the page.

    Notes
    -----
    A run is made if the directory has no row of its id, which follows from its plan, the kernel, the agent and
    leowarp's version. So a study goes on where it was stopped, a changed study file adds runs and keeps the others, and
    another kernel makes all of them again.

    >>> done = run_study("queue-sweep.toml", only=lambda run: run.seed == 1)            # doctest: +SKIP
    >>> done.table(["cc", "seed", "flow0_goodput_mean_bps"]).to_pandas()                # doctest: +SKIP
    """
    # Neither is ignored silently: a user who gives both believes in one of them.
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
    return _started(folder, file, planned, options)


def layout_of(file: StudyFile) -> Layout:
    """The columns of a study's parameters, and the one that its results are partitioned by.

    The partition is the first parameter with few values that are words or counts, or else whether a run failed.

    Raises ScenarioError if a label is the name of another column.
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
            # Words and counts have names that a folder can have; quantities are one column as a number and one as text.
            partition = column_name(parameter.parts, parameter.label)
    return Layout(types, partition)


def _gone_on(folder: Path, options: Options) -> StudyResult:
    """The part of `run_study` for a directory alone: the study goes on as it was last started, though its file may be
    gone or changed.
    """
    # A directory that is no study's gets no lock file.
    read_facts(folder)
    with Holding(folder):
        # Read with the lock: who held it until now may have been started with another study file.
        facts, runs = read_facts(folder), read_plans(folder)
        trust.demand_code(_code_of(folder, runs, options.trust))
        return _held(folder, facts, None, runs, options)


def _started(folder: Path, file: StudyFile, planned: Sequence[PlannedRun], options: Options) -> StudyResult:
    """The part of `run_study` for a study file once its runs are known.

    Code is asked about before anything is written, so that a study that is refused leaves no trace.
    """
    facts = StudyFacts(file.name, file.keep, layout_of(file))
    # First what may be refused without writing anything.
    _refuse_what_is_not_ours(folder, file.name)
    trust.demand_code(_code_of(folder, planned, options.trust))
    _refuse_parameters(file, planned, options)
    with disk.writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with Holding(folder):
        # Another study may have begun there meanwhile.
        _refuse_what_is_not_ours(folder, file.name)
        return _held(folder, facts, file, planned, options)


def _held(
    folder: Path, facts: StudyFacts, file: StudyFile | None, runs: Sequence[PlannedRun | StudyRun], options: Options
) -> StudyResult:
    """The part of `run_study` under the lock, which keeps every other process from writing in the directory: writes the
    plans, makes the runs.
    """
    # Once a kernel, not once a run: it hashes the image, and builds what is missing, which may take minutes.
    origins = {kernel: _origin(kernel, options) for kernel in dict.fromkeys(run.kernel for run in runs)}
    # Also for runs that were read back: kernel or leowarp may have changed since, and then they are other runs.
    known = [identified(run, origins[run.kernel]) for run in runs]
    with disk.writing(folder):
        remove_manifest(folder)
        keep_inputs(folder, [path for run in runs if isinstance(run, PlannedRun) for path in run.inputs])
        # Plans before results: a row always has its plan, whenever the study is killed.
        removed = write_plans(folder, facts, known)
        if file is not None:
            disk.write_file(folder / STUDY, file.text.encode())
    return _made(folder, facts, known, removed, options)


def _code_of(folder: Path, runs: Sequence[PlannedRun | StudyRun], may_run: bool) -> list[trust.Code]:
    """Code that all plans would run, once each; all of it named by the user if he says so."""
    # Runs of a combination differ in their seed alone.
    alike = {id(run.combination) if isinstance(run, PlannedRun) else run.around_seed: run for run in runs}
    distinct: dict[trust.Code, None] = {}
    for run in alike.values():
        codes = trust.code_of(run.combination.plan.guest) if isinstance(run, PlannedRun) else code_of(folder, run)
        distinct |= {replace(code, named_in=None) if may_run else code: None for code in codes}
    return list(distinct)


def _refuse_parameters(file: StudyFile, planned: Sequence[PlannedRun], options: Options) -> None:
    """Raises ScenarioError if a run has a parameter that its module does not have or does not take.

    The modules themselves know which they have, so that this is found when they are compiled and not when plans are
    loaded.
    """
    declared: dict[str, Declared] = {}
    wrong: dict[tuple[str, str], Combination] = {}
    with building(options.progress is True) as built:
        for combination in {id(run.combination): run.combination for run in planned}.values():
            plan = combination.plan
            # Studies of thousands of values have one guest.
            guest = repr(plan.guest)
            if plan.modules and guest not in declared:
                declared[guest] = options.maker.declared(plan, built.message, built.steps)
            for mistake in mistakes(plan.modules, declared.get(guest, {})):
                wrong.setdefault(mistake, combination)
    if wrong:
        lines = [f"{message}; {cure}\n    in the combination {first}" for (message, cure), first in wrong.items()]
        shown = "\n".join(lines[:MOST_PROBLEMS])
        count = "" if len(lines) == 1 else f"{len(lines)} errors:\n"
        raise ScenarioError(f"the study {file.name} sets what its modules do not take; {count}{shown}")


def _made(folder: Path, facts: StudyFacts, runs: Sequence[StudyRun], removed: int, options: Options) -> StudyResult:
    """Makes what is missing of the runs that are asked for, and gives all of their rows.

    The workers end and their scratch goes whatever happens, Ctrl-C included; the page is written from the data set, so
    it also shows runs of earlier starts.
    """
    # The plans of all runs are written, those of the others are made by a later start.
    asked = [run for run in runs if options.only is None or options.only(run)]
    store = Store(folder, facts.layout)
    try:
        # Before anything is made: the study file may have been changed since its rows were written.
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
                    # Before the scratch directory goes: a guest that still runs would write into it.
                    workers.end()
                    plainfiles.remove(folder / SCRATCH)
        # At the end rather than at the next start: what reads the data set afterwards opens few files.
        store.compact()
        table = store.table()
    finally:
        store.close()
    mine = table.filter(table["in_study"])
    with disk.writing(folder):
        # The whole study, not only the runs asked for: a page that showed less after a partial start would mislead.
        write_page(folder, facts.name, runs, mine, len(table) - len(mine))
        failed = pc.sum(pc.equal(mine["status"], FAILED)).as_py() or 0
        counts = {"planned": len(runs), "made": len(mine), "failed": failed}
        write_manifest(folder, STUDY_KIND, {"name": facts.name, "runs": counts})
    wanted = pa.array([run.run_id for run in asked], pa.string())
    table = table.filter(pc.is_in(table["run_id"], wanted))
    return StudyResult(folder, facts.name, folder / PAGE, _failures(table), removed, table)


def _workers(folder: Path, missing: int, options: Options) -> Workers:
    """Workers of the scheduler that was named, or as many processes as there are cores, but no more than runs.

    folder: The study's directory; local workers write below `.scratch` in it, so on the disk that must have room
        anyway.
    missing: Runs to make, 1 or more.
    """
    if options.scheduler is not None:
        # Imported here: Dask is an optional dependency (`leowarp[dask]`).
        from leowarp.study.sweep.scheduler import DaskWorkers

        return DaskWorkers(options.scheduler)
    scratch = folder / SCRATCH
    with disk.writing(folder):
        # Leftovers of workers that were killed
        plainfiles.remove(scratch)
        scratch.mkdir()
    return LocalWorkers(
        # sched_getaffinity, not os.cpu_count: under Slurm or taskset a process may use fewer cores than there are.
        min(options.at_once or usable_cores(), missing),
        scratch.resolve(),
        "a worker of the study",
    )


def _origin(kernel: str, options: Options) -> Origin:
    """Makers of the runs of a kernel: checksums, and leowarp's version. Builds what is not there."""
    with building(options.progress is True) as built:
        kernel_sha256, agent_sha256 = options.maker.image_sha256(kernel, built.message, built.steps)
    return Origin(kernel_sha256, agent_sha256, VERSION)


def _failures(table: pa.Table) -> dict[str, LeowarpError]:
    """The errors of failed runs, of the kind that they had where they arose, by run id."""
    failed = table.filter(pc.equal(table["status"], FAILED))
    columns = {"run_id": "run_id", "error_kind": "kind", "error": "message", "error_hint": "hint"}
    rows = failed.select(list(columns)).rename_columns(list(columns.values())).to_pylist()
    return {row["run_id"]: decode_error(row) for row in rows}


def _refuse_what_is_not_ours(folder: Path, name: str) -> None:
    """Raises ScenarioError if the directory holds another study, or anything that is not a study's.

    A directory with a lock and nothing else is a study's that was ended before its plans were written.
    """
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ScenarioError(f"cannot make a study in {folder}: it is a file", hint="choose another with --out")
    refuse_strange(folder)
    if (folder / PLANS).exists():
        # By name: another version of the same study file goes on in the same directory, one of another name would mix
        # two.
        other = read_facts(folder).name
        if other != name:
            raise ScenarioError(
                f"cannot make the study {name} in {folder}: it holds the study {other}",
                hint="choose another directory with --out",
            )
    elif not (folder / LOCK).exists() and (strange := sorted(entry.name for entry in folder.iterdir())):
        raise ScenarioError(
            f"cannot make a study in {folder}: it holds {strange[0]!r}, which is not part of a study",
            hint="choose an empty or a new directory with --out",
        )
