# SPDX-License-Identifier: Apache-2.0
"""Where in its code the guest's kernel was, out of what it prints: registers, call traces, the modules it has loaded.

Formats of Linux 6.12 (arch/x86/um/sysrq_64.c, arch/um/kernel/sysrq.c, kernel/module/main.c). Symbols are those of
kallsyms, so a name is there for every function, of the kernel and of modules alike.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

# %pS: function, offset, size, and the module in brackets; gcc adds .constprop.0, .isra.0, .part.0 to copies
SYMBOL = r"(?P<function>\w+)[\w.]*\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[(?P<module>\w+)[^\]]*\])?"
CALL = re.compile(rf"\[<[0-9a-f]+>\] (?:\? )?{SYMBOL}")
"""A line of a call trace. "?": the address lay on the stack, and may be left from an earlier call."""

_REGISTER = re.compile(rf"\bRIP: [0-9a-f]+:(?:{SYMBOL}|(?P<address>0x[0-9a-f]+))?")
# BUG() of asm-generic, which User Mode Linux has
_BUG = re.compile(r"BUG: failure at (?P<file>\S+):(?P<line>\d+)/(?P<function>\w+)\(\)!")


@dataclass(frozen=True)
class Place:
    """A function of the kernel, or of a module."""

    function: str
    module: str | None = None

    def __str__(self) -> str:
        return self.function if self.module is None else f"{self.function} of the module {self.module}"


@dataclass(frozen=True)
class Fault:
    """What a kernel printed about where it was.

    at: Function, file and line, or address, for a message: "in tcp_ack", "at my_cc.c:9 in my_ssthresh".
    module: The module that this is in.
    caller: The first function of a module in the call trace, if there is a trace; `at` itself aside.
    """

    at: str
    module: str | None = None
    caller: Place | None = None

    @property
    def culprit(self) -> str | None:
        """The module to look at first, if any is named."""
        return self.module or (self.caller.module if self.caller else None)

    def described(self, loaded: Sequence[str] = ()) -> str:
        """For a message; `loaded` are the modules that are named if none is in what was printed."""
        if self.caller is not None:
            return f"{self.at}, with {self.caller} in its call trace"
        return self.at if self.module is not None else self.at + with_loaded(loaded)


def with_loaded(modules: Sequence[str]) -> str:
    """The user's modules that are in the kernel, as the end of a sentence; empty: none is.

    >>> with_loaded(["mine", "yours"])
    ', with the modules mine and yours loaded'
    """
    return f", with the module{'s' * (len(modules) > 1)} {' and '.join(modules)} loaded" if modules else ""


def place_of(match: re.Match[str]) -> Place:
    """Function and module of a match of `SYMBOL`."""
    return Place(match["function"], match["module"])


def caller_in(text: str, at: Place | None = None) -> Place | None:
    """The first function of a module in the call trace that `text` holds, other than `at`; None: there is none."""
    calls = (place_of(match) for match in CALL.finditer(text))
    return next((call for call in calls if call.module is not None and call != at), None)


def fault_in(console: str, modules: Sequence[str] = ()) -> Fault | None:
    """Where the kernel was when it printed its registers, or ran into BUG().

    console: What it printed; of several faults the first counts, whose consequence the others are.
    modules: Names of the user's own, one C file each.
    Returns: None: it printed neither.
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
