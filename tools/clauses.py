# SPDX-License-Identifier: Apache-2.0
"""List where each clause of an RFC, and each claim of a published study, is implemented and tested.

    python tools/clauses.py                  # one line per document, and all faults; status 1 if any
    python tools/clauses.py rfc4737          # each of its clauses
    python tools/clauses.py --page FILE      # writes docs/reference/clauses.md; --check compares only

The clauses are listed in `design/clauses/*.toml`. The name of a clause may contain any characters except parentheses.
In the code, a comment on its own line cites a clause or claim:

    // Implements RFC 4737, 4.2.3 (extent).
    # Tests RFC 4737, 7.1 (table 1).
    # Implements claim 1.4 of frederiksen2024 (figure 5).
    # Tests claims 2.1 to 2.8 of torres2020.

The script checks the following rules. Every clause has the citations that its kind needs, or else a written exception,
but not both. Every citation names an existing clause. A citation that begins with "Tests" is directly above a test. For
each section of an RFC, the list has clauses, or the reason why there are none. The code and the list give the same
words and the same source for a claim. A claim has one function. A citation of the claim is above the claim's function.
A test of this function also cites the claim.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from leowarp.study.claim import in_words

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("crates", "guest", "python", "tests")
SUFFIXES = (".rs", ".py", ".c", ".h")
IMPLEMENTS, TESTS = "Implements", "Tests"
# The citations that a clause needs, for each kind of clause. A clause with an exception does not need them. A
# recommendation may be left out without a reason (RFC 2119, 3).
NEEDS = {
    "must": {IMPLEMENTS, TESTS},
    "definition": {IMPLEMENTS, TESTS},
    "claim": {IMPLEMENTS, TESTS},
    "example": {TESTS},
    "recommendation": set(),
}
_COMMENT = re.compile(r"^\s*(?://[/!]?|#|/?\*)\s*(Implements|Tests) ((?:RFC|claims?) .*)$")
_RFC = re.compile(r"(RFC \d+), ([A-Z0-9.]+) \(([^()]+)\)\.")
_CLAIM = re.compile(r"claim ([\d.]+) of (\w+)(?: \(([^()]+)\))?\.")
_CLAIMS = re.compile(r"claims (\d+)\.(\d+) to (\d+)\.(\d+) of (\w+)\.")
_ITEM = re.compile(
    r"\b(?:fn|struct|enum|trait|def|class|const|static)\s+(\w+)"
    # this alternative matches a field or a Python constant
    r"|^\s*(?:pub(?:\([a-z]+\))? )?(\w+):|^([A-Z][A-Z_]+)\b"
)
_FUNCTION = re.compile(r"\b(?:fn|def)\s+(\w+)")


@dataclass(frozen=True)
class Clause:
    """A clause of an RFC, or a claim of a study. For a claim, `section` is the number of the claim, and `name` is its
    source, for example "figure 4".

    document, section, name: The parts of a citation: "RFC 4737", "4.2.3", "extent".
    kind: A key of `NEEDS`.
    says: The text of the requirement or definition.
    exception, departure: `exception` is the reason why the clause is not implemented. `departure` says how the code
        departs from the clause. Empty means none.
    """

    document: str
    section: str
    name: str
    kind: str
    says: str
    exception: str = ""
    departure: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """The key of a citation: document, section and, for an RFC, the clause's name."""
        return self.document, self.section, "" if self.kind == "claim" else self.name

    def __str__(self) -> str:
        if self.kind == "claim":
            return f"claim {self.section} of {self.document}"
        return f"{self.document}, {self.section} ({self.name})"


@dataclass(frozen=True)
class Citation:
    """A comment that cites a clause, and the item below the comment.

    verb: {"Implements", "Tests"}
    key: (str, str, str). The clause's key (`Clause.key`).
    source: The place of the claim in the paper, if the citation states it.
    file, line: str, int. The place of the comment. Lines count from 1.
    item: The function, type or constant below or around the comment.
    """

    verb: str
    key: tuple[str, str, str]
    source: str
    file: str
    line: int
    item: str

    @property
    def place(self) -> str:
        """The place of the citation as `file:line`, a form that editors open."""
        return f"{self.file}:{self.line}"


@dataclass
class Document:
    """The clauses of one RFC, or the claims of one study.

    name, title: "RFC 4737" or the study's key, and its title.
    clauses: The clauses in the order of the list.
    sections: For an RFC, all its sections that may contain clauses. Empty for a study.
    no_clause: For each section without clauses, the reason why it has none.
    """

    name: str
    title: str
    clauses: list[Clause]
    sections: list[str] = field(default_factory=list)
    no_clause: dict[str, str] = field(default_factory=dict)

    @property
    def is_study(self) -> bool:
        """Whether the document is a study. Citations must cover every section of an RFC. For a study, this is not
        required."""
        return not self.sections


