# SPDX-License-Identifier: Apache-2.0
"""Groups of verbs with a default verb: `leowarp study FILE` is short for `leowarp study run FILE`.

If a file has the name of a verb of the group, the verb takes precedence: `leowarp study ./status` names the file.
"""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup


class FileOrVerb(TyperGroup):
    """A group of verbs. If its first word is not one of them, the word is an argument of the verb `default`.

    Typer has no such groups.
    """

    default: ClassVar[str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of the group, preceded by the default verb if they do not begin with a verb."""
        # The rule is applied here because of the group's own options, and again when the verb is looked up. The rule
        # does not change words that begin with a verb.
        return super().parse_args(ctx, self._with_verb(args))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb that the words name; the rule is applied again, because click passes its own list of words."""
        return super().resolve_command(ctx, self._with_verb(args))

    def _with_verb(self, args: list[str]) -> list[str]:
        """The words, preceded by the default verb if they do not begin with a verb."""
        # The context's setting for extra arguments is not used: when the group itself is looked up, it is the parent's
        # setting.
        is_verb = not args or args[0] in self.commands or args[0] in ("-h", "--help")
        return args if is_verb else [self.default, *args]


def with_default(verb: str) -> type[FileOrVerb]:
    """A class of groups with a default verb, which need not be typed.

    verb: One of the group's verbs.
    Returns: type. The class is passed to ``typer.Typer(cls=...)``, which needs a class and not an instance.
    """
    return type("FileOrVerb", (FileOrVerb,), {"default": verb})
