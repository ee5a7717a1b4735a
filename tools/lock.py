# SPDX-License-Identifier: Apache-2.0
"""Print requirements.lock: every package of pyproject.toml, pinned with the checksums of its wheels.

`python tools/lock.py --site` prints requirements-site.lock: the packages of the group `site`. A package in both files
has the same version, because both files are installed into one environment.

pip resolves once for each supported CPython (`pip install --dry-run --report`). Only wheels are accepted, so that an
installation runs no package code. The lock names no package index, so pip uses the index that the machine is configured
for.

`python tools/lock.py --keep` keeps the version of each package in the existing lock.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import defaultdict
from pathlib import Path

LOCK, SITE_LOCK = Path("requirements.lock"), Path("requirements-site.lock")
# The versions of Python that pyproject.toml admits. The native library uses the stable ABI of the oldest version. pip
# reads "3.11" as 3.11.0, so no pinned package needs a later patch release (Debian 12 has 3.11.2).
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
# To let pip accept wheels for an older glibc, the older tag must be named as well (PEP 600). The aliases are the tags
# of older wheels (PEP 513, 571, 599).
GLIBCS = ("2_28", "2_27", "2_17", "2_12", "2_5")
ALIASES = ("manylinux2014", "manylinux2010", "manylinux1")


def main() -> None:
    """Print the lock file.

    Raises SystemExit if two versions of Python would get different versions of a package. All versions of Python share
    the lock file.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", action="store_true", help="leave each package of the lock at its version")
    parser.add_argument("--site", action="store_true", help="requirements-site.lock instead")
    given = parser.parse_args()
    project = tomllib.loads(Path("pyproject.toml").read_text())
    bounds = list(project["tool"]["leowarp"]["lock"]["bounds"])
    if given.site:
        wanted, purpose = project["dependency-groups"]["site"], "`make site` uses besides"
        bounds += _pins(LOCK)
    else:
        wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
        extras = project["project"]["optional-dependencies"]
        # Tests and the build do not need JupyterLab and its hundred packages. `--site` includes only the kernel of
        # JupyterLab.
        wanted += [line for name, extra in extras.items() if name != "notebook" for line in extra]
        purpose = "the project, its tests and its build use"
    if given.keep:
        bounds += _pins(SITE_LOCK if given.site else LOCK)
    pinned: dict[str, set[str]] = defaultdict(set)
    for python in PYTHONS:
        for entry in _resolved(wanted, bounds, python):
            # Package names are compared in the normalised spelling of PEP 503.
            name = entry["metadata"]["name"].lower().replace("_", "-").replace(".", "-")
            sha256 = entry["download_info"]["archive_info"]["hashes"]["sha256"]
            pinned[f"{name}=={entry['metadata']['version']}"].add(sha256)
    names = [requirement.split("==")[0] for requirement in pinned]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        sys.exit(f"the newest versions differ between {PYTHONS}: bound {', '.join(twice)} "
                 "in pyproject.toml, tool.leowarp.lock")  # fmt: skip
    print(f"# Every package that {purpose}, pinned: `make lock` writes this. Wheels for")
    print(
        f"# CPython {PYTHONS[0]} to {PYTHONS[-1]} on x86-64; pip refuses anything else, whichever index it comes from."
    )
    for requirement, checksums in sorted(pinned.items()):
        print(" \\\n".join([requirement, *(f"    --hash=sha256:{sha256}" for sha256 in sorted(checksums))]))


def _pins(lock: Path) -> list[str]:
    """Return `name==version` of each package in an existing lock."""
    return re.findall(r"^\S+==\S+", lock.read_text(), flags=re.M)


def _resolved(wanted: list[str], bounds: list[str], python: str) -> list[dict]:
    """Return the packages that pip would install in one version of CPython. `wanted` are the required packages, and
    `bounds` are pip's constraints on versions.

    Returns: The list `install` of pip's report, with the `metadata` and `download_info` of each wheel.
    """
    platforms = [f"manylinux_{glibc}_x86_64" for glibc in GLIBCS] + [f"{alias}_x86_64" for alias in ALIASES]
    with tempfile.TemporaryDirectory() as scratch:
        report, constraints = Path(scratch) / "report.json", Path(scratch) / "constraints.txt"
        constraints.write_text("\n".join(bounds))
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        command += ["--only-binary=:all:", "--implementation=cp", f"--python-version={python}"]
        command += [f"--platform={platform}" for platform in platforms]
        command += [f"--target={scratch}/target", f"--report={report}", f"--constraint={constraints}"]
        subprocess.run([*command, *wanted], check=True)
        return json.loads(report.read_text())["install"]


if __name__ == "__main__":
    main()
