# SPDX-License-Identifier: Apache-2.0
"""Find sentences that a reader probably has to read twice: `python tools/prose.py`.

    python tools/prose.py                    what the last commit and the working tree add; and the share of the whole
    python tools/prose.py --base COMMIT      what was added since COMMIT
    python tools/prose.py --all [PATH ...]   whole files
    python tools/prose.py --all --count      only the numbers

The script reads Markdown, but not its code and tables. It also reads docstrings and comments of Python, and comments of
Rust, C, TypeScript and shell. The rules are in CONTRIBUTING.md ("Plain English"). A sentence that breaks a rule may
stay if a comment `prose: REASON` is on its first line or on the line before. The exit status is 1 if an added sentence
breaks a rule and has no such comment. The exit status is also 1 if the share of these sentences is above `MOST_RATIO`.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_WORDS = 34
"""A sentence may have at most this number of words. CONTRIBUTING.md allows 25 words, but this check must accept lists
and definitions."""
LONG_WORDS = 30
MOST_RATIO = {"documentation": 0.04, "everything": 0.06}
DOCUMENTATION = ("docs", "README.md", "ARCHITECTURE.md", "design", "site")
# A sentence that begins with one of these words hides its subject.
BEGINNINGS = re.compile(
    r"(What|Of|By (what|which|how|it|them)|That|Who|Whoever|Whose|Whatever|Which|As of|So that|In vain"
    r"|Not (of|by|to)|How (many|long|far|any)|(Without|With) it|Where (it|they))\b"
)
INSTEAD = {
    r"in vain": "spurious, needless",
    r"h(a|u)ngs? on": "depends on",
    r"clock on the wall|wall's clock": "real time",
    r"ma(de|ke|kes) (again|anew)": "reproduced, rebuilt, re-run",
    r"t(ake|akes|aken|aking|ook) .{0,20}for lost": "declares lost",
    r"but for": "except for",
    r"stands? still": "pauses",
    r"stands? (beside|there|in|at|twice)": "is",
    r"(is|are|was|were) told": "gets, is reported",
    r"(hold|holds|held|kept) back": "buffered, held",
    r"of ones? own|of one's own": "your own, custom",
    r"that fly|what flies": "in flight",
    r"mend(ed)?": "fix",
    r"owes?": "the name of what is carried over",
    r"so many": "the number or its name",
    r"a (run|packet|flow|node|hop|change|second|minute|hour|row|file|core|segment|queue) a": "per",
    r"judg(e|ed|es|ing)": "check, verdict",
}
"""A dict from pattern to the field's term that should be used instead."""
_INSTEAD = {re.compile(rf"\b({pattern})\b", re.IGNORECASE): word for pattern, word in INSTEAD.items()}
_READ = (".md", ".py", ".rs", ".c", ".h", ".ts", ".sh")
_GENERATED = re.compile(r"built/|docs/reference/(api|tables|scenario|clauses)\.md|CHANGELOG")
_COMMAND = re.compile(r"(python|leowarp|make|cargo|>>>|\.\.\.) ")
_REASON = re.compile(r"\bprose: \S")
_HASH_COMMENT = re.compile(r"^#\s?(.*)$")
_SLASH_COMMENT = re.compile(r"^(?:///|//!|//|/\*+|\*(?=\s))\s?(.*?)(?:\*/)?$")


@dataclass(frozen=True)
class Sentence:
    """A sentence and the line on which it begins, from 1."""

    path: str
    line: int
    text: str
    has_reason: bool = False

    @property
    def words(self) -> int:
        """The number of words. A piece of code in backquotes counts as one word, because nobody reads a list of columns
        as a sentence."""
        return len(re.sub(r"`[^`]*`", "code", self.text).split())

    @property
    def faults(self) -> list[str]:
        """The rules that the sentence breaks, as texts. The list is empty if the sentence breaks no rule."""
        found = []
        if BEGINNINGS.match(self.text) and not self.text.endswith("?"):
            found.append("its subject does not come first")
        found += [f"{match[0]!r}: {word}" for rule, word in _INSTEAD.items() if (match := rule.search(self.text))]
        if self.words > MOST_WORDS:
            found.append(f"{self.words} words")
        return found


def quoted_lines(text: str) -> set[int]:
    """Return the line numbers of docstrings in a Python file, including docstrings of attributes."""
    taken: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            taken.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return taken


