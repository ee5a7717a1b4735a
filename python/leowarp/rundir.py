# SPDX-License-Identifier: Apache-2.0
"""A run directory: the street on disk, either complete or marked incomplete, and its tables.

While a run is being written, the directory holds a file `INCOMPLETE` that says why; the writer keeps it locked, so a
writer that was killed is told from one that still works. The last step of a run is `manifest.json`, then the mark goes.
"""

from __future__ import annotations

import dataclasses
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from leowarp import plainfiles, recorded
from leowarp.errors import HostError, ScenarioError, TraceError
from leowarp.metadata import decode_metadata

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from leowarp.scenario import Plan

PLAN = "00-plan.toml"
INPUTS = "00-inputs"
ROUTES = "10-routes.parquet"
TIMELINE = "20-timeline.parquet"
TRACE = "30-trace"
METRICS = "40-metrics.parquet"
REPORT = "50-report"
SUMMARY = "summary.json"
MANIFEST = "manifest.json"
INCOMPLETE = "INCOMPLETE"
GUEST = ".guest"
CONSOLE = "guest-console.txt"
ARTEFACTS = (PLAN, INPUTS, ROUTES, TIMELINE, TRACE, METRICS, REPORT, SUMMARY, MANIFEST, GUEST, CONSOLE, INCOMPLETE)


class RunDirectory:
    """A complete run directory.

    Parameters
    ----------
    path : path
        The directory.

    Raises
    ------
    TraceError
        If it is none, or is marked incomplete; the message says why.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        refuse_strange(self.path)
        reason = why_incomplete(self.path)
        if reason is not None:
            raise TraceError(f"cannot open {self.path} as a run: {reason}", hint=_again(self.path))

    @property
    def plan(self) -> Plan:
        """The plan: the scenario with every default written out."""
        from leowarp import scenario

        return scenario.resolve(scenario.load(self.path / PLAN))

    @property
    def summary(self) -> dict[str, Any]:
        """The run's scalars (`summary.json`), units in the names."""
        return read_summary(self.path)

    @property
    def manifest(self) -> dict[str, Any]:
        """Versions, seed, warnings, costs and the sha256 of each file (`manifest.json`)."""
        return read_manifest(self.path)

    @property
    def warnings(self) -> list[str]:
        """What to check before trusting the result."""
        return list(self.manifest["warnings"])

    def table(self, name: str, *, columns: list[str] | None = None, filters: Any = None) -> pa.Table:
        """A table as Arrow: a trace table, `routes`, `timeline` or `metrics`."""
        own = {"routes": ROUTES, "timeline": TIMELINE, "metrics": METRICS}
        if name not in own:
            from leowarp import trace

            return trace.read(self.path / TRACE, name, columns=columns, filters=filters)
        from leowarp import parquetfiles

        path = self.path / own[name]
        if not path.exists():
            raise TraceError(
                f"cannot read {name}: there is no {path}", hint="this scenario has none, or the run is older"
            )
        return parquetfiles.read_table(path, columns=columns, filters=filters)

    def _frame(self, name: str, flow: int | None = None) -> pd.DataFrame:
        filters = None if flow is None else [("flow", "==", flow)]
        return data_frame(self.table(name, filters=filters))

    def sockets(self, flow: int | None = None) -> pd.DataFrame:
        """TCP_INFO over time; of one flow, or of all."""
        return self._frame("sockets", flow)

    def packets(self, flow: int | None = None) -> pd.DataFrame:
        """Packet truth: the stored packets, each with its arrival or its place and cause of loss."""
        return self._frame("packets", flow)

    def bins(self, flow: int | None = None) -> pd.DataFrame:
        """Packets by 50 ms of sending time; complete, whatever packets are stored."""
        return self._frame("bins", flow)

    def delays(self, flow: int | None = None) -> pd.DataFrame:
        """One-way delays and round trips of all packets, counted in narrow bins."""
        return self._frame("delays", flow)

    def flows(self) -> pd.DataFrame:
        """One row a flow: connecting, first and last byte, completion, bytes."""
        return self._frame("flows")

    def echoes(self, flow: int | None = None) -> pd.DataFrame:
        """Probe packets of ping and udp flows."""
        return self._frame("echoes", flow)

    def acks(self, flow: int | None = None) -> pd.DataFrame:
        """How receivers acknowledged: ACKs by the segments that they answer and the wait of the first of these."""
        return self._frame("acks", flow)

    def drops(self) -> pd.DataFrame:
        """Every packet dropped on a link."""
        return self._frame("drops")

    def counters(self) -> pd.DataFrame:
        """The kernel's counters by time, host (by name) and counter."""
        table = self.table("counters")
        frame = data_frame(table)
        hosts = decode_metadata(table.schema, "hosts")
        if hosts is not None:
            frame["host"] = frame["host"].map(dict(enumerate(hosts)))
        return frame

    def links(self) -> pd.DataFrame:
        """Queue of each direction of a link over time, with the names of its ends."""
        return self._with_ends("links")

    def linktotals(self) -> pd.DataFrame:
        """Balance of each direction of a link at the end, with the names of its ends."""
        return self._with_ends("linktotals")

    def routes(self) -> pd.DataFrame:
        """Paths between the stations that talk, one row a route update and pair."""
        return self._frame("routes")

    def timeline(self) -> pd.DataFrame:
        """Events of the emulated network."""
        return self._frame("timeline")

    def metrics(self) -> pd.DataFrame:
        """What was computed from the trace."""
        return self._frame("metrics")

    def _with_ends(self, name: str) -> pd.DataFrame:
        table = self.table(name)
        frame = data_frame(table)
        directions = decode_metadata(table.schema, "directions")
        if directions is not None:
            for place, column in ((0, "from"), (1, "to"), (2, "kind")):
                frame[column] = frame["direction"].map({i: end[place] for i, end in enumerate(directions)})
        return frame


