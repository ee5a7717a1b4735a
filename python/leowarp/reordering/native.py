# SPDX-License-Identifier: Apache-2.0
"""The only import of `leowarp._native`, the library that crates/py builds."""

from __future__ import annotations

import importlib
from typing import Any

from leowarp.errors import HostError

# By its name: `from leowarp import _native` would be an import of the package `leowarp`, which stands above this room.
try:
    native: Any = importlib.import_module("leowarp._native")
except ImportError as error:
    raise HostError(
        f"importing leowarp.reordering: its native library, leowarp/_native.abi3.so, is missing or broken ({error})",
        hint="in a checkout: make setup; elsewhere install the wheel that `make wheel` builds",
    ) from error
