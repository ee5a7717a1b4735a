# SPDX-License-Identifier: Apache-2.0
"""Commands start quickly: they load few libraries, and parse their words without pydantic."""

from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer import Context
from typer.testing import CliRunner

from leowarp.cli import typed
from leowarp.cli.app import app, program
from leowarp.cli.options import ProgressKind, flow_of
from support.loaded import OF_EVERY_VERB, libraries_of, modules_of

CHAIN = Path(__file__).parents[2] / "examples" / "chain.toml"


def test_help_and_a_plan_do_not_wait_for_libraries():
    assert modules_of("--help") >= {"leowarp.cli.studies.study_verbs"}
    assert libraries_of("--help") <= {*OF_EVERY_VERB, "markdown_it", "mdurl", "pygments"}
    assert libraries_of("run", "--help") <= {*OF_EVERY_VERB, "markdown_it", "mdurl", "pygments"}
    assert libraries_of("plan", CHAIN) <= {*OF_EVERY_VERB, "numpy"}


def test_a_verb_alone_has_the_help_that_it_has_among_all():
    every = set(typer.main.get_command(app).commands)
    for verb in sorted(every):
        alone = program([verb])
        assert set(typer.main.get_command(alone).commands) == {verb}
        helps = [CliRunner().invoke(made, [verb, "--help"]) for made in (alone, app)]
        assert helps[0].output == helps[1].output
        assert helps[0].exit_code == 0
    # For an unknown word or an option, the program contains all verbs and not just one.
    assert {word: set(typer.main.get_command(program([word])).commands) for word in ("nix", "--version")} == {
        "nix": every, "--version": every,
    }  # fmt: skip


@pytest.mark.parametrize(
    "word", ["a", "a/b.toml", "tests", "/etc/shadow", "\udcff", "a\x00", "ä", "", "auto", "AUTO", "3"]
)
def test_plain_words_become_what_typer_makes_of_them(word):
    seen = {}
    program(())
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
        for way in (param.get_runtime_param(), typed._Plainly.by_typer(param)):
            try:
                seen[param.name, type(way)] = way.coerce(value, param, context)
            except Exception as error:
                seen[param.name, type(way)] = repr(error), str(error)
    plainly = {name: value for (name, way), value in seen.items() if way is typed._Plainly}
    assert plainly.keys() == {param.name for param in command.params}
    assert plainly == {name: value for (name, way), value in seen.items() if way is not typed._Plainly}
