# SPDX-License-Identifier: Apache-2.0
"""Tests that commands load few libraries, and parse their arguments without pydantic."""

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer import Context
from typer.testing import CliRunner

from leowarp.cli.app import program
from leowarp.cli.options import ProgressKind, flow_of
from leowarp.cli.typed import convert_plainly
from support.loaded import OF_EVERY_VERB, libraries_of, modules_of

CHAIN = Path(__file__).parents[2] / "examples" / "chain.toml"


def test_help_and_a_plan_do_not_wait_for_libraries():
    assert modules_of("--help") >= {"leowarp.cli.studies.study_verbs"}
    assert libraries_of("--help") <= {*OF_EVERY_VERB, "markdown_it", "mdurl", "pygments"}
    assert libraries_of("run", "--help") <= {*OF_EVERY_VERB, "markdown_it", "mdurl", "pygments"}
    assert libraries_of("plan", CHAIN) <= {*OF_EVERY_VERB, "numpy"}


def test_a_verb_alone_has_the_help_that_it_has_among_all():
    app = program()
    every = set(typer.main.get_command(app).commands)
    for verb in sorted(every):
        alone = program([verb])
        assert set(typer.main.get_command(alone).commands) == {verb}
        helps = [CliRunner().invoke(made, [verb, "--help"]) for made in (alone, app)]
        assert helps[0].output == helps[1].output
        assert helps[0].exit_code == 0
    # If the first word is unknown or an option, the program contains all verbs and not just one.
    assert {word: set(typer.main.get_command(program([word])).commands) for word in ("nix", "--version")} == {
        "nix": every, "--version": every,
    }  # fmt: skip


@pytest.mark.parametrize(
    "word", ["a", "a/b.toml", "tests", "/etc/shadow", "\udcff", "a\x00", "ä", "", "auto", "AUTO", "3"]
)
def test_plain_words_become_what_typer_makes_of_them(word):
    of_types = typer.Typer()

    @of_types.command()
    def verb(
        text: str, path: Path,
        texts: Annotated[list[str], typer.Option()], paths: Annotated[list[Path], typer.Option()],
        kind: ProgressKind = ProgressKind.auto, other: Annotated[ProgressKind | None, typer.Option()] = None,
        parsed: Annotated[Any, typer.Option(parser=flow_of)] = None, number: int | None = None,
    ) -> None:  # fmt: skip
        raise AssertionError

    command = typer.main.get_command(of_types)
    context = Context(command)
    for param in command.params:
        value = (word,) if param.multiple else word
        seen = []
        for _ in range(2):
            try:
                seen.append(param.process_value(context, value))
            except Exception as error:
                seen.append((repr(error), str(error)))
            convert_plainly(param)
        assert seen[0] == seen[1], param.name
        assert "process_value" in vars(param), "this typer has no type_descriptor, which leowarp.cli.typed reads"


@pytest.mark.parametrize("value", [None, (), []])
def test_what_was_not_typed_becomes_what_typer_makes_of_it(value):
    calls = []

    def called(value):
        calls.append(value)
        return "called"

    of_types = typer.Typer()

    @of_types.command()
    def verb(
        text: str, texts: Annotated[list[str], typer.Option()],
        kind: Annotated[ProgressKind | None, typer.Option(callback=called)] = None,
        paths: Annotated[list[Path] | None, typer.Option()] = None,
    ) -> None:  # fmt: skip
        raise AssertionError

    command = typer.main.get_command(of_types)
    context = Context(command)
    for param in command.params:
        if value is not None and not param.multiple:
            continue
        seen = []
        for _ in range(2):
            try:
                seen.append(param.process_value(context, value))
            except Exception as error:
                seen.append(repr(error))
            convert_plainly(param)
        assert seen[0] == seen[1], param.name
    assert calls == ([None, None] if value is None else [])
