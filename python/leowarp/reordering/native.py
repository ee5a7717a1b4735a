# SPDX-License-Identifier: Apache-2.0
"""Import `leowarp._native`, the library that crates/py builds. Only this module imports `leowarp._native`.

A library that is missing or too new therefore always raises the same error, with a hint.
"""

from __future__ import annotations

import importlib
import platform
import re
from typing import Any

from leowarp.base.errors import HostError

# `native` is the library, with the classes `Meter`, `Text`, `Capture` and the exception `InputError`.
try:
    # The library is imported by its full name. `from leowarp import _native` would also import the package `leowarp`,
    # which this module must not do.
    native: Any = importlib.import_module("leowarp._native")
except ImportError as error:
    # A message of the dynamic linker is, for example, "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.33' not found
    # (required by .../leowarp/_native.abi3.so)". The message names the first glibc version that is missing.
    if missing := re.search(r"version `(GLIBC_[\d.]+)' not found", str(error)):
        raise HostError(
            "importing leowarp.reordering: its native library needs a newer glibc than this machine has "
            f"({platform.libc_ver()[1]}, without {missing[1]})",
            hint="use a newer system (Debian 12, Ubuntu 22.04, RHEL 9), or a container of one (Containerfile)",
        ) from error
    raise HostError(
        f"importing leowarp.reordering: its native library, leowarp/_native.abi3.so, is missing or broken ({error})",
        hint="in a checkout: make setup; elsewhere install the wheel that `make wheel` builds",
    ) from error
