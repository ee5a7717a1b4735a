# SPDX-License-Identifier: Apache-2.0
"""Whether a change of the code changed any result: every example, run for 5 s, before and after.

    python tools/same_results.py record before.json      # at the commit before
    python tools/same_results.py compare before.json     # after the change: status 1 names each file that differs

What is compared: the sha256 of routes, timeline and each table of the trace, and the scalars of `summary.json` without
its costs. Files are compared without columns that are newer than the record (`ADDED`). Madrid to Tokyo
runs also with BBR and Reno, 40 s (one route change), and with each in-flight rule.
"""

import hashlib
import json
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COSTS = {"cpu_s", "wall_s"}
# Columns that files got since: without them they must be what they were, to the byte.
ADDED = [
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
# Its flows begin and end at times of their own
WHOLE = {"starlink-capacity", "iperf3", "nginx", "quic", "one-change", "transactions", "page", "video", "frames"}
# Their programs are built first (examples/programs/build.sh)
BUILT = {"quic-aioquic", "quic-quic-go", "quic-quinn"}
# Long enough for a change of the route, without which the in-flight rules would all give the same.
LONGER = {"run.duration": "40 s"}
MORE = {
    "madrid-tokyo bbr": ("madrid-tokyo", {**LONGER, "flows.0.congestion_control": "bbr"}),
    "madrid-tokyo reno": ("madrid-tokyo", {**LONGER, "flows.0.congestion_control": "reno"}),
    "madrid-tokyo source": ("madrid-tokyo", {**LONGER, "routing.in_flight": "source"}),
    "madrid-tokyo drop": ("madrid-tokyo", {**LONGER, "routing.in_flight": "drop"}),
    "madrid-tokyo netem": ("madrid-tokyo", {"run.duration": "5 s", "network.link_model": "netem"}),
    "chain fq_codel": ("chain", {"run.duration": "5 s", "chain.queue_discipline": "fq_codel"}),
}


def main(verb: str, file: Path) -> int:
    """Runs all cases and records or compares what they gave.

    Parameters
    ----------
    verb : {"record", "compare"}
    file : Path
        JSON: case to name of a file or scalar to hash or value.

    Returns
    -------
    int
        Exit status: 1 if something differs.
    """
    names = sorted({path.stem for path in (ROOT / "examples").glob("*.toml")} - BUILT)
    shorter = {name: {} if name in WHOLE else {"run.duration": "5 s"} for name in names}
    # Arrivals end within the run.
    shorter["city-traffic"]["traffic.stop"] = "4 s"
    cases = {name: (name, shorter[name]) for name in names} | MORE
    with ProcessPoolExecutor() as pool:
        found = dict(zip(cases, pool.map(fingerprint, cases.values()), strict=True))
    if verb == "record":
        file.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")
        print(f"{len(found)} cases recorded in {file}")
        return 0
    different = list(differences(json.loads(file.read_text()), found))
    print("\n".join(different) or f"{len(found)} cases, all the same")
    return 1 if different else 0


def fingerprint(case: tuple[str, dict[str, str]]) -> dict[str, str]:
    """sha256 of each file of a case's run, and each scalar of its summary as text.

    Parameters
    ----------
    case : (str, dict)
        Name of an example, and the keys that replace its own.
    """
    import leowarp

    example, changes = case
    with tempfile.TemporaryDirectory(prefix="leowarp-same-") as scratch:
        run = leowarp.run(
            ROOT / "examples" / f"{example}.toml", changes, Path(scratch) / "run", report=False, progress=False
        )
        files = [*(run.path / "30-trace").iterdir(), *run.path.glob("[12]0-*.parquet")]
        hashes = {p.name: hashlib.sha256(without_added(p)).hexdigest() for p in files}
        return hashes | dict(scalars(run.summary, "summary"))


def without_added(path: Path) -> bytes:
    """A file of a run as it would be without the columns in `ADDED`, to the byte."""
    if path.suffix != ".parquet":
        return path.read_bytes()
    import pyarrow as pa
    import pyarrow.parquet as pq

    from leowarp import parquetfiles
    from leowarp.timeline import write_table
    from leowarp.trace import TABLES
    from leowarp.trace.records import ROW_GROUP_ROWS, writer_options

    if not set(ADDED) & set(parquetfiles.read_schema(path).names):
        return path.read_bytes()
    table = parquetfiles.read_table(path)
    # Parquet calls the field of a list's values `element`, Arrow `item`, and the file holds that name.
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
    """Each leaf of a summary, but its costs, with its dotted name: ("summary.flows.0.late_pkts", "12").

    Values as JSON, which writes a float with all digits that it needs to be the same again.
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
    """A line for each file or scalar that is not the same, or is there on one side alone.

    A scalar that is new and has no value in a run says nothing of it; a case that is new is one line.
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
    if len(sys.argv) != 3 or sys.argv[1] not in ("record", "compare"):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
