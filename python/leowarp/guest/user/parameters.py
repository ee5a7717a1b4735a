# SPDX-License-Identifier: Apache-2.0
"""Reads the parameters of kernel modules from their files. Mistakes in a plan are found before a boot.

Each parameter is a `struct kernel_param` (include/linux/moduleparam.h of Linux 6.12) in the section `__param`. For a
loadable module, the section is in the module's file. For a built-in module, the section is in the kernel image. Each
parameter points to kernel functions that parse it. These functions show the parameter's type (kernel/params.c). The
section `.modinfo` is not used, because it has no permissions, and no types of the parameters of built-in modules.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from leowarp.base.errors import ScenarioError
from leowarp.base.spelling import guess
from leowarp.guest.machine.elf import Elf
from leowarp.scenario import Plan

# Fields of struct kernel_param: name, module, operations; permissions, level, flags; argument.
_PARAM_BYTES, _OPERATIONS_AT, _PERMISSIONS_AT, _ARGUMENT_AT = 40, 16, 24, 32
# Fields of struct kparam_array: maximum number of elements, bytes per element, number of elements that are set,
# operations, elements.
_ELEMENT_OPERATIONS_AT = 16
# Fields of struct kernel_symbol: address, name, namespace.
_EXPORT_BYTES, _EXPORT_NAME_AT = 24, 8
_NAME = re.compile(r"\w+(?:\.\w+)?")
# Modules that have parameters, and that are built into every kernel that leowarp boots.
_BUILT_IN = {"printk", "tcp_cubic"}
_WRITABLE = 0o200

# Number of bits of each integer type, and whether the type is signed.
_INTEGERS = {
    "byte": (8, False), "short": (16, True), "ushort": (16, False), "int": (32, True), "uint": (32, False),
    "hexint": (32, False), "long": (64, True), "ulong": (64, False), "ullong": (64, False),
}  # fmt: skip
_BOOLEANS = ("bool", "invbool", "bint")
_TEXTS = ("charp", "string")
# kstrtoull with radix 0 (lib/kstrtox.c) reads 0x as hexadecimal and 0 as octal.
_INTEGER = re.compile(r"[+-]?(?:0[xX][0-9a-fA-F]+|0[0-7]*|[1-9][0-9]*)")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a module.

    type: The type as `module_param` names it. None means that the module's own functions read the parameter, and the
        values that they accept are unknown.
    permissions: The file permissions of the parameter in /sys. 0 means that /sys has no file for the parameter.
    most: The maximum number of elements of an array. None means that the parameter is not an array.
    """

    type: str | None
    permissions: int
    most: int | None = None

    def __str__(self) -> str:
        kind = self.type or "a type of its own"
        return kind if self.most is None else f"up to {self.most} of {kind}"

    def refuses(self, value: str) -> str | None:
        """If the kernel would reject `value`, return a description of the values that it accepts. The result is None if
        the kernel accepts the value, or if the type of the parameter is unknown."""
        values = [value] if self.most is None else value.split(",")
        if self.most is not None and len(values) > self.most:
            return f"at most {self.most} values, separated by commas"
        if all(_takes(self.type, one) for one in values):
            return None
        each = "" if self.most is None else "values separated by commas, each "
        if self.type in _BOOLEANS:
            return f'{each}"1" or "0", "y" or "n", "on" or "off"'
        least, most = _range(*_INTEGERS[self.type or ""])
        return f"{each}a whole number from {least} to {most}"


Declared = Mapping[str, Mapping[str, Parameter]]
"""A dict of module -> its parameters by name."""


def _takes(kind: str | None, value: str) -> bool:
    """Return whether the kernel can read `value` as a parameter of type `kind`. The rules are in `param_set_...` of
    kernel/params.c."""
    if kind in _BOOLEANS:
        # kstrtobool ignores all characters after the one or two that this pattern matches.
        return re.match(r"[yYtT1nNfF0]|[oO][nNfF]", value) is not None
    if kind not in _INTEGERS:
        return True
    bits, signed = _INTEGERS[kind]
    if _INTEGER.fullmatch(value) is None or (value.startswith("-") and not signed):
        return False
    least, most = _range(bits, signed)
    # Python's octal numbers begin with 0o.
    return least <= int(re.sub(r"^([+-]?0)(?=[0-7])", r"\1o", value), 0) <= most


def _range(bits: int, signed: bool) -> tuple[int, int]:
    return (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)


def parameters_in(file: Path) -> Declared:
    """Read the parameters that a module's file (`NAME.ko`) or a kernel's program declares.

    For a module's file, the only key is the file's stem. The mapping is empty if the file is a kernel program without
    the structure of a 6.12 kernel.
    """
    try:
        return _parameters_in(Elf(file), file.stem)
    except (struct.error, IndexError, ValueError):
        return {}


