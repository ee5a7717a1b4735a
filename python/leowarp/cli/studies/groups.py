# SPDX-License-Identifier: Apache-2.0
"""Groups of verbs that have a default verb. `leowarp study FILE` is short for `leowarp study run FILE`.

If a file has the same name as a verb, the word means the verb. For example, the file `status` must be written as
`leowarp study ./status`.
"""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup


class FileOrVerb(TyperGroup):
    """A group of verbs with a default verb. If the first word is not a verb of the group, all words are arguments of
    the verb `default`."""

    default: ClassVar[str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words of the command line. If the first word is not a verb, the default verb is inserted before
        it."""
        # The group has options of its own, so the default verb is inserted in `parse_args`. It is inserted again in
        # `resolve_command`. If the words already begin with a verb, the second insertion changes nothing.
        return super().parse_args(ctx, self._with_verb(args))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command that the typed words select. click passes its own list of words, which lacks the default
        verb. The default verb is therefore inserted again."""
        return super().resolve_command(ctx, self._with_verb(args))

    def _with_verb(self, args: list[str]) -> list[str]:
        """Return the words with the default verb in front, if they do not begin with a verb."""
        # While click looks up the group itself, the context belongs to the group's parent. The function therefore
        # cannot use the context's setting for extra arguments.
        is_verb = not args or args[0] in self.commands or args[0] in ("-h", "--help")
        return args if is_verb else [self.default, *args]


def with_default(verb: str) -> type[FileOrVerb]:
    """Return a class of groups with the default verb `verb`.

    verb: One of the group's verbs.
    Returns: type. The class is passed to ``typer.Typer(cls=...)``, which needs a class and not an instance.
    """
    return type("FileOrVerb", (FileOrVerb,), {"default": verb})
