# SPDX-License-Identifier: Apache-2.0
"""Imports modules that form no package: scripts that import each other from their own directory, as in bench/."""

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest


@contextmanager
def modules_beside(directory: Path, names: Sequence[str]) -> Iterator[dict[str, ModuleType]]:
    """Imports the modules of `directory` with these names. Afterwards the modules are removed from sys.modules, because
    other directories use the same names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(directory)
        yield {name: importlib.import_module(name) for name in names}
        for name in names:
            del sys.modules[name]
