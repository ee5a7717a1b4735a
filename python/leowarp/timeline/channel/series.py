# SPDX-License-Identifier: Apache-2.0
"""A power series as a file: Parquet or CSV, written in blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError
from leowarp.timeline.channel.lms import PowerSeries

# Number of rows per block: a block takes a few MB, while the whole series may have `lms.SAMPLES_MAX` samples.
BLOCK_ROWS = 1 << 18
FORMATS = (".parquet", ".csv")

COLUMNS = (
    ("t_ns", pa.int64(), "ns", "when the sample is taken, on the run's clock"),
    ("level_db", pa.float32(), "dB", "received power, relative to line of sight"),
    ("snr_db", pa.float32(), "dB", "received Es/N0: that at line of sight and the level"),
    ("state", pa.dictionary(pa.int8(), pa.string()), "", "shadowing state"),
)
"""The name, type, unit and meaning of each column. Parquet files contain unit and meaning in the fields' metadata."""


def check_suffix(file: Path) -> None:
    """Check the file's suffix. Raises ScenarioError if the file's name does not end in a format that can be written."""
    if file.suffix.lower() not in FORMATS:
        shown = file.suffix or "a file without an ending"
        raise ScenarioError(f"--series {file}: cannot write {shown}", f"end its name in one of {', '.join(FORMATS)}")


def write_series(power: PowerSeries, snr_db: float, file: Path, about: dict[str, object]) -> None:
    """Write one row per sample with the columns `COLUMNS`. The file's suffix decides between Parquet (`.parquet`) and
    CSV (`.csv`).

    snr_db: Es/N0 at line of sight.
    about: A text that says how the series was made. A Parquet file contains the origin as metadata `channel` (JSON). A
        CSV file does not contain the origin.
    Raises ScenarioError if the suffix is neither `.parquet` nor `.csv`, or if the file cannot be written.
    """
    check_suffix(file)
    plainfiles.refuse_link(file)
    fields = [pa.field(name, kind, False, {"unit": unit, "doc": doc}) for name, kind, unit, doc in COLUMNS]
    schema = pa.schema(fields, {"channel": json.dumps(about, sort_keys=True)})
    try:
        if file.suffix.lower() == ".csv":
            # CSV has neither dictionaries nor metadata.
            schema = schema.set(3, pa.field("state", pa.string(), False))
            opened = pa.csv.CSVWriter(file, schema, write_options=pa.csv.WriteOptions(quoting_style="needed"))
        else:
            opened = pq.ParquetWriter(file, schema, compression="zstd")
        with opened as writer:
            for block in _blocks(power, snr_db, schema):
                writer.write(block)
    except OSError as error:
        raise ScenarioError(f"--series {file}: {error}") from None


def _blocks(power: PowerSeries, snr_db: float, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    names = pa.array(power.state_names, pa.string())
    # The series is converted block by block: ten minutes at 60 km/h and 2.2 GHz have over a million samples, which
    # would otherwise be in memory twice.
    for begin in range(0, len(power.level_db), BLOCK_ROWS):
        level_db = power.level_db[begin : begin + BLOCK_ROWS]
        t_ns = np.arange(begin, begin + len(level_db), dtype=np.int64) * power.spacing_ns
        states = pa.DictionaryArray.from_arrays(power.states[begin : begin + BLOCK_ROWS], names)
        columns = [t_ns, level_db, (level_db + snr_db).astype(np.float32), states.cast(schema.field("state").type)]
        yield pa.record_batch(columns, schema=schema)
