# SPDX-License-Identifier: Apache-2.0
"""Tests that links have targets, commands can be parsed, and scenarios load with the settings in commands."""

import contextlib
import functools
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from leowarp import media, scenario
from leowarp.cli.app import program
from leowarp.cli.options import settings
from leowarp.ephemeris import ephemeris_of
from leowarp.routes.links import isl_rule
from leowarp.scenario import plan_of
from support.pages import PAGES, ROOT, blocks, commands, files, name_of, prose, typed

# The test is slow, because the real command line parses each of the 350 commands in the documentation.
pytestmark = pytest.mark.slow

_LINK = re.compile(r"(?<!\\)\[[^\]]*\]\(([^)\s]+)\)")


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub makes from headings. They are in lower case, with dashes instead of blanks, and
    without other punctuation."""
    headings = re.findall(r"^#+ +(.*)$", prose(page), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@functools.cache
def command_line() -> Any:
    """Return the command line with all its verbs. Building it takes 0.05 s."""
    return typer.main.get_command(program())


def parse(command: str, *, name_alone: bool = False) -> None:
    """Parse a command without running it. An unknown verb or option, or a missing argument, raises an error.

    `name_alone`: Whether `command` may be the name of a command without its arguments.
    """
    verb: Any = command_line()
    words = shlex.split(command)[1:]
    while hasattr(verb, "resolve_command"):
        if not words or words[0].startswith("-"):
            break
        # `resolve_command` needs a context only to find the verb
        name, found, words = verb.resolve_command(verb.context_class(verb, info_name="leowarp"), words)
        assert found is not None, f"no verb {name}"
        verb = found
    if name_alone and not words:
        return
    if not any(word in ("--help", "-h", "--install-completion", "--show-completion") for word in words):
        verb.make_context("leowarp", list(words))


COMMANDS = [(name_of(page), *command) for page in PAGES for command in dict.fromkeys(commands(page))]


def test_there_is_documentation_to_look_at() -> None:
    assert len(PAGES) > 15
    assert len(COMMANDS) > 30


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_relative_links_resolve(page: Path) -> None:
    wrong = []
    for link in _LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            wrong.append(f"{link}: there is no {path}")
        elif anchor and target.suffix == ".md" and anchor not in anchors(target):
            wrong.append(f"{link}: no such heading")
    assert not wrong


@pytest.mark.parametrize(
    ("page", "command", "in_sentence"), COMMANDS, ids=[f"{page}: {command}" for page, command, _ in COMMANDS]
)
def test_commands_parse(page: str, command: str, in_sentence: bool) -> None:
    parse(command, name_alone=in_sentence)


@pytest.mark.parametrize(
    "command", ["leowarp rum x.toml", "leowarp run", "leowarp run x.toml --outt y", "leowarp kernel x"]
)
def test_a_wrong_command_would_be_noticed(command: str) -> None:
    with pytest.raises(Exception, match=r"(?i)no such|missing"):
        parse(command)


_SCENARIO = re.compile(r"<!-- file: \S+\.toml -->")


@pytest.mark.parametrize("page", [page for page in PAGES if _SCENARIO.search(page.read_text())], ids=name_of)
def test_scenarios_in_pages_resolve(page: Path, tmp_path: Path) -> None:
    scenarios = [path for path in written(page, tmp_path) if not path.read_text().count("[parameters]")]
    assert scenarios
    for path in scenarios:
        assert scenario.resolve(scenario.load(path)).name


def written(page: Path, directory: Path) -> list[Path]:
    """Write the files that a page contains, and return the TOML files."""
    for name, text in files(page).items():
        (directory / name).write_text(text, encoding="utf-8")
    # Snippets that contain `.write_text(` write the files to which scenarios refer.
    for _, text in blocks(page, "python"):
        if ".write_text(" in text:
            with contextlib.chdir(directory):
                exec(compile(text, name_of(page), "exec"), {"__name__": "__main__"})
    return [directory / name for name in files(page) if name.endswith(".toml")]


def test_elements_of_the_guide_have_the_grid_and_the_route_that_it_shows(tmp_path: Path) -> None:
    page = ROOT / "docs" / "guides" / "your-own-constellation.md"
    written(page, tmp_path)
    plan = plan_of(tmp_path / "elements.toml")
    sky = ephemeris_of(plan)
    assert sky is not None
    assert [f"{text}\n" for text in sky.warnings] == [text for _, text in blocks(page, "text")]
    assert len(isl_rule(plan, sky).pairs(sky.positions_ecef_m(0))) == 2 * 1584
    routes = media.routes_of(plan, sky)
    assert routes.summary["no_path_s"] == 0
    assert (routes.nodes[routes.pairs[0][0]], routes.nodes[routes.pairs[0][1]]) == ("New York", "London")


TAKE_SCENARIOS = ("run", "plan", "routes", "ephemeris", "timeline")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_settings_of_commands_have_plans(page: Path, tmp_path: Path) -> None:
    """Each scenario that a command names must exist, and must accept the keys and values of the command."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    written(page, tmp_path)
    for command, _ in commands(page):
        words = shlex.split(command)[1:]
        named = [tmp_path / word for word in words[1:3] if word.endswith(".toml") and (tmp_path / word).exists()]
        if words[0] not in TAKE_SCENARIOS or not named:
            assert not any(word.startswith("examples/") and not (ROOT / word).exists() for word in words), command
            continue
        given = [words[place + 1] for place, word in enumerate(words) if word == "--set"]
        modules = [tmp_path / words[place + 1] for place, word in enumerate(words) if word == "--cc-module"]
        # first-run.md contains the mistake `run.duration=60` on purpose
        if "run.duration=60" not in given:
            assert plan_of(named[0], settings(given, modules)).name, command


def test_no_two_commands_make_the_same_directory() -> None:
    """No two guides write to the same directory. If two guides did so, a user who follows one after the other would get
    an error. Guides of studies and reproductions may repeat a directory, because they continue in it."""
    typed_words = [shlex.split(command) for _, command, _ in COMMANDS]
    makers = [words for words in typed_words if "--out" in words and {"run", "run-again", "export"} & set(words[1:3])]
    names = [words[words.index("--out") + 1] for words in makers]
    assert len(names) > 15
    assert not {name for name in names if names.count(name) > 1}


def test_goals_and_programs_that_pages_name_exist() -> None:
    goals = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    for page in PAGES:
        for words in map(str.split, typed(page)):
            if words[:1] == ["make"]:
                assert set(words[1:2]) <= goals, f"{name_of(page)}: {' '.join(words)}"
            if words[:1] in (["python"], ["python3"]) and words[1:] and words[1].endswith(".py"):
                assert (ROOT / words[1]).exists(), f"{name_of(page)}: {' '.join(words)}"


def test_the_index_names_every_page() -> None:
    docs = ROOT / "docs"
    named = {(docs / link.partition("#")[0]).resolve() for link in _LINK.findall(prose(docs / "README.md"))}
    missing = [name_of(page) for page in sorted(docs.rglob("*.md")) if page.name != "README.md" and page not in named]
    assert not missing