def prose_lines(path: str, text: str) -> list[str]:
    """Return the prose in each line of a file, without comment marks and quotes, and "" for lines without prose."""
    found, is_code = [], False
    quoted = quoted_lines(text) if path.endswith(".py") else frozenset()
    comment = _HASH_COMMENT if path.endswith((".py", ".sh")) else _SLASH_COMMENT
    for number, line in enumerate(text.splitlines(), 1):
        stripped, prose = line.strip(), ""
        if path.endswith(".md"):
            if stripped.startswith("```"):
                is_code = not is_code
            elif not is_code and not stripped.startswith(("|", "#", "<!--", "![", ":::")):
                prose = stripped
        elif number in quoted:
            prose = "" if _COMMAND.match(stripped) else stripped.replace('"""', "")
        elif match := comment.match(stripped):
            prose = match[1]
        found.append("" if prose.startswith("SPDX-") else prose)
    return found


def sentences(path: str, text: str) -> Iterator[Sentence]:
    """Yield the sentences of a file. Sentences with fewer than four words are left out."""
    lines = text.splitlines()
    begun, words = 0, ""

    def done() -> Iterator[Sentence]:
        if len(words.split()) > 3:
            near = lines[max(begun - 2, 0) : begun]
            yield Sentence(path, begun, words, any(map(_REASON.search, near)))

    for number, prose in enumerate([*prose_lines(path, text), ""], 1):
        item = re.match(r"[-*] |\d+\. ", prose)
        if words and (item or not prose):
            yield from done()
            words = ""
        for piece in re.split(r"(?<=[.!?])\s+(?=[A-Z`*\"])", prose[item.end() :] if item else prose):
            begun = begun if words else number
            words = f"{words} {piece}".strip()
            if re.search(r"[.!?][`*\")]*$", words):
                yield from done()
                words = ""


def git(*arguments: str) -> str:
    """Return the output of git, or "" if git fails, for example because there is no such commit."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout


def added(base: str) -> dict[str, set[int]]:
    """Return the numbers of the lines that are new since `base`, by file."""
    lines: dict[str, set[int]] = {}
    path = ""
    for line in git("diff", "-U0", base).splitlines():
        if line.startswith("+++ b/"):
            path = line.removeprefix("+++ b/")
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first = int(hunk[1])
            lines.setdefault(path, set()).update(range(first, first + int(hunk[2] or 1)))
    return lines


def read(paths: list[str]) -> list[Sentence]:
    """Return the sentences of all files below these paths, or of all files of the repository if no paths are given."""
    named = [
        path for path in git("ls-files", *paths).splitlines() if path.endswith(_READ) and not _GENERATED.search(path)
    ]
    files = [path for path in named if (ROOT / path).is_file()]
    return [each for path in files for each in sentences(path, (ROOT / path).read_text(encoding="utf-8"))]


def share(found: list[Sentence]) -> float:
    """Return the share of sentences that break a rule and have no reason for it, from 0 to 1."""
    return sum(bool(each.faults) and not each.has_reason for each in found) / max(len(found), 1)


def numbers(found: list[Sentence]) -> str:
    """Return one line: number of sentences, share of suspicious sentences, median length, share of long sentences."""
    lengths = [each.words for each in found] or [0]
    long = sum(length > LONG_WORDS for length in lengths) / len(lengths)
    middle = f"median {statistics.median(lengths):.0f} words, {100 * long:.1f} % above {LONG_WORDS}"
    return f"{len(found)} sentences, {100 * share(found):.1f} % suspicious; {middle}"


def main(arguments: list[str] | None = None) -> int:
    """Print the faults. Return the exit status, which is 1 if the check fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="files and folders; everything if none")
    parser.add_argument("--base", default="HEAD~1", help="commit with which the working tree is compared")
    parser.add_argument("--all", action="store_true", help="whole files")
    parser.add_argument("--count", action="store_true", help="only the numbers")
    chosen = parser.parse_args(arguments)
    found = read(chosen.paths)
    if chosen.count:
        print(numbers(found))
        return 0
    new = {} if chosen.all else added(chosen.base)
    wrong = [
        each for each in found
        if each.faults and not each.has_reason and (chosen.all or each.line in new.get(each.path, ()))
    ]  # fmt: skip
    for each in wrong:
        print(f"{each.path}:{each.line}: {'; '.join(each.faults)}\n    {each.text}")
    if chosen.paths or chosen.all:
        return bool(wrong)
    ratios = {"documentation": share(read(list(DOCUMENTATION))), "everything": share(found)}
    above = {name: ratio for name, ratio in ratios.items() if ratio > MOST_RATIO[name]}
    for name, ratio in above.items():
        print(f"{name}: {100 * ratio:.1f} % of the sentences are suspicious, {100 * MOST_RATIO[name]:.0f} % may be")
    if wrong:
        print("  say it plainer (CONTRIBUTING.md, Plain English), or give a reason: prose: WHY in a comment beside it")
    return bool(wrong or above)


if __name__ == "__main__":
    sys.exit(main())
