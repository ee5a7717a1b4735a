# SPDX-License-Identifier: Apache-2.0
"""Tests that commands in error messages and hints use only options that exist."""

import ast
import re
from collections.abc import Iterator
from typing import Any

import typer.main

from leowarp.cli.app import program
from support.pages import ROOT

MODULES = sorted(path for path in (ROOT / "python").rglob("*.py") if not path.name.endswith("_test.py"))
VERBS: Any = typer.main.get_command(program())
COMMAND = re.compile(r"leowarp ((?:[a-z]+(?:-[a-z]+)*\b ?)+)([^;,()\n`]*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def texts(source: str) -> Iterator[str]:
    """Yield text constants in a module's source, without the parts that are filled in."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def unknown_options(text: str) -> list[str]:
    """Find each `leowarp VERB` in a text, and return the options after it that the verb does not have."""
    wrong = []
    for found in COMMAND.finditer(text):
        verb, named = VERBS, False
        for word in found[1].split():
            if word not in getattr(verb, "commands", {}):
                break
            verb, named = verb.commands[word], True
        # In a group of verbs, a text may omit the verb, so the options of all verbs of the group are accepted.
        verbs = list(verb.commands.values()) if hasattr(verb, "commands") else [verb]
        known = {option for one in verbs for parameter in one.params for option in parameter.opts} | {"--help"}
        known |= {option for one in verbs for parameter in one.params for option in parameter.secondary_opts}
        wrong += [f"{found[0]}: {option}" for option in OPTION.findall(found[0]) if named and option not in known]
    return wrong


def test_options_in_commands_that_messages_name_exist() -> None:
    wrong = []
    for path in MODULES:
        source = path.read_text(encoding="utf-8")
        # Most modules contain no command and no option. Only modules whose text contains both are parsed.
        if COMMAND.search(source) and OPTION.search(source):
            wrong += [f"{path}: {one}" for text in texts(source) for one in unknown_options(text)]
    assert wrong == []


def test_an_option_that_is_not_there_would_be_noticed() -> None:
    assert unknown_options("type: leowarp kernel build --force") == ["leowarp kernel build --force: --force"]
    assert unknown_options("leowarp study FILE --retry-failed, or leowarp report RUN --formats pdf") == []
