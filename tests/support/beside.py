# SPDX-License-Identifier: Apache-2.0
"""Imports modules that are not in a package: scripts that import each other from the directory in which they are, as in
bench/."""

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest


@contextmanager
def modules_beside(directory: Path, names: Sequence[str]) -> Iterator[dict[str, ModuleType]]:
    """Imports the modules with these names from `directory`. Afterwards, the modules are removed from sys.modules,
    because another directory may have modules with the same names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(directory)
        yield {name: importlib.import_module(name) for name in names}
        for name in names:
            del sys.modules[name]