class Writing:
    """A run directory while it is written: `with Writing(path, force=False) as directory:`.

    It makes the directory and the mark `INCOMPLETE`, and locks that. An exception replaces the text of the mark by
    its message and leaves what was written; a normal end takes the mark away, provided that there is a manifest.

    Raises
    ------
    ScenarioError
        If `path` holds a complete run and `force` is not set, or something that is no run.
    HostError
        If it cannot be written: no permission, no space.
    """

    def __init__(self, path: Path | str, *, force: bool = False) -> None:
        self.path = Path(path)
        self.force = force
        self._mark = -1

    def __enter__(self) -> Path:
        self._refuse_what_is_not_ours()
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            # NONBLOCK: a pipe that came there since the look above would be waited for.
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
            self._mark = os.open(self.path / INCOMPLETE, flags, 0o666)
        except OSError as error:
            raise _unwritable(self.path, error) from error
        try:
            fcntl.flock(self._mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._mark)
            raise ScenarioError(
                f"cannot write a run to {self.path}: another process is writing one there",
                hint="wait for it, or choose another directory with --out",
            ) from None
        # The mark stands before anything of an older run goes.
        self.because("the run was started and has not ended; a kill -9 or a power cut leaves it so")
        for name in ARTEFACTS:
            if name != INCOMPLETE:
                remove(self.path / name)
            remove(self.path / f"{name}{plainfiles.PARTIAL}")
        return self.path

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if error is None and not (self.path / MANIFEST).exists():
                raise TraceError(f"the run in {self.path} ended without a manifest")
            if error is None:
                os.unlink(self.path / INCOMPLETE)
            elif isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
                self.because(f"writing it failed: {error}")
                raise _unwritable(self.path, error) from error
            else:
                self.because(f"{kind.__name__ if kind else 'error'}: {error}" if str(error) else "it was interrupted")
        finally:
            os.close(self._mark)

    def because(self, reason: str) -> None:
        """Writes why the directory is not complete."""
        text = f"This run is not complete: {reason}\n".encode()
        try:
            os.truncate(self._mark, 0)
            os.pwrite(self._mark, text, 0)
        except OSError as error:
            # A full disk is one of the reasons why runs end: then the mark alone, an empty file, must do.
            if error.errno not in _NO_SPACE:
                raise

    def _refuse_what_is_not_ours(self) -> None:
        if not self.path.exists():
            return
        if not self.path.is_dir():
            raise ScenarioError(f"cannot write a run to {self.path}: it is a file", hint="choose another with --out")
        # What a kill leaves of a file that was to appear whole is ours, too.
        names = [entry.name for entry in self.path.iterdir()]
        strange = sorted(name for name in names if name.removesuffix(plainfiles.PARTIAL) not in ARTEFACTS)
        if strange:
            raise ScenarioError(
                f"cannot write a run to {self.path}: it holds {strange[0]!r}, which is not part of a run",
                hint="choose an empty or a new directory with --out",
            )
        if (why := plainfiles.why_not_plain(self.path)) is not None:
            raise ScenarioError(
                f"cannot write a run to {self.path}: {why}, and nothing is written through one",
                hint="choose an empty or a new directory with --out",
            )
        if why_incomplete(self.path) is None and not self.force:
            raise ScenarioError(
                f"cannot write a run to {self.path}: it holds a complete run",
                hint="type --force to replace it, or choose another directory with --out",
            )


