# SPDX-License-Identifier: Apache-2.0
"""Compile headers of the guest for the host, so that tests can call their functions. These headers only compute."""

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
