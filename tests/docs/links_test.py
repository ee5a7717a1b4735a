# SPDX-License-Identifier: Apache-2.0
"""The documentation against the code: links resolve, commands parse, scenarios load, Python compiles.

A whole scenario (or a table it names) in a page stands in a fenced block below a line `<!-- file: NAME -->`.
"""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from leowarp import scenario
from leowarp.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")), ROOT / "design" / "interfaces.md"]
_FENCE = re.compile(r"^(?:<!-- file: (?P<file>\S+) -->\n+)?```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S)
_LINK = re.compile(r"(?<!\\)\[[^\]]*\]\(([^)\s]+)\)")
_INLINE = re.compile(r"`(leowarp [^`]+)`")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def prose(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them from headings: lower case, blanks to dashes, other punctuation dropped."""
    headings = re.findall(r"^#+ +(.*)$", prose(page), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def blocks(page: Path, *kinds: str) -> Iterator[tuple[str | None, str]]:
    for match in _FENCE.finditer(page.read_text(encoding="utf-8")):
        if match["kind"] in kinds:
            yield match["file"], match["text"]


def commands(page: Path) -> Iterator[tuple[str, bool]]:
    """Each command, and whether it stands in a sentence."""
    for _, text in blocks(page, "", "sh", "console"):
        for line in text.replace("\\\n", " ").splitlines():
            line = re.sub(r"\s+#\s.*$", "", line.strip().removeprefix("$ "))
            if line.startswith("leowarp "):
                yield line, False
    yield from ((match.split(" | ")[0], True) for match in _INLINE.findall(prose(page)))


def parse(command: str, *, name_alone: bool = False) -> None:
    """Raises if the command has an unknown verb or option, or lacks an argument; runs nothing.

    `name_alone`: a verb without arguments is a mention of the verb.
    """
    verb: Any = typer.main.get_command(app)
    words = shlex.split(command)[1:]
    while hasattr(verb, "resolve_command"):
        if not words or words[0].startswith("-"):
            break
        # The group's own context, only to look the verb up
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


@pytest.mark.parametrize("page", [page for page in PAGES if any(blocks(page, "python"))], ids=name_of)
def test_python_compiles(page: Path) -> None:
    for _, text in blocks(page, "python"):
        compile(text, name_of(page), "exec")


@pytest.mark.parametrize("page", [page for page in PAGES if "<!-- file: " in page.read_text()], ids=name_of)
def test_scenarios_in_pages_resolve(page: Path, tmp_path: Path) -> None:
    written = [(name, text) for name, text in blocks(page, "toml", "csv", "c", "") if name]
    for name, text in written:
        (tmp_path / name).write_text(text, encoding="utf-8")
    scenarios = [tmp_path / name for name, _ in written if name.endswith(".toml")]
    assert scenarios
    for path in scenarios:
        assert scenario.resolve(scenario.load(path)).name


def test_the_index_names_every_page() -> None:
    docs = ROOT / "docs"
    named = {(docs / link.partition("#")[0]).resolve() for link in _LINK.findall(prose(docs / "README.md"))}
    missing = [name_of(page) for page in sorted(docs.rglob("*.md")) if page.name != "README.md" and page not in named]
    assert not missing