def default_directory(name: str, plan_text: str) -> Path:
    """`runs/<name>-<first digits of the plan's sha256>`: the same plan, the same place."""
    return Path("runs") / f"{name}-{hashlib.sha256(plan_text.encode()).hexdigest()[:10]}"


def plan_of(scenario: Path | str | Plan, overrides: Any = (), kernel: Path | str | None = None) -> Plan:
    """The plan of a scenario file with overrides, or the plan given; `kernel` replaces its guest kernel."""
    from leowarp import scenario as scenarios

    if isinstance(scenario, scenarios.Plan):
        if overrides:
            raise ScenarioError("a resolved plan takes no overrides", hint="set them when the scenario is loaded")
        plan = scenario
    else:
        plan = scenarios.resolve(scenarios.load(scenario, overrides))
    if kernel is None:
        return plan
    chosen = str(kernel) if str(kernel) == "default" else str(Path(kernel).expanduser().resolve())
    return dataclasses.replace(plan, guest=dataclasses.replace(plan.guest, kernel=chosen, kernel_named_in=None))


def write_plan(directory: Path, plan_text: str, inputs: Mapping[str, bytes]) -> None:
    """Writes `00-plan.toml` and, if it names files, their copies in `00-inputs/`."""
    plainfiles.write(directory / PLAN, plan_text.encode())
    for name, content in inputs.items():
        if not plainfiles.is_plain_name(name):
            raise ScenarioError(f"cannot write the input {name!r} of a plan: it is not the name of a file")
        (directory / INPUTS).mkdir(exist_ok=True)
        plainfiles.write(directory / INPUTS / name, content)


def why_incomplete(path: Path) -> str | None:
    """Why a directory is not a complete run; None if it is one."""
    if not path.is_dir():
        return "it is not a directory" if path.exists() else "there is no such directory"
    mark = path / INCOMPLETE
    if os.path.lexists(mark):
        try:
            text = plainfiles.read(mark, _LONGEST_MARK_BYTES).decode(errors="replace").strip()
        except OSError as error:
            return f"it is marked incomplete, and why cannot be read: {error.strerror}"
        return text or "it is marked incomplete (the file INCOMPLETE is empty: was the disk full?)"
    absent = [name for name in (PLAN, TRACE, SUMMARY, MANIFEST) if not (path / name).exists()]
    return f"it has no {absent[0]}" if absent else None


