# SPDX-License-Identifier: Apache-2.0
"""The records of a run: tables with fixed types in `30-trace/`, one Parquet file per table.

`schema` defines the columns, `records` reads the guest's files, `convert` turns a whole output directory into tables,
and `words` replaces numbers by words. `captures` computes the table `packets` from captures of other programs.
`manifest` records the versions that executed a run, and its cost. This package never imports the guest, so the check of
a run does not depend on the code that executed it.

    table = read("run/30-trace", "packets", columns=["sent_ns", "received_ns"])
"""

from leowarp.trace.captures import packets_from_captures
from leowarp.trace.convert import check_types, convert, read, read_output
from leowarp.trace.manifest import Stopwatch, is_of_this_version, maker, maker_of, relisted, write_manifest
from leowarp.trace.schema import TABLES
from leowarp.trace.words import read_in_words
