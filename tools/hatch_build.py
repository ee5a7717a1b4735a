# SPDX-License-Identifier: Apache-2.0
"""Add the parts of the wheel that are not Python: the native library, the examples, and the guest with its sources from
`build/guest`. The hook also writes the checkout's version and commit into the wheel.

`tools/wheel.py` fills `build/guest`, and `make` builds the library. An editable installation needs none of these files,
because it uses the checkout's files.
"""

import json
import runpy
import struct
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NATIVE = "_native.abi3.so"
# crates/py is built for abi3-py311, so any CPython from 3.11 on loads the library.
PYTHON_TAG, ABI_TAG = "cp311", "abi3"
# Libraries that PEP 600 allows a wheel to need: parts of glibc, and GCC's run-time library.
MANYLINUX = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2", "libgcc_s.so.1"}
# The result of `glibc_needed` is at least 2.17, the glibc version of manylinux2014 (PEP 599).
OLDEST = (2, 17)

_SECTION = struct.Struct("<IIQQQQIIQQ")
_VERNEED = 0x6FFFFFFE


class GuestHook(BuildHookInterface):
    """Hatchling's hook for the wheel. pyproject.toml names this file."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Set the extra files of the wheel, and the machines for which the wheel is built.

        version: "standard" or "editable". For "editable", the function does nothing.
        build_data: Hatchling's dictionary. The hook sets the keys `tag`, `pure_python` and `force_include` of this
            dictionary.
        Raises FileNotFoundError if the guest or the library is not built.
        Raises ValueError if the library needs another library that a user's machine may lack.
        """
        if version == "editable":
            return
        guest = Path(self.root) / "build" / "guest"
        if not (guest / "linux").is_file():
            raise FileNotFoundError(f"{guest} holds no built guest: build the wheel with `make wheel`")
        native = Path(self.root) / "python" / "leowarp" / NATIVE
        if not native.is_file():
            raise FileNotFoundError(f"there is no {native}: build the wheel with `make wheel`")
        # Only the native library needs libraries of the machine, because kernel and agent are static programs.
        major, minor = glibc_needed(native)
        build_data["pure_python"] = False
        build_data["tag"] = f"{PYTHON_TAG}-{ABI_TAG}-manylinux_{major}_{minor}_x86_64"
        # The file is run by its path, because leowarp is not installed in hatchling's environment.
        own = runpy.run_path(str(native.with_name("version.py")))
        revision = guest.with_name(own["REVISION"])
        root = Path(self.root)
        revision.write_text(json.dumps({"version": own["build_version"](root), **own["revision_of"](root)}) + "\n")
        build_data["force_include"] = {
            str(native): f"leowarp/{NATIVE}",
            str(revision): f"leowarp/{own['REVISION']}",
            str(guest): "leowarp/_guest",
            str(Path(self.root) / "examples"): "leowarp/examples",
        }


def glibc_needed(library: Path) -> tuple[int, int]:
    """Return the oldest version of glibc that an ELF-64 library can use. It has all symbol versions that the library
    needs (elf(5), SHT_GNU_verneed).

    Returns: (int, int). The result is at least `OLDEST`.
    Raises ValueError if the library needs something that PEP 600 does not allow.
    """
    versions = [version for name, version in version_needs(library.read_bytes()) if version.startswith("GLIBC_")]
    if private := [version for version in versions if not version.removeprefix("GLIBC_").replace(".", "").isdigit()]:
        raise ValueError(f"{library.name} needs {', '.join(private)}, which differs between builds of glibc")
    numbers = [tuple(map(int, version.removeprefix("GLIBC_").split(".")[:2])) for version in versions]
    return max([OLDEST, *numbers])


def version_needs(data: bytes) -> list[tuple[str, str]]:
    """Return the symbol versions that an ELF file needs, each with its library.

    data: The content of a whole ELF-64 file, little endian.
    Returns: list of (str, str). The pairs, such as ("libc.so.6", "GLIBC_2.34"), in the order of the file.
    Raises ValueError if the file needs a library that PEP 600 does not allow.
    """
    # Offsets in the ELF header: e_shoff first, then e_shentsize and e_shnum (elf(5), Elf64_Ehdr).
    (table,) = struct.unpack_from("<Q", data, 0x28)
    entry_bytes, count = struct.unpack_from("<HH", data, 0x3A)
    sections = [_SECTION.unpack_from(data, table + number * entry_bytes) for number in range(count)]
    found = []
    for _, kind, _, _, at, _, link, files, _, _ in sections:
        if kind != _VERNEED:
            continue
        strings = sections[link][4]
        for _ in range(files):
            _, versions, file_at, first, following = struct.unpack_from("<HHIII", data, at)
            name = _string(data, strings + file_at)
            if name not in MANYLINUX:
                raise ValueError(f"the library needs {name}, which a machine may lack")
            version_at = at + first
            for _ in range(versions):
                _, _, _, text_at, next_version = struct.unpack_from("<IHHII", data, version_at)
                found.append((name, _string(data, strings + text_at)))
                version_at += next_version
            at += following
    return found


def _string(data: bytes, at: int) -> str:
    """Return the text from an offset up to the next zero byte."""
    return data[at : data.index(b"\0", at)].decode()
