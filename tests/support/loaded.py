# SPDX-License-Identifier: Apache-2.0
"""Finds which libraries, and which packages of leowarp, a command loads."""

import subprocess
import sys

OF_EVERY_VERB = {"annotated_doc", "leowarp", "rich", "shellingham", "typer"}
"""The libraries that the command line itself needs. Pydantic is not in this set, because typer does not load it for
ordinary arguments."""

_SCRIPT = """
import atexit, gc, sys

def tell():
    # `main` has frozen everything before Python's end.
    print(gc.get_freeze_count() > 0, *sorted(sys.modules))

atexit.register(tell)
sys.argv[0] = "leowarp"
from leowarp.cli import main
main()
"""


def modules_of(*words):
    """Return the names of the modules that are loaded when `leowarp WORDS` ends. The modules of Python's standard
    library are left out."""
    typed = [sys.executable, "-c", _SCRIPT, *map(str, words)]
    done = subprocess.run(typed, capture_output=True, text=True, check=True)
    frozen, *names = done.stdout.splitlines()[-1].split()
    assert frozen == "True", "Python searches all modules for cycles at its end"
    # In sys.modules, compiled parts of pyarrow have names that their compiler chose.
    own = {"cython_runtime", "sitecustomize", *sys.stdlib_module_names}
    return {name for name in names if name.split(".")[0] not in own and not name.startswith("_")}


def libraries_of(*words):
    """Return the top-level names of `modules_of`."""
    return {name.split(".")[0] for name in modules_of(*words)}
