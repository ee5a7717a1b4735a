# SPDX-License-Identifier: Apache-2.0
"""What the guest's kernel prints when it finds itself in a state that it should not be in, and goes on.

Nothing else tells of it: a WARN_ON in TCP leaves a run that looks like any other. Texts and levels are those of Linux
6.12 (kernel/panic.c, kernel/sched/core.c, lib/ubsan.c, kernel/hung_task.c, net/core/dev.c); the order of a WARNING's
words changed in 6.17.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from leowarp.guest.places import SYMBOL, Place, caller_in, place_of, with_loaded

MOST_SENTENCES = 5
"""Complaints that are told one by one; the console has all."""
_LONGEST_TEXT = 160

# The run's time 0 on the guest's clock: 10 s after boot, or later by whole multiples of 4.096 s
# (`Clock::begin`, crates/agent/src/clock.rs).
_FIRST_NS, _ROUND_NS = 10_000_000_000, 4_096_000_000
# The agent tells the time once a second of it, and before that lets the network stand for one.
_BETWEEN_WORDS_NS = 1_000_000_000

_LINE = re.compile(r"\[ *(?P<seconds>\d+)\.(?P<fraction>\d{6})\] (?P<text>.*)")
_WARNING = re.compile(
    rf"WARNING: (?:CPU: \d+ PID: \d+ at (?:(?P<file>\S+:\d+) )?|(?:(?P<file_first>\S+:\d+) )?at ){SYMBOL}"
)
# Some have a name before them: "rcu: INFO: ...", "watchdog: BUG: soft lockup", "iperf3: page allocation failure". What
# refcount_t and lists say is the text of a WARNING; BUG() ends in a panic, which says the same.
_COMPLAINT = re.compile(
    r"(?:\S+: )?(?:WARNING: |BUG: (?!failure at )|BUG \S+ \(|UBSAN: |"
    r"INFO: (?:task |rcu|trying to register|suspicious|possible)|"
    r"bad: scheduling from the idle thread|page allocation failure|unregister_netdevice: waiting for )"
)


@dataclass(frozen=True)
class Complaint:
    """One kind of complaint: the same text, apart from numbers, or a warning of the same line.

    Attributes
    ----------
    headline : str
        A WARNING's file, line and function; of others the first line.
    at : Place, optional
        The function, of a WARNING.
    text : str
        What a WARNING says beside its place; may be empty.
    caller : Place, optional
        The first function of a module in the call trace.
    boot_ns : int
        When it was printed first, since boot; ms.
    t_ns : int, optional
        The same in the run's time; None if that is not known, as among several runs of a boot.
    run : int, optional
        Of the boot, the run in which it was printed first; None: the boot has one.
    count : int
        How often it was printed. Most places of the kernel warn once a boot, however often it comes there.
    """

    headline: str
    at: Place | None
    text: str
    caller: Place | None
    boot_ns: int
    t_ns: int | None
    run: int | None
    count: int = 1

    def sentence(self, loaded: list[str], run: int | None) -> str:
        """For the manifest and the report of a run of the boot."""
        kind = "a warning" if self.at is not None else "an error"
        often = "" if self.count == 1 else f" {self.count:,} times, first"
        when = f" at {self.boot_ns / 1e9:.3f} s after boot"
        if self.t_ns is not None:
            when = f" at {self.t_ns / 1e9:.3f} s" if self.t_ns >= 0 else " before the run's start"
        said = f' ("{self.text}")' if self.text else ""
        by = f", with {self.caller} in its call trace" if self.caller else ""
        is_named = self.caller is not None or (self.at is not None and self.at.module is not None)
        earlier = "" if self.run in (run, None) else " in an earlier run of the same boot"
        return (
            f"the guest's kernel printed {kind}{often}{when}{earlier}: {self.headline}{said}{by}"
            f"{'' if is_named else with_loaded(loaded)}; its state may be wrong from there on: see guest-console.txt"
        )


class Complaints:
    """Collects them from the console's lines, which may be many: a warning may come with every packet.

    Parameters
    ----------
    loaded : list of str
        Names of the user's modules, which are named if a call trace names none.
    """

    def __init__(self, loaded: list[str]) -> None:
        self._loaded = loaded
        self._found: dict[str, Complaint] = {}
        # Of the complaint whose lines come now: its key, and whether the next one is the first after its headline
        self._key: str | None = None
        self._is_next = False

    def hear(self, line: str, run: int | None, heard_ns: int | None) -> None:
        """A line of the console.

        Parameters
        ----------
        run : int, optional
            Of a boot with several, the one that spoke last.
        heard_ns : int, optional
            The run's time that its agent told last; None: none yet.
        """
        match = _LINE.match(line)
        if match is None:
            return
        text = match["text"].rstrip()
        boot_ns = int(match["seconds"]) * 10**9 + int(match["fraction"]) * 1000
        if _COMPLAINT.match(text):
            # Between the runs of a boot the next one's start is not known yet.
            self._begin(text, boot_ns, run, run_time_ns(boot_ns, heard_ns) if run is None else None)
        elif self._key is not None:
            self._go_on(text, boot_ns)

    def sentences(self, run: int | None = None) -> list[str]:
        """Those that concern a run of the boot: printed in it, or in an earlier one.

        Most places of the kernel warn once a boot, so that a later run cannot be known to be free of an earlier one's.
        """
        found = [c for c in self._found.values() if run is None or c.run is None or c.run <= run]
        told = [complaint.sentence(self._loaded, run) for complaint in found[:MOST_SENTENCES]]
        if len(found) > MOST_SENTENCES:
            told.append(f"the guest's kernel printed {len(found) - MOST_SENTENCES} more kinds of warnings and errors: "
                        "see guest-console.txt")  # fmt: skip
        return told

    def _begin(self, text: str, boot_ns: int, run: int | None, t_ns: int | None) -> None:
        at = None
        if warning := _WARNING.match(text):
            at, file = place_of(warning), warning["file"] or warning["file_first"]
            text = f"{file} in {at}" if file else f"in {at}"
        text = text[:_LONGEST_TEXT]
        key = text if at else re.sub(r"\d+", "0", text)
        if key in self._found:
            # Once is enough to know who called, and a flood of them must not cost more than counting.
            self._found[key] = replace(self._found[key], count=self._found[key].count + 1)
            self._key = None
            return
        self._found[key] = Complaint(text, at, "", None, boot_ns, t_ns, run)
        self._key, self._is_next = key, True

    def _go_on(self, text: str, boot_ns: int) -> None:
        """A line after the headline: what a WARNING says, or a call."""
        key = self._key
        assert key is not None
        complaint = self._found[key]
        # To print takes no virtual time.
        if boot_ns != complaint.boot_ns or text.startswith("---[ end trace"):
            self._key = None
            return
        if self._is_next and complaint.at is not None and not text.startswith("Modules linked in:"):
            complaint = replace(complaint, text=text[:_LONGEST_TEXT])
        self._is_next = False
        if (caller := caller_in(text, complaint.at)) is not None:
            complaint, self._key = replace(complaint, caller=caller), None
        self._found[key] = complaint


def run_time_ns(boot_ns: int, heard_ns: int | None) -> int | None:
    """A time since boot in the run's time.

    Parameters
    ----------
    heard_ns : int, optional
        The run's time that the agent told last before it, on the whole second; None: none yet.

    Returns
    -------
    int or None
        None: no start of a run that is possible fits what the agent told.

    Examples
    --------
    >>> run_time_ns(11_187_000_000, 1_000_000_000), run_time_ns(15_283_000_000, 1_000_000_000)
    (1187000000, 1187000000)
    """
    least_ns = -_BETWEEN_WORDS_NS if heard_ns is None else heard_ns
    most_ns = (heard_ns or 0) + _BETWEEN_WORDS_NS
    rounds = max(0, -(-(boot_ns - _FIRST_NS - most_ns) // _ROUND_NS))
    t_ns = boot_ns - _FIRST_NS - rounds * _ROUND_NS
    return t_ns if least_ns <= t_ns <= most_ns else None