def refuse_strange(path: Path) -> None:
    """Raises TraceError if a directory that is to be read as a run holds what is neither a file nor a directory."""
    why = plainfiles.why_not_plain(path)
    if why is not None:
        raise TraceError(
            f"cannot open {path} as a run: {why}, which a run never has",
            hint="whoever made it can tell what it is for; a run copied with `cp -r` or `rsync` needs none",
        )


def data_frame(table: pa.Table, *, units: bool = True) -> pd.DataFrame:
    """A table as pandas: types depend on the schema, not on the data.

    Integers that may be missing become float64 with NaN (exact below 2^53 ns = 104 days), truth values that may be
    missing become pandas' `boolean`. `frame.attrs["units"]` maps columns to units, if `units` is set: pandas copies
    that dictionary with every selection, which is a fifth of the time of the metrics of a small run.
    """
    import pandas as pd
    import pyarrow as pa

    columns = {}
    for field in table.schema:
        column = table.column(field.name)
        if field.nullable and pa.types.is_integer(field.type):
            # Not pa's cast: that refuses what float64 cannot hold exactly, and counters of bytes can be that long.
            columns[field.name] = column.to_numpy().astype("float64")
        elif pa.types.is_integer(field.type) or pa.types.is_floating(field.type):
            columns[field.name] = column.to_numpy()
        elif field.nullable and pa.types.is_boolean(field.type):
            columns[field.name] = column.to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get)
        else:
            columns[field.name] = column.to_pandas()
    frame = pd.DataFrame(columns)
    if units:
        frame.attrs["units"] = {f.name: (f.metadata or {}).get(b"unit", b"").decode() for f in table.schema}
    return frame


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object out of a run directory."""

    def refuse(word: str) -> float:
        raise ValueError(f"{word} is no number of JSON")

    try:
        value = json.loads(plainfiles.read(path, plainfiles.MOST_JSON_BYTES), parse_constant=refuse)
    except RecursionError:
        raise TraceError(f"cannot read {path}: it is nested too deeply", hint=_again(path.parent)) from None
    except (OSError, ValueError) as error:
        raise TraceError(f"cannot read {path}: {error}", hint=_again(path.parent)) from error
    if not isinstance(value, dict):
        raise TraceError(f"cannot read {path}: it holds no JSON object", hint=_again(path.parent))
    return value


def read_summary(run: Path) -> dict[str, Any]:
    """`summary.json` of a run directory. Raises TraceError if it is none."""
    path = run / SUMMARY
    value = read_json(path)
    if (why := recorded.why_no_summary(value)) is not None:
        raise TraceError(f"cannot read {path}: {why}", hint=f"compute it anew: leowarp metrics {run} --again")
    return value


def read_manifest(run: Path) -> dict[str, Any]:
    """`manifest.json` of a run directory. Raises TraceError if it is none."""
    path = run / MANIFEST
    value = read_json(path)
    if (why := recorded.why_no_manifest(value)) is not None:
        raise TraceError(f"cannot read {path}: {why}", hint=_again(run))
    return value


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Writes a JSON object so that a reader sees the whole of it or nothing."""
    plainfiles.write(path, (json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())


def remove(path: Path) -> None:
    """Removes a file or a directory of a run, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _unwritable(path: Path, error: OSError) -> HostError:
    hint = "free some space, or choose another directory with --out"
    if error.errno not in _NO_SPACE:
        hint = "choose a directory that may be written with --out"
    return HostError(f"cannot write the run directory {path}: {error}", hint=hint)


def _again(path: Path) -> str:
    plan = path / PLAN
    return f"run it again: leowarp run {plan if plan.exists() else 'SCENARIO.toml'} --out {path} --force"


_LONGEST_MARK_BYTES = 1 << 20
_NO_SPACE = (28, 122)  # ENOSPC, EDQUOT
