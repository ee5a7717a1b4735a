# SPDX-License-Identifier: Apache-2.0
"""Verbs with verbs below them, one of which needs no name: `leowarp study FILE` is `leowarp study run FILE`."""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup


class FileOrVerb(TyperGroup):
    """What follows is the name of a verb below, or else what its `default` takes."""

    default: ClassVar[str]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, self._with_verb(args))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        return super().resolve_command(ctx, self._with_verb(args))

    def _with_verb(self, args: list[str]) -> list[str]:
        # Not by what the context allows: that is the parent's when the group itself is looked up.
        is_verb = not args or args[0] in self.commands or args[0] in ("-h", "--help")
        return args if is_verb else [self.default, *args]


def with_default(verb: str) -> type[FileOrVerb]:
    """A group whose verb of this name needs no name."""
    return type("FileOrVerb", (FileOrVerb,), {"default": verb})
