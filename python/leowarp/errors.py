# SPDX-License-Identifier: Apache-2.0
"""What can go wrong, grouped by who can mend it.

Every message says what was attempted, with which value, and which rule it broke; the hint says what to type next.
"""

from __future__ import annotations


class LeowarpError(Exception):
    """An error that ends a command with one clear message.

    Parameters
    ----------
    message : str
        What was attempted, with which value, and which rule it broke.
    hint : str, optional
        What to do or type next.
    """

    exit_code = 1

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message}\n  {self.hint}"


class ScenarioError(LeowarpError):
    """The scenario, or what was typed, is wrong: the user mends the text."""

    exit_code = 2


class HostError(LeowarpError):
    """The machine lacks something: a program, a permission, space, memory."""

    exit_code = 3


class GuestError(LeowarpError):
    """The guest kernel or its agent failed."""

    exit_code = 4


class TraceError(LeowarpError):
    """A trace, or what is computed from it, is incomplete or inconsistent."""

    exit_code = 5


class UnexpectedError(LeowarpError):
    """What no rule foresees: a fault of leowarp, or a file that is not as it should be and that no check found."""

    exit_code = 70  # EX_SOFTWARE of sysexits.h


INTERRUPTED_EXIT_CODE = 130
"""The exit status after Ctrl-C (128 + SIGINT), as shells count it."""
