# SPDX-License-Identifier: Apache-2.0
"""The synthetic run, but its flow has a name and uses BBR. The samples contain BBR's gains."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from leowarp.base import layout
from leowarp.base.tables.metadata import encode_metadata
from support.synthetic.run import PLAN_TOML, S, write_synthetic_run

BBR_TOML = PLAN_TOML.replace("[[flows]]", '[[flows]]\nname = "upload"').replace('"cubic"', '"bbr"')
MODES_NS = {0: "STARTUP", 1 * S: "DRAIN", 2 * S: "PROBE_BW", 12 * S: "PROBE_RTT", 13 * S: "PROBE_BW"}
"""A dict from run time in ns to the mode of BBR that begins at this time."""
_GAINS = {"STARTUP": (739, 739), "DRAIN": (88, 739), "PROBE_BW": (256, 512), "PROBE_RTT": (256, 256)}


def write_synthetic_bbr(run_dir: Path) -> Path:
    """Write the run of `write_synthetic_run` with BBR and a flow called "upload", and return its directory."""
    path = write_synthetic_run(run_dir, BBR_TOML) / layout.TRACE / "sockets.parquet"
    table = pq.read_table(path)
    place = np.searchsorted(list(MODES_NS), table["t_ns"].to_numpy(), side="right") - 1
    modes = [list(MODES_NS.values())[n] for n in place]
    for column, name in enumerate(("bbr_pacing_gain", "bbr_cwnd_gain")):
        gains = pa.array([_GAINS[mode][column] / 256 for mode in modes])
        table = table.set_column(table.schema.get_field_index(name), table.schema.field(name), gains)
    flows = [{"kind": "tcp", "source": "Madrid", "destination": "Tokyo", "congestion_control": "bbr"}]
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, **encode_metadata({"flows": flows})}), path)
    return run_dir