@dataclass(frozen=True)
class Judged:
    """A `Claim(...)` in the code of a study.

    number, says, source: The number of the claim ("1.4"), its words, and its place in the paper. They must equal the
        entry in the list.
    file, function: The file and function that check the claim.
    function_line: The first line of the function, from 1.
    """

    number: str
    says: str
    source: str
    file: str
    function: str
    function_line: int


def read_document(path: Path) -> Document:
    """Read the list of clauses in a file of `design/clauses`.

    Raises KeyError or tomllib.TOMLDecodeError if the file has a wrong form.
    """
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    name = content["document"]
    clauses = [Clause(document=name, **entry) for entry in content.get("clause", [])]
    clauses += [
        Clause(name, entry["number"], entry["source"], "claim", entry["says"]) for entry in content.get("claim", [])
    ]
    return Document(name, content["title"], clauses, content.get("sections", []), content.get("no_clause", {}))


def citations(text: str, file: str) -> Iterator[Citation | str]:
    """Yield each citation of a source file. If a citation is faulty, the function yields a text that describes the
    fault instead.

    text: The file's content.
    file: The path below the repository, for messages and the page.
    """
    lines = text.splitlines()
    matches = {at: match for at, line in enumerate(lines) if (match := _COMMENT.match(line))}
    if matches and file.endswith(".py"):
        # A citation inside a string does not count, so only comments are searched.
        tokens = tokenize.generate_tokens(io.StringIO(text).readline)
        comments = {token.start[0] - 1 for token in tokens if token.type == tokenize.COMMENT}
        matches = {at: match for at, match in matches.items() if at in comments}
    for at, match in matches.items():
        verb, rest = match[1], match[2].strip()
        place, item = f"{file}:{at + 1}", _item(lines, at)
        if verb == TESTS and not _is_test(lines, at, file):
            yield f"{place}: no test stands below this citation"
        found = list(_cited(rest))
        if not found:
            yield f"{place}: cannot read the citation {rest!r}; it should be as `RFC 4737, 3.3 (reordered).`"
        for key, source in found:
            yield Citation(verb, key, source, file, at + 1, item)


def _cited(text: str) -> Iterator[tuple[tuple[str, str, str], str]]:
    """Yield (key, source) for each clause or claim that a citation names. A range of claims gives one pair per claim.
    Nothing is yielded if the text is not a citation."""
    if match := _RFC.fullmatch(text):
        yield (match[1], match[2], match[3]), ""
    elif match := _CLAIM.fullmatch(text):
        yield (match[2], match[1], ""), match[3] or ""
    elif (match := _CLAIMS.fullmatch(text)) and match[1] == match[3]:
        for number in range(int(match[2]), int(match[4]) + 1):
            yield (match[5], f"{match[1]}.{number}", ""), ""


def _below(lines: list[str], at: int) -> list[str]:
    """Return the lines below a citation. The result ends with the first line that is neither a comment nor an
    attribute."""
    below = []
    for line in lines[at + 1 :]:
        below.append(line)
        if not re.match(r"\s*(?://|#|/?\*|@)", line):
            break
    return below


def _item(lines: list[str], at: int) -> str:
    """Return the item below a citation, or the function that contains the citation."""
    match = _ITEM.search((_below(lines, at) or [""])[-1])
    if match is None:
        match = next((found for line in lines[at::-1] if (found := _FUNCTION.search(line))), None)
    return "" if match is None else next(name for name in match.groups() if name)


def _is_test(lines: list[str], at: int, file: str) -> bool:
    """Check whether a test begins directly below a citation. A test begins with `def test_...` in Python, and with
    `#[test]` in Rust."""
    below = _below(lines, at) or [""]
    if file.endswith(".rs"):
        return any(line.strip() == "#[test]" for line in below)
    return re.match(r"\s*def test_", below[-1]) is not None


