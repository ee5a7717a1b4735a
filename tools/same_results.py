# SPDX-License-Identifier: Apache-2.0
"""Compare the results before and after a change of the code, or the results with two kernels.

    python tools/same_results.py record before.json      # at the commit before
    python tools/same_results.py compare before.json     # after the change: status 1 names each file that differs
    python tools/same_results.py kernels default plain   # status 1 names each file that differs between two kernels

`record` and `compare` run every example for 5 s. --kernel selects another kernel than the default. `kernels` also runs
a sample of each study's runs, and random networks. --only selects the cases whose names contain a word. The example
`two-changes` also runs for 40 s with a route change. It runs with BBR, with Reno, and with the in-flight rules `source`
and `drop` (tools/same_cases.py).

The script compares the sha256 of routes, timeline and each trace table, and the scalars of `summary.json` except its
costs. Columns that are newer than the recorded results (`ADDED`) are not compared.
"""

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from same_cases import Case, examples, networks, study_runs

COSTS = {"cpu_s", "wall_s"}
# Columns that were added after results were recorded. If these columns are removed, old and new files must be equal
# byte for byte.
ADDED = [
    "connection_bytes",
    "copied_pkts",
    "copied_bytes",
    "refused",
    "eliminated_pkts",
    "change_id",
    "run_queue_max_pkts",
    "run_queue_max_pkts_at_ns",
    "run_queue_max_bytes",
    "run_queue_max_bytes_at_ns",
]


