# SPDX-License-Identifier: Apache-2.0
"""Headers of the guest that only compute, compiled for the host, so that tests can call them."""

import ctypes
import subprocess
from pathlib import Path


def compiled(source: str, folder: Path) -> ctypes.CDLL:
    """The functions of a C source, which includes such a header; files go into `folder`."""
    (folder / "arithmetic.c").write_text(source)
    library = folder / "arithmetic.so"
    subprocess.run(
        ["gcc", "-O1", "-Wall", "-Werror", "-shared", "-fPIC", "-o", library, folder / "arithmetic.c"], check=True
    )
    return ctypes.CDLL(str(library))
