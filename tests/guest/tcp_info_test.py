# SPDX-License-Identifier: Apache-2.0
"""Tests that the agent's copy of `struct tcp_info` has the memory layout of the built kernel's header."""

import ctypes
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from leowarp.guest.building.kernel import Kernel
from leowarp.guest.user.modules import ARCHIVE

pytestmark = pytest.mark.guest

SOURCE = Path(__file__).parents[2] / "crates" / "agent" / "src" / "flows" / "tcp_info.rs"
TYPES = {"u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64}
# Bytes that contain several bit fields each. Bit fields have no offsets in C.
BIT_FIELDS = {"tcpi_wscales", "tcpi_flags"}


def struct_in_rust(name: str) -> type[ctypes.Structure]:
    """Return a struct of the agent. Its fields are placed as by a C compiler."""
    body = re.search(rf"pub struct {name} {{\n(.*?)^}}", SOURCE.read_text(), re.DOTALL | re.MULTILINE).group(1)
    fields = [(field, TYPES[kind]) for field, kind in re.findall(r"^    pub (\w+): (u\d+),$", body, re.MULTILINE)]
    return type(name, (ctypes.Structure,), {"_fields_": fields})


@pytest.mark.parametrize(
    ("rust", "c", "header"),
    [("TcpInfo", "tcp_info", "tcp.h"), ("BbrInfo", "tcp_bbr_info", "inet_diag.h")],
)
def test_each_field_is_where_the_kernels_header_has_it(built_kernel: Kernel, tmp_path: Path, rust, c, header):
    ours = struct_in_rust(rust)
    with tarfile.open(built_kernel.program.parent / ARCHIVE) as tree:
        file = tree.extractfile(f"./include/uapi/linux/{header}")
        assert file is not None
        (tmp_path / header).write_bytes(file.read())
    asserts = [f'_Static_assert(sizeof(struct {c}) == {ctypes.sizeof(ours)}, "size");']
    for field, _ in ours._fields_:
        if field not in BIT_FIELDS:
            place = getattr(ours, field)
            asserts.append(f'_Static_assert(offsetof(struct {c}, {field}) == {place.offset}, "{field}");')
            asserts.append(f'_Static_assert(sizeof(((struct {c} *)0)->{field}) == {place.size}, "{field}");')
    program = tmp_path / "asserts.c"
    program.write_text("\n".join(["#include <stddef.h>", f'#include "{header}"', *asserts, ""]))
    compiled = subprocess.run(["gcc", "-fsyntax-only", str(program)], capture_output=True, text=True, check=False)
    assert compiled.returncode == 0, compiled.stderr
