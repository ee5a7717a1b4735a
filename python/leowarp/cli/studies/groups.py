# SPDX-License-Identifier: Apache-2.0
"""Groups of verbs with a default: `leowarp study FILE` is short for `leowarp study run FILE`.

A file with the name of a verb of the group is read as the verb: `leowarp study ./status` is the file.
"""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup


class FileOrVerb(TyperGroup):
    """A group whose first word is one of its verbs, or otherwise the first argument of the verb `default`.

    Typer has no such groups.
    """

    default: ClassVar[str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words of the group, preceded by the default verb if they name none."""
        # The rule is applied here for the group's own options, and again when the verb is looked up; words that name a
        # verb stay unchanged.
        return super().parse_args(ctx, self._with_verb(args))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb that the words mean; the same rule is applied again, since click passes words of its own."""
        return super().resolve_command(ctx, self._with_verb(args))

    def _with_verb(self, args: list[str]) -> list[str]:
        """The words, preceded by the default verb if they do not begin with a verb."""
        # The context's permission is not used: when the group itself is looked up, it is the permission of the parent.
        is_verb = not args or args[0] in self.commands or args[0] in ("-h", "--help")
        return args if is_verb else [self.default, *args]


def with_default(verb: str) -> type[FileOrVerb]:
    """A group with a verb that need not be typed.

    verb: One of the group's verbs.
    Returns: type. It is for ``typer.Typer(cls=...)``, which needs a class and not an instance.
    """
    return type("FileOrVerb", (FileOrVerb,), {"default": verb})
