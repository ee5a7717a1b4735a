# SPDX-License-Identifier: Apache-2.0
"""The limit on the memory of a process that reads files of other people.

A file states sizes, which limit how much data leowarp decodes. The sizes do not limit what leowarp computes from
malicious values. The kernel enforces a limit on the memory of the whole process.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from collections.abc import Iterator
from pathlib import Path

from leowarp.base.errors import LeowarpError, TraceError, is_lack_of_memory

MOST_BYTES = 1 << 30
"""The memory of a verb that only reads run directories. A report of 2,000 flows over 60 s takes 0.9 GiB."""

_SPARE_BYTES = 40 << 20
"""Libraries reserve memory that they never use. The limit allows this additional address space for it (see
`bounded_memory`). Without this margin, the largest of some 40 hostile test cases took 1,036 MiB."""

_LEAST_BYTES = 256 << 20
"""The limit always leaves this many bytes for further allocations, even in a large process (example: a notebook)."""


@contextlib.contextmanager
def bounded_memory(hint: str) -> Iterator[None]:
    """Limit the memory of this process to `MOST_BYTES`, and lift the limit afterwards.

    hint: The text that says how to avoid the limit.
    Raises TraceError if more memory is needed.
    """
    if "pyarrow" not in sys.modules:
        # The kernel would count the GiB of addresses that Arrow's own allocator reserves.
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
        os.environ.setdefault("ARROW_IO_THREADS", "1")
    before = resource.getrlimit(resource.RLIMIT_DATA)
    data_bytes, resident_bytes = _own_bytes()
    # The kernel counts 110 MiB that libraries reserve and never use (stacks of threads, an arena of Arrow's). The
    # kernel does not count the 80 MiB of the libraries' code, which is mapped from files.
    most_bytes = data_bytes + max(MOST_BYTES - _SPARE_BYTES - resident_bytes, _LEAST_BYTES)
    own = [limit for limit in before if limit != resource.RLIM_INFINITY]
    resource.setrlimit(resource.RLIMIT_DATA, (min([most_bytes, *own]), before[1]))
    try:
        yield
    except Exception as error:
        if isinstance(error, LeowarpError) or not is_lack_of_memory(error):
            raise
        raise TraceError(f"reading takes more than {MOST_BYTES >> 20} MiB of memory", hint=hint) from error
    finally:
        # Printing the message needs memory too, so the limit is lifted first.
        resource.setrlimit(resource.RLIMIT_DATA, before)


def lift() -> None:
    """Lift the limit of `bounded_memory`. Call this function before another program is started. Otherwise, that program
    would inherit the limit."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))


def _own_bytes() -> tuple[int, int]:
    """Return the bytes of this process's address space for data, and how many of them are in memory."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    values = dict(line.split(":", 1) for line in lines)
    data_kib, resident_kib = (int(values[name].split()[0]) for name in ("VmData", "RssAnon"))
    return data_kib << 10, resident_kib << 10