def source_files(root: Path) -> Iterator[Path]:
    """Yield every file that may contain citations."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                yield path


def judged_claims(text: str, file: str) -> Iterator[Judged]:
    """Yield each `Claim(number, says, figure, test, runs, function)` of a module, without importing it.

    The module is read as a syntax tree, because an import would need all of the package's dependencies.
    """
    tree = ast.parse(text)
    functions = {node.name: node.lineno for node in tree.body if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Claim":
            number, says, figure = (ast.literal_eval(argument) for argument in node.args[:3])
            function = node.args[5]
            name = function.id if isinstance(function, ast.Name) else ""
            yield Judged(number, says, in_words(figure), file, name, functions.get(name, 0))


def problems(documents: list[Document], cited: list[Citation], judged: dict[str, list[Judged]]) -> Iterator[str]:
    """Yield all faults, one line each. `judged` is a dict from study to the claims that its code tests."""
    known = {clause.key: clause for document in documents for clause in document.clauses}
    for citation in cited:
        if citation.key not in known:
            yield f"{citation.place}: cites {' '.join(part for part in citation.key if part)}, which no list has"
    for document in documents:
        yield from _wrong_sections(document)
        twice = [clause for clause in document.clauses if known[clause.key] is not clause]
        yield from (f"{clause} stands in the list twice" for clause in twice)
        for clause in document.clauses:
            yield from _wrong_clause(clause, [citation for citation in cited if citation.key == clause.key])
        if document.is_study:
            yield from _wrong_claims(document, cited, judged.get(document.name, []))
    for study in sorted(judged.keys() - {document.name for document in documents}):
        yield f"the claims of {study} have no list in design/clauses"


def _wrong_sections(document: Document) -> Iterator[str]:
    """Yield the faults in the sections of an RFC. Each section needs clauses, or a reason why it has none, but not
    both."""
    having = {clause.section for clause in document.clauses}
    if document.is_study:
        return
    for section in document.sections:
        if section not in having and section not in document.no_clause:
            yield f"{document.name}, {section}: has neither a clause nor a reason why it has none"
    for section in sorted((having | document.no_clause.keys()) - set(document.sections)):
        yield f"{document.name} has no section {section}"
    for section in sorted(having & document.no_clause.keys()):
        yield f"{document.name}, {section}: has clauses and a reason why it has none"


def _wrong_clause(clause: Clause, cited: list[Citation]) -> Iterator[str]:
    """Yield the citations that a clause lacks. If the clause has an exception, it must have no citation. The function
    then yields its citations instead."""
    if clause.kind not in NEEDS:
        yield f"{clause}: there is no kind {clause.kind!r}; the kinds are {', '.join(NEEDS)}"
        return
    verbs = {citation.verb for citation in cited}
    if clause.exception:
        yield from (f"{citation.place}: cites {clause}, which the list calls an exception" for citation in cited)
        if clause.departure:
            yield f"{clause}: a clause that is not implemented cannot depart from anything"
        return
    for verb in sorted(NEEDS[clause.kind] - verbs):
        what = "implemented" if verb == IMPLEMENTS else "tested"
        yield f"{clause} is {what} nowhere, and there is no written exception"
    if not verbs and not NEEDS[clause.kind]:
        yield f"{clause} is neither implemented nor tested, and there is no written exception"


def _wrong_claims(document: Document, cited: list[Citation], judged: list[Judged]) -> Iterator[str]:
    """Yield each difference between the list of a study's claims and the study's code. Also yield missing citations."""
    listed = {clause.section: clause for clause in document.clauses}
    for number in sorted(listed.keys() - {claim.number for claim in judged}):
        yield f"claim {number} of {document.name} is judged nowhere"
    for claim in judged:
        clause = listed.get(claim.number)
        if clause is None:
            yield f"{claim.file}: claim {claim.number} is not in the list of {document.name}"
            continue
        if (claim.says, claim.source) != (clause.says, clause.name):
            yield f"{claim.file}: {clause} has other words, or another source, than in the list"
        if [other.number for other in judged].count(claim.number) > 1:
            yield f"{claim.file}: {clause} stands in the code twice"
        mine = [c for c in cited if c.key == clause.key and c.verb == IMPLEMENTS]
        for citation in mine:
            if (citation.file, citation.item) != (claim.file, claim.function) or len(mine) > 1:
                yield f"{citation.place}: {clause} is judged by {claim.function} in {claim.file} alone"
            if citation.source != clause.name:
                yield f"{citation.place}: the source of {clause} is {clause.name}, not {citation.source or 'nothing'}"


def collected(root: Path) -> tuple[list[Document], list[Citation], list[str]]:
    """Read all documents and citations, and find their faults.

    root: The repository.
    Returns: (list of Document, list of Citation, list of str)
    """
    documents = [read_document(path) for path in sorted((root / "design" / "clauses").glob("*.toml"))]
    cited: list[Citation] = []
    wrong: list[str] = []
    judged: dict[str, list[Judged]] = {}
    for path in source_files(root):
        file, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        for found in citations(text, file):
            if isinstance(found, str):
                wrong.append(found)
            else:
                cited.append(found)
        # A study checks its claims in files `claims_*.py`, or in files of a folder `claims`.
        in_folder = path.parent.name == "claims"
        is_judging = in_folder or re.fullmatch(r"claims_\w+\.py", path.name)
        if is_judging and path.suffix == ".py" and not path.name.endswith("_test.py"):
            study = (path.parent.parent if in_folder else path.parent).name
            judged.setdefault(study, []).extend(judged_claims(text, file))
    return documents, cited, wrong + list(problems(documents, cited, judged))


def summary(document: Document, cited: list[Citation]) -> str:
    """Return one line with the numbers of implemented, tested and excepted clauses."""
    keys = {verb: {citation.key for citation in cited if citation.verb == verb} for verb in (IMPLEMENTS, TESTS)}
    count = {
        "implemented": sum(clause.key in keys[IMPLEMENTS] for clause in document.clauses),
        "tested": sum(clause.key in keys[TESTS] for clause in document.clauses),
        "with departures": sum(bool(clause.departure) for clause in document.clauses),
        "exceptions": sum(bool(clause.exception) for clause in document.clauses),
    }
    if document.is_study:
        count = {name: count[name] for name in ("implemented", "tested")}
    what = "claims" if document.is_study else "clauses"
    told = ", ".join(f"{number} {name}" for name, number in count.items())
    return f"{document.name}: {len(document.clauses)} {what}, {told}"


def table(document: Document, cited: list[Citation]) -> Iterator[str]:
    """Yield lines for each clause. They say where the clause is implemented and tested, or why it is not."""
    for clause in document.clauses:
        yield f"{clause.section} ({clause.name}), {clause.kind}: {clause.says}"
        for verb in (IMPLEMENTS, TESTS):
            places = [c.place for c in cited if c.key == clause.key and c.verb == verb]
            if places:
                yield f"    {verb.lower()}: {', '.join(places)}"
        for name, reason in (("departs", clause.departure), ("exception", clause.exception)):
            if reason:
                yield f"    {name}: {reason}"


def page(documents: list[Document], cited: list[Citation]) -> str:
    """Return the page docs/reference/clauses.md. The page names files and items, but no line numbers, because these
    change often."""
    parts = [_INTRODUCTION, "\n".join(f"- {summary(document, cited)}" for document in documents)]
    for document in documents:
        parts.append(f"## {document.name}\n\n{document.title}")
        source = "source" if document.is_study else "kind"
        rows = [f"| | {source} | what it says | where | tests |", "|---|---|---|---|---|"]
        for clause in document.clauses:
            mine = [citation for citation in cited if citation.key == clause.key]
            where = _places(c for c in mine if c.verb == IMPLEMENTS)
            first, second = clause.section, clause.name
            if not document.is_study:
                first, second = f"{clause.section} {clause.name}", clause.kind
            says = clause.says
            if clause.departure:
                says += f" *Departure: {clause.departure}.*"
            if clause.exception:
                says += f" *Exception: {clause.exception}.*"
            tests = _places(c for c in mine if c.verb == TESTS)
            rows.append("| " + " | ".join((first, second, says.replace("|", "\\|"), where, tests)) + " |")
        parts.append("\n".join(rows))
        if document.no_clause:
            reasons = "; ".join(f"{section} ({reason})" for section, reason in document.no_clause.items())
            parts.append(f"Sections without a clause: {reasons}.")
    return "\n\n".join(parts) + "\n"


def _places(cited: Iterable[Citation]) -> str:
    """Return a list of the files that cite the clause. With each file, it has the items that cite the clause."""
    items: dict[str, list[str]] = {}
    for citation in cited:
        names = items.setdefault(citation.file, [])
        if citation.item and citation.item not in names:
            names.append(citation.item)
    return "<br>".join(
        f"[{Path(file).name}](../../{file})" + "".join(f" `{name}`" for name in names) for file, names in items.items()
    )


_INTRODUCTION = """\
# Clauses and claims

