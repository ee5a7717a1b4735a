# SPDX-License-Identifier: Apache-2.0
"""Check that every dependency's licence is compatible with Apache-2.0. The script reads Python licences with
pip-licenses, Rust licences with cargo metadata, and the page's licences from its lock file.

The rules for Rust are in deny.toml, as for `cargo deny check`: it must allow each crate's licence and registry. The
script does not use cargo-deny, because Debian does not package it and compiling it takes long.

Exit status 1 means an incompatible or unknown licence. The output names each of these packages.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Set
from importlib import metadata
from pathlib import Path

CRATES_IO = "https://github.com/rust-lang/crates.io-index"
NPM = "https://registry.npmjs.org/"
# Licences that let an Apache-2.0 program use, link or ship the work. MPL-2.0 covers single files, and leowarp uses the
# files under MPL-2.0 unchanged, as a library.
COMPATIBLE = {
    "0BSD",
    "Apache-2.0",
    "Apache 2.0",
    "Apache Software License",
    "Apache License 2.0",
    "Apache License, Version 2.0",
    "BSD",
    "BSD License",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "HPND",
    "ISC",
    "ISC License (ISCL)",
    "MIT",
    "MIT License",
    "MIT-CMU",
    "MIT-0",
    "MPL-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)",
    "PSF-2.0",
    "Python Software Foundation License",
    "Python-2.0",
    "The Unlicense (Unlicense)",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
    "zlib-acknowledgement",
}
# SPDX exceptions only add permissions.
_EXCEPTION = re.compile(r"\s+WITH\s+[\w.-]+")
# pip-licenses cannot read the following licences from a package's metadata, so they were looked up by hand in the
# packages.
LOOKED_UP = {
    "contourpy": "BSD-3-Clause",
    "matplotlib": "Python-2.0",  # matplotlib's own licence, derived from Python's
}


def main() -> int:
    """Check all three languages, and print all faults. Return exit status 1 if there is a fault."""
    bad = [*_python(), *_rust(), *_npm()]
    for line in bad:
        print(line, file=sys.stderr)
    return 1 if bad else 0


def runtime_packages(pyproject: Path) -> set[str]:
    """Return the distributions that an installation of leowarp with its extras needs, directly or indirectly.

    pyproject: The parsed pyproject.toml, with `project.dependencies` and the extras.
    Returns: The names in the spelling of PEP 503. Packages that only other platforms need are left out.
    """
    project = tomllib.loads(pyproject.read_text())["project"]
    extras = [entry for extra in project.get("optional-dependencies", {}).values() for entry in extra]
    wanted = [_name(entry) for entry in [*project["dependencies"], *extras]]
    found: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in found:
            continue
        try:
            requires = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue  # the package is not installed, because its marker names another platform
        found.add(name)
        # Extras of dependencies are ignored, because pyproject.toml requests none.
        wanted += [_name(entry) for entry in requires if "extra ==" not in entry]
    return found


def _name(requirement: str) -> str:
    """Return the name of a requirement in the spelling of PEP 503."""
    match = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert match is not None, requirement
    return re.sub(r"[-_.]+", "-", match[0]).lower()


def _python() -> list[str]:
    """Return the licence faults of the Python packages that users of leowarp get, one line each. Packages that only
    developers need are not checked, because they are not shipped."""
    names = runtime_packages(Path("pyproject.toml"))
    command = [sys.executable, "-m", "piplicenses", "--format=json", "--from=mixed", "--packages", *sorted(names)]
    listed = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    print(f"{len(listed)} Python packages")
    return _incompatible([(_name(entry["Name"]), entry["License"]) for entry in listed])


def _rust() -> list[str]:
    """Return the faults of the Rust crates in Cargo.lock, one line each."""
    command = ["cargo", "metadata", "--format-version=1", "--locked"]
    packages = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["packages"]
    print(f"{len(packages)} Rust crates")
    return against_deny(packages, tomllib.loads(Path("deny.toml").read_text()))


def against_deny(packages: list[dict], rules: dict) -> list[str]:
    """Check the crates of `cargo metadata` against the rules of deny.toml. Return one line for each fault.

    packages: The packages of `cargo metadata`, of which `name`, `license` (SPDX, or None) and `source` are read.
    rules: The parsed deny.toml, with `licenses.allow` and `sources.allow-registry`.
    """
    allowed = set(rules["licenses"]["allow"])
    registries = {f"registry+{url}" for url in rules["sources"].get("allow-registry", [CRATES_IO])}
    bad = []
    for package in packages:
        licence, source = package["license"] or "none", package["source"]
        if not compatible(licence, allowed):
            bad.append(f"{package['name']}: {licence}")
        # A crate without a source is part of this workspace.
        if source is not None and source not in registries:
            bad.append(f"{package['name']}: comes from {source}")
    return bad


def _npm() -> list[str]:
    """Return the faults of the page's npm packages, one line each."""
    packages = json.loads(Path("web/package-lock.json").read_text())["packages"]
    print(f"{len(packages) - 1} npm packages")
    return of_npm_lock(packages)


def of_npm_lock(packages: dict[str, dict]) -> list[str]:
    """Return the faults of the packages of a package-lock.json, one line each.

    packages: The file's `packages`, which maps a path below node_modules to its entry.
    """
    bad = []
    for place, package in packages.items():
        # the entry with the empty path is the page itself
        if place == "":
            continue
        name, licence = place.rpartition("node_modules/")[2], package.get("license", "none")
        if not compatible(licence):
            bad.append(f"{name}: {licence}")
        # If the lock file states no source, npm uses the registry in its settings, and the checksum ensures that the
        # package is the same.
        if not str(package.get("resolved", NPM)).startswith(NPM) or "integrity" not in package:
            bad.append(f"{name}: comes from {package.get('resolved', 'the registry')} without a checksum, or elsewhere")
    return bad


def _incompatible(found: list[tuple[str, str]]) -> list[str]:
    """Return one line for each package in `found` whose licence is incompatible. A licence that was looked up by hand
    replaces the declared one."""
    return [f"{name}: {licence}" for name, licence in found if not compatible(LOOKED_UP.get(name, licence))]


def compatible(expression: str, licences: Set[str] = COMPATIBLE) -> bool:
    """Whether the licences in `licences` are sufficient for a licence expression (SPDX, or a list of trove names).

    For "A OR B", one is sufficient. For "A AND B", both are needed. A slash is an old form of OR.

    Examples
    --------
    >>> compatible("MIT OR GPL-3.0-only"), compatible("(MIT OR GPL-3.0-only) AND GPL-2.0-only")
    (True, False)
    """
    if expression.strip() in licences:
        return True
    plain = _EXCEPTION.sub("", expression).replace("/", " OR ")
    if plain.strip() in licences:
        return True
    # Expressions are not nested in practice: every "(A OR B)" inside an AND is one condition.
    terms = re.split(r"\s+AND\s+|;\s*", re.sub(r"\(([^()]*)\)", lambda m: m[1].replace(" OR ", "|"), plain))
    if len(terms) == 1:
        return any(part.strip() in licences for part in re.split(r"\s+OR\s+|\|", terms[0]))
    return all(any(part.strip() in licences for part in re.split(r"\s+OR\s+|\|", term)) for term in terms)


if __name__ == "__main__":
    sys.exit(main())