def _parameters_in(elf: Elf, module: str) -> Declared:
    found: dict[str, dict[str, Parameter]] = {} if elf.is_linked else {module: {}}
    exported = _exported(elf) if elf.is_linked else {}
    section = elf.section("__param")
    for at in range(section.offset, section.end, _PARAM_BYTES) if section else ():
        name = _text_of(elf, at)
        if _NAME.fullmatch(name) is None:
            raise ValueError(f"{name!r:.80} is not the name of a parameter")
        # Only names of built-in parameters have the module's name as prefix.
        *prefix, name = name.split(".")
        (permissions,) = struct.unpack_from("<H", elf.data, at + _PERMISSIONS_AT)
        kind, most = _type_at(elf, at + _OPERATIONS_AT, exported), None
        if kind == _ARRAY:
            array = elf.pointer(at + _ARGUMENT_AT).offset
            if array is None:
                raise ValueError(f"the array of {name} is nowhere")
            (most,) = struct.unpack_from("<I", elf.data, array)
            kind = _type_at(elf, array + _ELEMENT_OPERATIONS_AT, exported)
        if prefix or not elf.is_linked:
            found.setdefault(prefix[0] if prefix else module, {})[name] = Parameter(kind, permissions, most)
    return found


_ARRAY = "array"


def _type_at(elf: Elf, offset: int, exported: Mapping[int, int]) -> str | None:
    """Return the type to whose operations the pointer at `offset` leads, or None if it is unknown."""
    target = elf.pointer(offset)
    name = target.name or ""
    if target.address is not None and target.address in exported:
        name = _text_of(elf, exported[target.address])
    kind = _ARRAY if name == "param_array_ops" else name.removeprefix("param_ops_")
    # A module may define a type of its own; the values that such a type accepts are unknown.
    return kind if kind in (_ARRAY, *_INTEGERS, *_BOOLEANS, *_TEXTS) else None


def _text_of(elf: Elf, offset: int) -> str:
    target = elf.pointer(offset)
    if target.offset is None:
        raise ValueError("a name that is in no section")
    return elf.text(target.offset)


def _exported(elf: Elf) -> dict[int, int]:
    """Return the symbols that a kernel exports to modules. The dict maps a symbol's address to the file offset of the
    pointer to its name. The kernel program is stripped and contains only exported symbols."""
    sections = [section for name in ("__ksymtab", "__ksymtab_gpl") if (section := elf.section(name))]
    return {
        struct.unpack_from("<Q", elf.data, at)[0]: at + _EXPORT_NAME_AT
        for section in sections
        for at in range(section.offset, section.end - _EXPORT_BYTES + 1, _EXPORT_BYTES)
    }


def check_parameters(plan: Plan, declared: Declared) -> None:
    """Check that each parameter of a plan exists in its module, can be written, and accepts the value.

    declared: The parameters from `modules.declared_parameters`. Parameters that are not in `declared` are not checked
        here. The guest checks these parameters when it loads the module.
    Raises ScenarioError if a parameter is wrong. The error lists all wrong parameters and the parameters that exist.
    """
    wrong = mistakes(plan.modules, declared)
    if not wrong:
        return
    message, hint = wrong[0]
    if len(wrong) > 1:
        message = f"{len(wrong)} errors:\n" + "\n".join(f"{text} ({cure})" for text, cure in wrong)
    raise ScenarioError(message, hint=hint if len(wrong) == 1 else None)


def mistakes(modules: Mapping[str, Mapping[str, str]], declared: Declared) -> list[tuple[str, str]]:
    """Return an error for each wrong parameter, and a hint about how to correct it."""
    found: list[tuple[str, str]] = []
    for module, values in modules.items():
        if (known := declared.get(module)) is None:
            # If `declared` has no built-in module, the kernel's program could not be read. The kernel may then contain
            # the module.
            if _BUILT_IN & declared.keys():
                has = ", ".join(sorted(name for name, own in declared.items() if own))
                found.append((f"modules.{module}: this guest kernel has no module of this name with parameters",
                              f"{guess(module, declared)}it has: {has}"))  # fmt: skip
            continue
        found += [told for name, value in values.items() if (told := _mistake(module, name, value, known))]
    return found


def _mistake(module: str, name: str, value: str, known: Mapping[str, Parameter]) -> tuple[str, str] | None:
    key = f"modules.{module}.{name}"
    parameter = known.get(name)
    if parameter is None:
        listed = ", ".join(f"{each} ({own})" for each, own in sorted(known.items()))
        has = f"it has: {listed}" if known else "it has none: declare one with module_param(NAME, TYPE, 0644)"
        return f"{key}: the module {module} has no parameter {name}", guess(name, known) + has
    if not parameter.permissions & _WRITABLE:
        cure = f"take it out, or declare it with module_param({name}, {parameter.type or 'TYPE'}, 0644)"
        return f"{key}: the module {module} does not let {name} be written", cure
    if (takes := parameter.refuses(value)) is not None:
        return f'{key} = "{value}": the module {module} takes no such value for {name} ({parameter})', f"write {takes}"
    return None
