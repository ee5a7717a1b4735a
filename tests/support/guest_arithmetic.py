# SPDX-License-Identifier: Apache-2.0
"""Compiles for the host those headers of the guest that only compute, so that tests can call their functions."""

import ctypes
import subprocess
from pathlib import Path


def compiled(source: str, folder: Path) -> ctypes.CDLL:
    """Compiles a C source that includes a header of the guest, and returns the compiled functions. The files of the
    compiler go into `folder`."""
    (folder / "arithmetic.c").write_text(source)
    library = folder / "arithmetic.so"
    subprocess.run(
        ["gcc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, folder / "arithmetic.c"], check=True
    )
    return ctypes.CDLL(str(library))
