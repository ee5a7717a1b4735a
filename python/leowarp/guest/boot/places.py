# SPDX-License-Identifier: Apache-2.0
"""Finds the code that the guest's kernel was executing. The kernel's output shows it in registers, call traces and
lists of loaded modules.

The formats are from Linux 6.12 (arch/x86/um/sysrq_64.c, arch/um/kernel/sysrq.c, kernel/module/main.c). The output gives
the name of every function, because the kernel takes the symbols from kallsyms.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# The format %pS prints function, offset, size, and the module in brackets. gcc adds .constprop.0, .isra.0, .part.0 to
# the names of copies.
SYMBOL = r"(?P<function>\w+)[\w.]*\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[(?P<module>\w+)[^\]]*\])?"
CALL = re.compile(rf"\[<[0-9a-f]+>\] (?:\? )?{SYMBOL}")
"""A line of a call trace. A "?" marks an address that was found on the stack, but may be left over from an earlier
call."""

_REGISTER = re.compile(rf"\bRIP: [0-9a-f]+:(?:{SYMBOL}|(?P<address>0x[0-9a-f]+))?")
# Format of BUG() in asm-generic, which User Mode Linux uses.
_BUG = re.compile(r"BUG: failure at (?P<file>\S+):(?P<line>\d+)/(?P<function>\w+)\(\)!")


@dataclass(frozen=True)
class Place:
    """A function of the kernel or of a module, found in a call trace or a register."""

    function: str
    module: str | None = None

    def __str__(self) -> str:
        return self.function if self.module is None else f"{self.function} of the module {self.module}"


@dataclass(frozen=True)
class Fault:
    """The position at which a kernel reported a fault.

    at: The function, file and line, or address, as used in a message: "in tcp_ack", "at my_cc.c:9 in my_ssthresh".
    module: The module that contains `at`. None means the kernel itself.
    caller: The first function in the call trace that belongs to a module and is not `at`.
    """

    at: str
    module: str | None = None
    caller: Place | None = None

    @property
    def culprit(self) -> str | None:
        """The module that the user should check first, or None if the output names no module."""
        return self.module or (self.caller.module if self.caller else None)

    def described(self, loaded: Sequence[str] = ()) -> str:
        """Return the text of the fault for a message. If the output names no module, the text names the modules in
        `loaded`."""
        if self.caller is not None:
            return f"{self.at}, with {self.caller} in its call trace"
        return self.at if self.module is not None else self.at + with_loaded(loaded)


def with_loaded(modules: Sequence[str]) -> str:
    """Return text with the names of the user's loaded modules, which can end a sentence. The text is empty if no
    modules are loaded.

    >>> with_loaded(["mine", "yours"])
    ', with the modules mine and yours loaded'
    """
    return f", with the module{'s' * (len(modules) > 1)} {' and '.join(modules)} loaded" if modules else ""


def place_of(match: re.Match[str]) -> Place:
    return Place(match["function"], match["module"])


def caller_in(text: str, at: Place | None = None) -> Place | None:
    """Return the first function in the call trace in `text` that belongs to a module. The function `at` is skipped. The
    result is None if there is no such function."""
    calls = (place_of(match) for match in CALL.finditer(text))
    return next((call for call in calls if call.module is not None and call != at), None)


def fault_in(console: str, modules: Sequence[str] = ()) -> Fault | None:
    """Return the place in the kernel's code at which the kernel printed its registers or executed BUG(), or None.

    console: The kernel's output. If it shows several faults, only the first one is used, because it may have caused the
        later ones.
    modules: The names of the user's modules, one C file each.
    """
    if bug := _BUG.search(console):
        module = next((name for name in modules if bug["file"] == f"{name}.c"), None)
        return Fault(f"at {bug['file']}:{bug['line']} in {Place(bug['function'], module)}", module)
    registers = _REGISTER.search(console)
    if registers is None:
        return None
    trace = console[registers.end() :]
    if registers["function"] is not None:
        at = place_of(registers)
        return Fault(f"in {at}", at.module, None if at.module else caller_in(trace))
    if registers["address"] is not None:
        return Fault(f"at {registers['address']}, where no function is", None, caller_in(trace))
    return Fault("in a place that it could not print: its stack overflowed, or memory was overwritten")
