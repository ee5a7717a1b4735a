# SPDX-License-Identifier: Apache-2.0
"""Collects error messages of the guest's kernel after which the kernel continues (example: the message of a WARN_ON).

The texts and log levels are those of Linux 6.12 (kernel/panic.c, kernel/sched/core.c, lib/ubsan.c, kernel/hung_task.c,
net/core/dev.c). Linux 6.17 changed the order of words in the first line of a WARNING.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from leowarp.guest.boot.places import SYMBOL, Place, caller_in, place_of, with_loaded

MOST_SENTENCES = 5
"""The number of complaints that the report lists individually. The console file contains all complaints."""
_LONGEST_TEXT = 160

_LINE = re.compile(r"\[ *(?P<seconds>\d+)\.(?P<fraction>\d{6})\] (?P<text>.*)")
_WARNING = re.compile(
    rf"WARNING: (?:CPU: \d+ PID: \d+ at (?:(?P<file>\S+:\d+) )?|(?:(?P<file_first>\S+:\d+) )?at ){SYMBOL}"
)
# Some lines have a prefix: "rcu: INFO: ...", "watchdog: BUG: soft lockup", "iperf3: page allocation failure". Messages
# of refcount_t and of list checks appear as the text of a WARNING. BUG() is not matched: it ends in a panic, which
# `diagnose` explains.
_COMPLAINT = re.compile(
    r"(?:\S+: )?(?:WARNING: |BUG: (?!failure at )|BUG \S+ \(|UBSAN: |"
    r"INFO: (?:task |rcu|trying to register|suspicious|possible)|"
    r"bad: scheduling from the idle thread|page allocation failure|unregister_netdevice: waiting for )"
)


@dataclass
class Complaint:
    """The complaints of one kind: messages whose texts differ only in numbers, or warnings of one source line.

    headline: For a WARNING, its file, line and function. For any other complaint, the complaint's first line.
    at: The function that printed the WARNING. None means that the complaint is not a WARNING.
    text: The further text of a WARNING. The text may be empty.
    caller: The first function of a module in the call trace. None means that the trace names no module.
    boot_ns, count: The time since boot of the first complaint of this kind, and the number of complaints. Most kernel
        warnings are printed only once per boot.
    """

    headline: str
    at: Place | None
    text: str
    caller: Place | None
    boot_ns: int
    count: int = 1

    def sentence(self, loaded: list[str], start_ns: int | None) -> str:
        """Return the complaint as a sentence for the manifest and the report. `start_ns` has the same meaning as in
        `Complaints`."""
        kind = "a warning" if self.at is not None else "an error"
        often = "" if self.count == 1 else f" {self.count:,} times, first"
        when = " before the run's start"
        if start_ns is not None and self.boot_ns >= start_ns:
            when = f" at {(self.boot_ns - start_ns) / 1e9:.3f} s"
        said = f' ("{self.text}")' if self.text else ""
        by = f", with {self.caller} in its call trace" if self.caller else ""
        is_named = self.caller is not None or (self.at is not None and self.at.module is not None)
        return (
            f"the guest's kernel printed {kind}{often}{when}: {self.headline}{said}{by}"
            f"{'' if is_named else with_loaded(loaded)}; its state may be wrong from there on: see guest-console.txt"
        )


class Complaints:
    """Collects complaints from the console's lines.

    loaded: The names of the user's modules, which a sentence lists if the call trace names no module.
    start_ns: The run's time 0 on the guest's clock. None means that the agent has not reported it yet.
    """

    def __init__(self, loaded: list[str]) -> None:
        self._loaded = loaded
        self.start_ns: int | None = None
        self._found: dict[str, Complaint] = {}
        # The complaint that is being read, and whether the next line is the first after its headline.
        self._read: Complaint | None = None
        self._is_next = False

    def hear(self, line: str) -> None:
        match = _LINE.match(line)
        if match is None:
            return
        text = match["text"].rstrip()
        boot_ns = int(match["seconds"]) * 10**9 + int(match["fraction"]) * 1000
        if _COMPLAINT.match(text):
            self._begin(text, boot_ns)
        elif self._read is not None:
            self._go_on(self._read, text, boot_ns)

    def sentences(self) -> list[str]:
        found = list(self._found.values())
        told = [complaint.sentence(self._loaded, self.start_ns) for complaint in found[:MOST_SENTENCES]]
        if len(found) > MOST_SENTENCES:
            told.append(f"the guest's kernel printed {len(found) - MOST_SENTENCES} more kinds of warnings and errors: "
                        "see guest-console.txt")  # fmt: skip
        return told

    def _begin(self, text: str, boot_ns: int) -> None:
        at = None
        if warning := _WARNING.match(text):
            at, file = place_of(warning), warning["file"] or warning["file_first"]
            text = f"{file} in {at}" if file else f"in {at}"
        text = text[:_LONGEST_TEXT]
        key = text if at else re.sub(r"\d+", "0", text)
        if key in self._found:
            # Only one call trace is read per kind of complaint. Further messages of the same kind are only counted, so
            # a flood of warnings costs little.
            self._found[key].count += 1
            self._read = None
            return
        self._found[key] = self._read = Complaint(text, at, "", None, boot_ns)
        self._is_next = True

    def _go_on(self, complaint: Complaint, text: str, boot_ns: int) -> None:
        """Process a line after the headline. The line may be the text of a WARNING, or a line of the call trace."""
        # Printing takes no virtual time, so all lines of a complaint have the same time.
        if boot_ns != complaint.boot_ns or text.startswith("---[ end trace"):
            self._read = None
            return
        if self._is_next and complaint.at is not None and not text.startswith("Modules linked in:"):
            complaint.text = text[:_LONGEST_TEXT]
        self._is_next = False
        complaint.caller = caller_in(text, complaint.at)
        if complaint.caller is not None:
            self._read = None
