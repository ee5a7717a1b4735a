# SPDX-License-Identifier: Apache-2.0
"""Compiles the guest's purely arithmetic headers for the host, so that tests can call them."""

import ctypes
import subprocess
from pathlib import Path


def compiled(source: str, folder: Path) -> ctypes.CDLL:
    """Compiles a C source that includes such a header, and returns its functions. Files go into `folder`."""
    (folder / "arithmetic.c").write_text(source)
    library = folder / "arithmetic.so"
    subprocess.run(
        ["gcc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, folder / "arithmetic.c"], check=True
    )
    return ctypes.CDLL(str(library))