def main() -> int:
    """Run all cases, and record or compare their results.

    Returns: The exit status, which is 1 if something differs.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for verb in ("record", "compare"):
        each = verbs.add_parser(verb)
        each.add_argument("file", type=Path, help="JSON: case to name of a file or scalar to hash or value")
        each.add_argument("--kernel", default="default", help="as guest.kernel in a scenario")
    two = verbs.add_parser("kernels")
    two.add_argument("kernel", nargs=2, help="as guest.kernel in a scenario")
    for each in verbs.choices.values():
        each.add_argument("--only", default="", metavar="WORD", help="cases whose name has this word in it")
        each.add_argument("--jobs", type=int)
    given = parser.parse_args()
    with ProcessPoolExecutor(given.jobs) as pool:
        if given.verb == "kernels":
            return between(pool, given.kernel, given.only)
        cases = {name: case for name, case in examples().items() if given.only in name}
        found = dict(zip(cases, pool.map(fingerprint, cases.values(), [given.kernel] * len(cases)), strict=True))
    if given.verb == "record":
        given.file.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        print(f"{len(found)} cases recorded in {given.file}")
        return 0
    different = list(differences(json.loads(given.file.read_text()), found))
    print("\n".join(different) or f"{len(found)} cases, all the same")
    return 1 if different else 0


def between(pool: ProcessPoolExecutor, kernels: list[str], only: str) -> int:
    """Run all cases and networks with two kernels, and compare the results. Return the exit status."""
    cases: dict[str, Case | object] = {name: case for name, case in (examples() | study_runs()).items() if only in name}
    cases |= {name: network for network in networks() if only in (name := f"network {network.seed}")}
    made = {
        name: [pool.submit(fingerprint if isinstance(case, tuple) else of_network, case, kernel) for kernel in kernels]
        for name, case in cases.items()
    }
    different = 0
    for name, (first, second) in made.items():
        lines = list(differences({name: first.result()}, {name: second.result()}))
        different += bool(lines)
        # If this machine lacks a case's program, the case is skipped.
        alike = first.result().get("error", "the same").partition("\n")[0]
        print("\n".join(lines) or f"{name}: {alike}", flush=True)
    print(f"{len(cases)} cases, {different} different")
    return 1 if different else 0


def fingerprint(case: Case, kernel: str = "default") -> dict[str, str]:
    """Return the sha256 of each file of a case's run, and each scalar of its summary as text. If the run fails, return
    only the error.

    case: The case to run. The case may need a program that this machine lacks.
    kernel: The value of the key guest.kernel.
    """
    import leowarp

    scenario, changes = case
    with tempfile.TemporaryDirectory(prefix="leowarp-same-") as scratch:
        try:
            run = leowarp.run(
                scenario, changes, Path(scratch) / "run", kernel=kernel, report=False, progress=False, trust=True
            )
        except leowarp.LeowarpError as error:
            return {"error": str(error).replace(scratch, "")}
        files = [*(run.path / "30-trace").iterdir(), *run.path.glob("[12]0-*.parquet")]
        hashes = {p.name: hashlib.sha256(without_added(p)).hexdigest() for p in files}
        return hashes | dict(scalars(run.summary, "summary"))


def of_network(network: Any, kernel: str) -> dict[str, str]:
    """Return the sha256 of each file that the guest writes for a random network."""
    networks()  # This call defines the module of `network` in a worker process
    from leowarp.guest import guest_image
    from support.networks import records

    with tempfile.TemporaryDirectory(prefix="leowarp-same-") as scratch:
        made: Mapping[str, bytes] = records(guest_image(kernel), network, "direct", Path(scratch))
        return {name: hashlib.sha256(content).hexdigest() for name, content in made.items()}


def without_added(path: Path) -> bytes:
    """Return the bytes of a run's file without the columns in `ADDED`. leowarp writes the file again without them."""
    if path.suffix != ".parquet":
        return path.read_bytes()
    import pyarrow as pa
    import pyarrow.parquet as pq

    from leowarp.base.tables import parquetfiles
    from leowarp.timeline import write_table
    from leowarp.trace import TABLES
    from leowarp.trace.records import ROW_GROUP_ROWS, writer_options

    if not set(ADDED) & set(parquetfiles.read_schema(path).names):
        return path.read_bytes()
    table = parquetfiles.read_table(path)
    # The field of a list's values has the name `element` in Parquet files, and `item` in Arrow. This name is part of
    # the file's bytes.
    lists = [f.with_type(pa.list_(f.type.value_type)) if pa.types.is_list(f.type) else f for f in table.schema]
    table = table.cast(pa.schema(lists, metadata=table.schema.metadata))
    known = [name for name in ADDED if name in table.column_names]
    before, table = path.with_suffix(".before"), table.drop_columns(known)
    if path.stem in TABLES:
        columns = [column for column in TABLES[path.stem].columns if column.name in table.column_names]
        with pq.ParquetWriter(before, table.schema, **writer_options(columns)) as writer:
            writer.write_table(table, row_group_size=ROW_GROUP_ROWS)
    else:
        write_table(table, before)
    return before.read_bytes()


def scalars(value: object, name: str):
    """Yield each value of a summary except costs, as a pair of dotted name and text: ("summary.flows.0.late_pkts",
    "12").

    Values are JSON texts, whose floats have enough digits to be read back exactly.
    """
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in COSTS:
                yield from scalars(item, f"{name}.{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from scalars(item, f"{name}.{number}")
    else:
        yield name, json.dumps(value)


def differences(before: dict[str, dict[str, str]], after: dict[str, dict[str, str]]):
    """Yield one line for each file or scalar that differs, or that exists only in `before` or only in `after`.

    A new scalar with the value null is ignored. A new case gives only one line.
    """
    for case in sorted(before.keys() | after.keys()):
        if case not in before or case not in after:
            yield f"{case}: only {'after' if case in after else 'before'}"
            continue
        old, new = before[case], after[case]
        for name in sorted(old.keys() | new.keys()):
            if old.get(name) != new.get(name) and not (name not in old and new[name] == "null"):
                yield f"{case}: {name}: {old.get(name, 'not there')[:20]} -> {new.get(name, 'not there')[:20]}"


if __name__ == "__main__":
    sys.exit(main())
