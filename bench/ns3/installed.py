# SPDX-License-Identifier: Apache-2.0
"""Find ns-3, and compile `path.cc` against it. ns-3 is the user's installation, or PyPI's wheel in a virtual
environment."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from leowarp.base.errors import HostError

HERE = Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build" / "ns3"
REQUIREMENTS = HERE / "requirements.txt"
SOURCES = (HERE / "path.cc", HERE / "network.h")
VARIABLE = "NS3_PREFIX"
MODULES = ("point-to-point", "internet", "network", "core")
_LIBRARY = re.compile(r"libns(3(?:[.-]\w+?)*)-core((?:-\w+)?)\.so")


@dataclass(frozen=True)
class Ns3:
    """An installation of ns-3.

    headers, libraries: `headers` is the directory that contains `ns3/core-module.h`. `libraries` is the directory that
        contains `libns3.44-core.so`.
    version: The version as in the libraries' names, such as 3.44.
    suffix: The ending of the libraries' names. It is empty for release builds, and for example `-debug` for others.
    definitions: The macros with which ns-3 was built. ns-3's headers need them.
    origin: The source of this installation, as text for the page.
    """

    headers: Path
    libraries: Path
    version: str
    suffix: str
    definitions: tuple[str, ...]
    origin: str

    def command(self, program: Path) -> list[str]:
        """Return the command that compiles `path.cc`."""
        return [
            os.environ.get("CXX", "g++"), "-std=c++20", "-O3", "-Wall", "-Wextra", "-Wno-deprecated-declarations",
            *(f"-D{each}" for each in self.definitions), "-isystem", str(self.headers), str(SOURCES[0]),
            "-L", str(self.libraries), f"-Wl,-rpath,{self.libraries}",
            *(f"-lns{self.version}-{module}{self.suffix}" for module in MODULES), "-o", str(program),
        ]  # fmt: skip


def found_in(prefix: Path, origin: str) -> Ns3:
    """Find the ns-3 installation below a directory.

    Raises HostError if ns-3's headers or libraries are missing.
    """
    headers = prefix / "include"
    if not (headers / "ns3" / "core-module.h").is_file():
        raise HostError(f"no ns-3 in {prefix}: there is no include/ns3/core-module.h", _hint())
    for libraries in (prefix / "lib64", prefix / "lib", *sorted((prefix / "lib").glob("*-linux-gnu"))):
        names = [_LIBRARY.fullmatch(file.name) for file in sorted(libraries.glob("libns3*-core*.so"))]
        for name in filter(None, names):
            version, suffix = name.groups()
            return Ns3(headers, libraries, version, suffix, _definitions(libraries), origin)
    raise HostError(f"no ns-3 in {prefix}: there is no libns3*-core.so in lib64 or lib", _hint())


def _hint() -> str:
    return f"{VARIABLE} names what `./ns3 install` was given as --prefix; without it the wheel of PyPI is installed"


def _definitions(libraries: Path) -> tuple[str, ...]:
    targets = libraries / "cmake" / "ns3" / "ns3Targets.cmake"
    if not targets.is_file():
        raise HostError(f"{targets} is missing: with which macros ns-3 was built is not known", _hint())
    found = re.search(r'INTERFACE_COMPILE_DEFINITIONS "([^\n]*)"\n', targets.read_text(encoding="utf-8"))
    # The pattern below selects macros. All other macros are names of libraries that ns-3 found, and have values in
    # quotes.
    return tuple(each for each in (found[1] if found else "").split(";") if re.fullmatch(r"NS3_\w+", each))


def ns3() -> Ns3:
    """Find the ns-3 in `NS3_PREFIX`. If this variable is not set, the first call installs a wheel below build/. The
    version of the wheel is fixed.

    Raises HostError if no ns-3 is installed, or if pip cannot download it.
    """
    own = os.environ.get(VARIABLE)
    if own:
        return found_in(Path(own).resolve(), "an installation of the machine's own")
    home = BUILD / "venv"
    marker = home / ".installed"
    wanted = REQUIREMENTS.read_text(encoding="utf-8")
    if not marker.is_file() or marker.read_text(encoding="utf-8") != wanted:
        print(f"installing ns-3 (69 MB) into {home}", file=sys.stderr)
        venv.create(home, with_pip=True, clear=True)
        # The wheel's only dependency is cppyy. Only scripts in Python need cppyy.
        pip = [home / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        if subprocess.run([*pip, "--require-hashes", "-r", REQUIREMENTS]).returncode:
            raise HostError(f"pip could not install what {REQUIREMENTS} asks for", _hint())
        marker.write_text(wanted, encoding="utf-8")
    (package,) = home.glob("lib/python*/site-packages/ns3")
    return found_in(package, "the wheel of PyPI, a release build with assertions and logging compiled in")


def program(installed: Ns3) -> Path:
    """Compile `path.cc` if the file, the compiler command or ns-3 has changed since the last call.

    Raises HostError if the file does not compile.
    """
    BUILD.mkdir(parents=True, exist_ok=True)
    said = "\n".join(installed.command(Path("path")))
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in SOURCES) + said.encode()).hexdigest()[:12]
    made = BUILD / f"path-{digest}"
    if not made.is_file():
        print(f"compiling {SOURCES[0].name} against ns-{installed.version}", file=sys.stderr)
        being_made = made.with_suffix(".new")
        if subprocess.run(installed.command(being_made)).returncode:
            raise HostError(
                f"{SOURCES[0]} does not compile against ns-{installed.version} in {installed.headers}", _hint()
            )
        being_made.rename(made)
    return made
