# SPDX-License-Identifier: Apache-2.0
"""Check that imports form no circles. The check covers the Python modules, the modules of each Rust crate, and the C
files of the guest kernel.

    python tools/module_circles.py             # status 1 names each circle
    python tools/module_circles.py --graph     # prints every module and what it imports

Compilers refuse circles of crates, but not of modules or files. import-linter checks the layers in pyproject.toml, but
not the modules in a layer's package. Rust's test modules are left out, because they import what they test. Imports for
type checking and imports inside functions count.

A crate's root names all its modules. If a module uses a definition in the root, the module and the root form a circle.
If the root only re-exports a name, the name belongs to the module that defines it.
"""

import re
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("leowarp", "leowarp_conformance", "leowarp_studies")
TESTS = "#[cfg(test)]\nmod tests {"
CRATE_ROOTS = ("lib", "main")
PATH = re.compile(r"(?<!::)\b(crate|super|self)::(?=[\w{])")
NAME = re.compile(r"\w+")
C_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# A function or a structure's value that is not static. Other files can use it
C_DEFINITION = re.compile(r"^(?!static\b)[a-z][\w \t*]*?\b(\w+)(?:\([^;{}]*\)\s*\{| = \{)", re.MULTILINE)

# A weak definition. The file with a weak definition does not depend on the file that replaces this definition.
C_WEAK = re.compile(r"^(?:__weak|__attribute__\(\(weak\)\)) [\w \t*]*?\b(\w+)\(", re.MULTILINE)
# Matches a weak declaration in a header. A function that calls a weak function does not depend on the file that defines
# the weak function.
C_WEAK_DECLARATION = re.compile(r"^[a-z][\w \t*]*?\b(\w+)\([^;{}]*\) __attribute__\(\(weak\)\);", re.MULTILINE)


def main(arguments: list[str]) -> int:
    """Search for import circles in every crate, the guest's C and the package, and print them. Return exit status 1 if
    there is a circle.

    arguments: `--graph` prints every module and what it imports.
    """
    status = 0
    graphs = {source.parent.name: graph(source) for source in sorted(ROOT.glob("crates/*/src"))}
    graphs |= {"guest": c_graph(ROOT / "guest")}
    for package in PACKAGES:
        modules = python_graph(package)
        graphs |= {f"python: {package}": modules}
        graphs |= {f"python: folders of {room}": found for room, found in folder_graphs(modules).items()}
    for place, imports in graphs.items():
        if "--graph" in arguments:
            print(place)
            for module, imported in sorted(imports.items()):
                print(f"  {module} -> {', '.join(sorted(imported))}")
        for circle in circles(imports):
            print(f"{place}: these modules import each other: {' - '.join(sorted(circle))}", file=sys.stderr)
            status = 1
    return status


def graph(source: Path) -> dict[str, set[str]]:
    """Return each module's imports from other modules of the crate. Modules are named by their path below the crate.
    The root is `lib` or `main`.

    source: The folder `src` of a crate.
    Returns: A mapping such as `{"flows::tcp": {"clock", "flows::socket"}}`, without tests.
    """
    # The source is searched as text, because every Rust tool that lists a module's imports compiles the crate. Comments
    # are removed before the search.
    texts = {}
    for path in source.rglob("*.rs"):
        parts = [part for part in path.relative_to(source).with_suffix("").parts if part != "mod"]
        if not parts[-1].endswith("_test"):
            texts["::".join(parts)] = re.sub(r"//.*", "", path.read_text(encoding="utf-8").split(TESTS)[0])
    root = next(name for name in CRATE_ROOTS if name in texts)
    # If the root contains `pub use reading::Reader`, the name `crate::Reader` belongs to the module `reading`.
    exported = {
        path[-1]: "::".join(path[:-1]) for path in named([], texts[root], texts) if "::".join(path[:-1]) in texts
    }
    found = {}
    for module, text in texts.items():
        if module == root:
            found[module] = {name for name in texts if "::" not in name and name != root}
        else:
            owners = (owner(path, texts, exported, root) for path in named(module.split("::"), text, texts))
            found[module] = {name for name in owners if name != module}
    return found


def named(here: list[str], text: str, modules: Collection[str]) -> Iterator[list[str]]:
    """Yield each path below the crate that a module's text contains, as a list of its parts.

    here: The path of the module. It is empty for the crate's root.
    text: The module's source without comments and tests.
    modules: The paths of all modules of the crate.
    """
    starts = {"crate": [], "super": here[:-1], "self": here}
    for match in PATH.finditer(text):
        for path in expanded(text, match.end()):
            start = starts[match[1]]
            while path[0] == "super":
                start, path = start[:-1], path[1:]
            yield [*start, *path]
    # In a module's own file, the modules below it can be named without `self::`
    children = [name for *above, name in (module.split("::") for module in modules) if above == here]
    for match in re.finditer(rf"(?<![\w:])(?=({'|'.join(children)})::)", text) if children else ():
        yield from ([*here, *path] for path in expanded(text, match.end()))


