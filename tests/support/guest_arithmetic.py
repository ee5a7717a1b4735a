# SPDX-License-Identifier: Apache-2.0
"""Compile for the host the guest's headers that only compute, so that tests can call their functions."""

import ctypes
import subprocess
from pathlib import Path


def compiled(source: str, folder: Path) -> ctypes.CDLL:
    """Compile a C source that includes a header from `guest/`, and return the compiled functions. `folder` gets the
    files of the compiler."""
    (folder / "arithmetic.c").write_text(source)
    library = folder / "arithmetic.so"
    subprocess.run(
        ["gcc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, folder / "arithmetic.c"], check=True
    )
    return ctypes.CDLL(str(library))