<!-- Made by `python tools/clauses.py --page`; do not edit. -->

The tables list the clauses of the two RFCs on packet reordering, and the claims of the reproduced studies. Each row
names the code that implements the clause or judges the claim, and the tests of this code. If leowarp departs from a
clause, or leaves it out, the row has the reason.

`make check` fails if the code cites a clause that does not exist, or if a clause lacks what its kind needs. A *must*
and a *definition* need code and a test. An *example* needs a test. A *recommendation* needs code or a test. A clause of
any kind may have a written exception instead."""


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Print, write or check the lists. Return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("document", nargs="?", help="rfc4737, torres2020, ...: each of its clauses")
    parser.add_argument("--page", type=Path, help="write the page of the documentation")
    parser.add_argument("--check", action="store_true", help="with --page: compare only")
    given = parser.parse_args(arguments)
    documents, cited, wrong = collected(root)
    if given.page is not None:
        made = page(documents, cited)
        if not given.check:
            given.page.write_text(made, encoding="utf-8")
        elif not given.page.is_file() or given.page.read_text(encoding="utf-8") != made:
            wrong.append(f"{given.page} is not what lists and code say: make docs")
    elif given.document is not None:
        names = {document.name.replace(" ", "").lower(): document for document in documents}
        if given.document.lower() not in names:
            print(f"there is no list {given.document!r}; there are: {', '.join(names)}", file=sys.stderr)
            return 2
        print("\n".join(table(names[given.document.lower()], cited)))
    else:
        print("\n".join(summary(document, cited) for document in documents))
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
