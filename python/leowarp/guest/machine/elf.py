# SPDX-License-Identifier: Apache-2.0
"""Reads symbols, sections and pointer targets from an ELF file (ELF-64, little endian; elf(5)), without binutils."""

import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

# Fields of Elf64_Shdr: name, type, flags, address, offset, size, link, info, alignment, size of an entry.
_SECTION = struct.Struct("<IIQQQQIIQQ")
# Fields of Elf64_Sym: name, info, other, section, value, size.
_SYMBOL = struct.Struct("<IBBHQQ")
# Fields of Elf64_Rela: offset, info (symbol and type), addend.
_RELOCATION = struct.Struct("<QQq")
_SYMTAB, _RELA, _NOBITS = 2, 4, 8  # Values of SHT_... in elf.h.
_ET_REL, _ET_EXEC = 1, 2
X86_64 = 62  # EM_X86_64


def is_static_address_program(path: Path) -> bool:
    """Return whether a file is an x86-64 ELF program with fixed addresses, as User Mode Linux is.

    Raises OSError if the file cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(20)
    # Class 2 is 64 bits, data 1 is little endian (e_ident, elf(5)).
    return head[4:6] == b"\2\1" and machine_of(head) == X86_64 and struct.unpack_from("<H", head, 16)[0] == _ET_EXEC


MACHINES = {
    3: "32-bit x86", 8: "MIPS", 20: "32-bit PowerPC", 21: "PowerPC", 22: "s390", 40: "32-bit ARM", 183: "ARM64",
    243: "RISC-V",
}  # fmt: skip
"""The values of e_machine (elf.h) for the processors that Debian supports."""


def machine_of(head: bytes) -> int | None:
    """Return the processor of a program (e_machine), or None if it is not an ELF program.

    head: The first bytes of the file, at least 20.
    """
    if len(head) < 20 or head[:4] != b"\x7fELF" or head[5] not in (1, 2):
        return None
    # Byte 5 is e_ident[EI_DATA]: 1 is little endian, 2 big.
    return int(struct.unpack_from("<H" if head[5] == 1 else ">H", head, 18)[0])


@dataclass(frozen=True)
class Section:
    """A section of an ELF file. `offset` is the section's position in the file, and `address` is the section's position
    in memory after linking."""

    name: str
    kind: int
    address: int
    offset: int
    size_bytes: int
    link: int
    info: int

    @property
    def end(self) -> int:
        return self.offset + self.size_bytes


@dataclass(frozen=True)
class Target:
    """The target of a pointer in an ELF file.

    name: The name of the symbol, if the pointer refers to a symbol.
    address: The address of the target in memory, for a linked program.
    offset: The offset of the target in this file. None means that the target is in another file.
    """

    name: str | None
    address: int | None
    offset: int | None


class Elf:
    """An ELF-64 file: linked (a kernel program) or not yet linked (a kernel module).

    Raises struct.error, IndexError or ValueError if the file is not an ELF-64 file. Names are read from the file only
    when they are needed.
    """

    def __init__(self, path: Path) -> None:
        self.data = path.read_bytes()
        # e_shoff is at 0x28; the three fields from 0x3A on are e_shentsize, e_shnum and e_shstrndx.
        (table,) = struct.unpack_from("<Q", self.data, 0x28)
        entry_bytes, count, names = struct.unpack_from("<HHH", self.data, 0x3A)
        heads = [_SECTION.unpack_from(self.data, table + number * entry_bytes) for number in range(count)]
        texts = heads[names][4]
        self.sections = [Section(self.text(texts + head[0]), head[1], *head[3:8]) for head in heads]
        self.is_linked = struct.unpack_from("<H", self.data, 16)[0] != _ET_REL

    def text(self, offset: int) -> str:
        """Return the zero-terminated string at an offset in the file."""
        return self.data[offset : self.data.index(b"\0", offset)].decode("ascii", "replace")

    def section(self, name: str) -> Section | None:
        return next((section for section in self.sections if section.name == name), None)

    def pointer(self, offset: int) -> Target:
        """Return the target of the pointer (8 bytes) at an offset in the file."""
        if not self.is_linked:
            return self._relocations.get(offset, Target(None, None, None))
        (address,) = struct.unpack_from("<Q", self.data, offset)
        for section in self.sections:
            if section.kind != _NOBITS and 0 <= address - section.address < section.size_bytes and section.address:
                return Target(None, address, section.offset + address - section.address)
        return Target(None, address, None)

    @cached_property
    def _relocations(self) -> dict[int, Target]:
        """The pointers that the linker must fill in, as a dict from their offset in the file to their target."""
        found = {}
        for section in self.sections:
            if section.kind != _RELA:
                continue
            symbols, base = self.sections[section.link], self.sections[section.info]
            texts = self.sections[symbols.link]
            for at, info, addend in _RELOCATION.iter_unpack(self.data[section.offset : section.end]):
                name, _, _, index, value, _ = _SYMBOL.unpack_from(
                    self.data, symbols.offset + (info >> 32) * _SYMBOL.size
                )
                inside = 0 < index < len(self.sections)
                offset = self.sections[index].offset + value + addend if inside else None
                found[base.offset + at] = Target(self.text(texts.offset + name) or None, None, offset)
        return found


def symbols(path: Path, names: set[str]) -> dict[str, int]:
    """Return the virtual addresses that a program's symbol table has for `names`, including static variables. The dict
    is empty if the program is stripped. The addresses are also valid in the running process, because the program is
    linked at fixed addresses.

    path: An ELF-64 program. If the file is not an ELF-64 program, the result is meaningless, or struct.error is raised.
    """
    elf = Elf(path)
    addresses: dict[str, int] = {}
    for section in elf.sections:
        if section.kind != _SYMTAB:
            continue
        strings = elf.sections[section.link]
        texts = elf.data[strings.offset : strings.end]
        wanted = {name.encode(): name for name in names}
        for name_at, _, _, _, address, _ in _SYMBOL.iter_unpack(elf.data[section.offset : section.end]):
            name = wanted.get(texts[name_at : texts.find(b"\0", name_at)])
            if name is not None:
                addresses[name] = address
    return addresses