def expanded(text: str, at: int) -> list[list[str]]:
    """Return the paths that begin at a position of a text. A path with braces gives several paths.

    Examples
    --------
    >>> expanded("flows::{tcp, probe::Probe}", 0)
    [['flows', 'tcp'], ['flows', 'probe', 'Probe']]
    """
    parts = []
    while match := NAME.match(text, at):
        parts.append(match[0])
        at = match.end()
        if not text.startswith("::", at):
            return [parts]
        at += 2
    if not text.startswith("{", at):
        return [parts]
    found = []
    while text[at] != "}":
        at = re.compile(r"[{,\s]*").match(text, at).end()
        if text[at] != "}":
            found += [[*parts, *path] for path in expanded(text, at)]
            at = item_end(text, at)
    return found


def item_end(text: str, at: int) -> int:
    """Return the position at which an item of a list in braces ends: the next comma or brace at the same depth.

    Examples
    --------
    >>> item_end("a::{b, c}, d}", 0)
    9
    """
    depth = 0
    while depth or text[at] not in ",}":
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return at


def owner(path: list[str], modules: Mapping[str, object], exported: Mapping[str, str], root: str) -> str:
    """Return the module to which a path leads. The rest of the path names a type or function in it.

    exported: A dict from each name that the root re-exports to its module.
    root: {"lib", "main"}. The module that is returned if the path leads to no other module.
    """
    # The longest prefix of the path is tried first, because in `flows::tcp::Transfer` both `flows` and `flows::tcp` are
    # modules.
    for length in range(len(path), 0, -1):
        if (name := "::".join(path[:length])) in modules:
            return name
    return exported.get(path[0], root) if path else root


def python_graph(package: str) -> dict[str, set[str]]:
    """Return a dict from each module of a package to the modules of the package that it imports. Names are full
    names."""
    # grimp gets no cache directory, because grimp would create the directory in the checkout.
    built = grimp.build_graph(package, cache_dir=None)
    return {module: set(built.find_modules_directly_imported_by(module)) for module in built.modules}


def folder_graphs(imports: Mapping[str, Collection[str]]) -> dict[str, dict[str, set[str]]]:
    """For each package that contains packages, return a dict from each inner package to the inner packages that it
    imports. The names are full names.

    imports: The result of `python_graph`. Tests are left out, because they import from all parts of their package.

    Examples
    --------
    >>> folder_graphs({"a": (), "a.b": (), "a.b.m": ("a.c.n",), "a.c": (), "a.c.n": ("a.b.m",), "a.o": ("a.b.m",)})
    {'a': {'a.b': {'a.c'}, 'a.c': {'a.b'}}}
    """
    packages = {name.rpartition(".")[0] for name in imports} - {""}
    found: dict[str, dict[str, set[str]]] = {}
    for package in sorted(packages):
        room = package.rpartition(".")[0]
        if room:
            found.setdefault(room, {})[package] = set()
    for module, imported in imports.items():
        if module.endswith(("_test", "conftest")):
            continue
        for name in imported:
            for room, folders in found.items():
                here, there = folder_of(module, room), folder_of(name, room)
                if here in folders and there in folders and here != there:
                    folders[here].add(there)
    return found


def folder_of(module: str, room: str) -> str:
    """Return the direct child of the package `room` that contains the module, or that is the module. The result is
    empty if the module is outside the package `room`.

    >>> folder_of("a.b.c.d", "a.b")
    'a.b.c'
    """
    if not module.startswith(f"{room}."):
        return ""
    return f"{room}.{module.removeprefix(f'{room}.').partition('.')[0]}"


def c_graph(directory: Path) -> dict[str, set[str]]:
    """Return a dict from each C file below a directory to the C files whose functions or values it uses. A file is
    named without its directory and suffix."""
    texts = {path.stem: C_COMMENT.sub("", path.read_text(encoding="utf-8")) for path in directory.glob("*/*.c")}
    headers = "".join(path.read_text(encoding="utf-8") for path in sorted(directory.glob("*/*.h")))
    may_lack = set(C_WEAK_DECLARATION.findall(C_COMMENT.sub("", headers)))
    owner = {name: stem for stem, text in texts.items() for name in C_DEFINITION.findall(text) if name not in may_lack}
    used = {
        stem: {owner[name] for name in set(NAME.findall(text)) - set(C_WEAK.findall(text)) if name in owner}
        for stem, text in texts.items()
    }
    return {stem: names - {stem} for stem, names in used.items()}


def circles(imports: dict[str, set[str]]) -> list[set[str]]:
    """Return the circles. A circle is a set of modules each of which imports all others, directly or indirectly. The
    list is sorted, so that messages are repeatable.

    Examples
    --------
    >>> [sorted(circle) for circle in circles({"a": {"b"}, "b": {"a"}, "c": {"a"}})]
    [['a', 'b']]
    """
    reach = {module: reachable(module, imports) for module in imports}
    found = {frozenset(m for m in reach[module] if module in reach[m]) for module in imports if module in reach[module]}
    return sorted((set(circle) for circle in found), key=sorted)


def reachable(module: str, imports: dict[str, set[str]]) -> set[str]:
    """Return all modules that a module imports, directly or indirectly. The module itself is included only if it is in
    a circle.

    Examples
    --------
    >>> sorted(reachable("c", {"a": {"b"}, "b": set(), "c": {"a"}}))
    ['a', 'b']
    """
    found: set[str] = set()
    ahead = list(imports[module])
    while ahead:
        following = ahead.pop()
        if following not in found:
            found.add(following)
            ahead += imports[following]
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
