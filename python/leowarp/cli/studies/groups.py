# SPDX-License-Identifier: Apache-2.0
"""Groups of verbs that have a default verb. `leowarp study FILE` is short for `leowarp study run FILE`.

If a file has the same name as a verb, the word means the verb. For example, the file `status` must be written as
`leowarp study ./status`.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup


def with_default(verb: str) -> type[TyperGroup]:
    """Return a class of groups of verbs, for ``typer.Typer(cls=...)``. If the first word is not a verb of the group,
    all words are arguments of `verb`, which is one of the group's verbs."""

    class FileOrVerb(TyperGroup):
        # The group has options of its own, so the default verb is inserted in `parse_args`. click passes its own list
        # of words to `resolve_command`, which lacks the default verb. The default verb is therefore inserted again.
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            return super().parse_args(ctx, self._with_verb(args))

        def resolve_command(self, ctx: Any, args: list[str]) -> Any:
            return super().resolve_command(ctx, self._with_verb(args))

        def _with_verb(self, args: list[str]) -> list[str]:
            # While click looks up the group itself, the context belongs to the group's parent. The function therefore
            # cannot use the context's setting for extra arguments.
            is_verb = not args or args[0] in self.commands or args[0] in ("-h", "--help")
            return args if is_verb else [verb, *args]

    return FileOrVerb
