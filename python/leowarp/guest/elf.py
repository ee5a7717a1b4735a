# SPDX-License-Identifier: Apache-2.0
"""Addresses of a program's variables from its symbol table, without binutils (ELF-64, little endian; elf(5))."""

import struct
from pathlib import Path

# Elf64_Shdr: name, type, flags, address, offset, size, link, info, alignment, size of an entry
_SECTION = struct.Struct("<IIQQQQIIQQ")
# Elf64_Sym: name, info, other, section, value, size
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMTAB = 2  # SHT_SYMTAB
_ET_EXEC = 2
_EM_X86_64 = 62


def is_static_address_program(path: Path) -> bool:
    """Whether a file is an x86-64 ELF program that is not position independent, as User Mode Linux is.

    Raises
    ------
    OSError
        If it cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(20)
    # Class 2 is 64 bits, data 1 is little endian (e_ident, elf(5)).
    if len(head) < 20 or head[:6] != b"\x7fELF\x02\x01":
        return False
    kind, machine = struct.unpack_from("<HH", head, 16)
    return kind == _ET_EXEC and machine == _EM_X86_64


X86_64 = _EM_X86_64
_MACHINES = {
    3: "32-bit x86", 8: "MIPS", 20: "32-bit PowerPC", 21: "PowerPC", 22: "s390", 40: "32-bit ARM", 183: "ARM64",
    243: "RISC-V",
}  # fmt: skip
"""e_machine of the processors that Debian is made for (elf.h)."""


def machine_of(head: bytes) -> int | None:
    """The processor that a program is for (e_machine), or None if it is no ELF program.

    Parameters
    ----------
    head : bytes
        The file's first 20 bytes or more.
    """
    if len(head) < 20 or head[:4] != b"\x7fELF" or head[5] not in (1, 2):
        return None
    # e_ident[EI_DATA]: 1 is little endian, 2 big.
    return int(struct.unpack_from("<H" if head[5] == 1 else ">H", head, 18)[0])


def machine_name(machine: int) -> str:
    """What people call a processor.

    >>> machine_name(183)
    'ARM64'
    """
    return _MACHINES.get(machine, f"machine number {machine}")


def symbols(path: Path, names: set[str]) -> dict[str, int]:
    """Address of each of `names` that the symbol table has; empty if the program is stripped.

    Parameters
    ----------
    path : Path
        An ELF-64 program; of another file the answer means nothing, or struct.error is raised.
    names : set of str
        Of variables, static ones included.

    Returns
    -------
    dict of str to int
        Virtual addresses, which are those of the process: the program is linked at fixed ones.
    """
    data = path.read_bytes()
    # e_shoff; below e_shentsize and e_shnum
    (table,) = struct.unpack_from("<Q", data, 0x28)
    (entry_bytes, count) = struct.unpack_from("<HH", data, 0x3A)
    sections = [_SECTION.unpack_from(data, table + number * entry_bytes) for number in range(count)]
    addresses: dict[str, int] = {}
    for section in sections:
        if section[1] != _SYMTAB:
            continue
        offset, size_bytes, strings = section[4], section[5], sections[section[6]]
        texts = data[strings[4] : strings[4] + strings[5]]
        wanted = {name.encode(): name for name in names}
        for name_at, _, _, _, address, _ in _SYMBOL.iter_unpack(data[offset : offset + size_bytes]):
            name = wanted.get(texts[name_at : texts.find(b"\0", name_at)])
            if name is not None:
                addresses[name] = address
    return addresses
