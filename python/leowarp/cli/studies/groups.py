# SPDX-License-Identifier: Apache-2.0
"""Groups of verbs with a default: `leowarp study FILE` is short for `leowarp study run FILE`.

A file that is called like a verb of the group is taken for the verb: `leowarp study ./status` is the file.
"""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup


class FileOrVerb(TyperGroup):
    """A group whose first word is one of its verbs, or else the first argument of the verb `default`.

    Typer has no such groups.
    """

    default: ClassVar[str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words of the group, with the default verb before them if they name none."""
        # Once here, for the group's own options, and once where the verb is looked up; of words that have a verb
        # nothing changes.
        return super().parse_args(ctx, self._with_verb(args))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb that the words mean; the same rule once more, since click asks for it with words of its own."""
        return super().resolve_command(ctx, self._with_verb(args))

    def _with_verb(self, args: list[str]) -> list[str]:
        """The words with the default verb before them if they do not begin with a verb."""
        # The context's permission does not count: it is the parent's when the group itself is looked up.
        is_verb = not args or args[0] in self.commands or args[0] in ("-h", "--help")
        return args if is_verb else [self.default, *args]


def with_default(verb: str) -> type[FileOrVerb]:
    """A group whose verb of this name needs no name.

    verb: One of the group's verbs.
    Returns: type. For ``typer.Typer(cls=...)``, which takes a class and not an instance.
    """
    return type("FileOrVerb", (FileOrVerb,), {"default": verb})
