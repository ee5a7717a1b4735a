# SPDX-License-Identifier: Apache-2.0
"""Tests that leowarp's commands take less than 1 GiB of memory, whatever a run directory contains."""

import os
import resource
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from leowarp.base import layout
from leowarp.base.machine.bound import MOST_BYTES, bounded_memory
from leowarp.base.tables import parquetfiles
from support.synthetic.whole import forge

VERBS = {
    "show": ["show", "RUN", "--again"],
    "links": ["show", "RUN", "--links"],
    "report": ["report", "RUN"],
    "view": ["view", "RUN"],
    "export": ["export", "RUN", "TABLE", "--out", "OUT"],
    "verify": ["verify", "RUN", "--files"],
}


def repeated(path, rows, **changed):
    """Repeat the rows of the table in a file until it has `rows` rows. `changed` gives columns new values in each
    repetition."""
    table = pq.read_table(path)
    at_once = table.take(pa.array(np.arange(1 << 17) % len(table)))
    with pq.ParquetWriter(path, table.schema, compression="zstd") as writer:
        for number in range(rows >> 17):
            part = at_once
            for name, values in changed.items():
                place = part.schema.get_field_index(name)
                field = part.schema.field(place)
                part = part.set_column(place, field, pa.array(values(number)).cast(field.type))
            writer.write_table(part)


ROWS = np.arange(1 << 17)


def large(number):
    """Return values that need 64 bits each."""
    return (ROWS % 4099) * (1 << 50) + number


HOSTILE = {
    "bins": lambda trace: repeated(
        trace / "bins.parquet", 12 << 20, **dict.fromkeys(("t_ns", "owd_sum_ns", "owd_max_ns", "sent_bytes"), large)
    ),
    "flows": lambda trace: repeated(trace / "bins.parquet", 4 << 20, flow=lambda number: ROWS + (number << 17)),
    "drops": lambda trace: repeated(trace / "drops.parquet", 16 << 20, flow=lambda number: ROWS % 7, t_ns=large),
    "packets": lambda trace: repeated(trace / "packets.parquet", 12 << 20, seq=large, sent_ns=large),
    "links": lambda trace: repeated(trace / "links.parquet", 30 << 20, t_ns=large),
    "counters": lambda trace: repeated(trace / "counters.parquet", 24 << 20, value=large),
}


READ_BY = {"show": ("bins",), "links": ("links",)}
"""The tables with which a verb is tried, if it is not tried with all. `report` reads all that `show --again` reads."""


def peak_bytes(words, **environment):
    """Return the largest memory of a verb, with its exit status and its output on stderr."""
    process = subprocess.Popen(
        [sys.executable, "-m", "leowarp", *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        text=True, env=os.environ | environment,
    )  # fmt: skip
    told = process.stderr.read()
    process.stderr.close()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_maxrss << 10, process.returncode, told


@pytest.mark.slow
@pytest.mark.parametrize("kind", HOSTILE)
def test_no_verb_takes_a_gibibyte_for_a_hostile_directory(run, kind):
    HOSTILE[kind](run / layout.TRACE)
    forge(run)
    table = "bins" if kind == "flows" else kind
    for name, words in VERBS.items():
        if kind not in READ_BY.get(name, HOSTILE):
            continue
        typed = [{"RUN": run, "OUT": run.parent / "out", "TABLE": table}.get(word, word) for word in words]
        most, status, told = peak_bytes(typed)
        assert status in (0, 1, 2, 3, 5), (name, status, told)
        assert "Traceback" not in told, (name, told)
        assert most < MOST_BYTES, (name, most >> 20, told)


@pytest.mark.slow
def test_without_the_limits_a_directory_takes_more(run):
    repeated(run / layout.TRACE / "links.parquet", 12 << 20, t_ns=large)
    forge(run)
    most, _, _ = peak_bytes(["show", run, "--links"], **{parquetfiles.TABLE_BYTES: str(1 << 40)})
    assert most > MOST_BYTES


def test_a_lack_of_memory_within_the_limit_is_an_error_that_says_how_to_lift_it():
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with pytest.raises(parquetfiles.TraceError, match="takes more than 1024 MiB") as raised, bounded_memory("lift it"):
        np.ones(4 << 30, dtype="uint8")
    assert raised.value.hint == "lift it"
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
    assert len(np.ones(1 << 20)) == 1 << 20
