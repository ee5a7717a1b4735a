# SPDX-License-Identifier: GPL-2.0-only
"""Prints the list of overrides for guest/build.sh, as variables of the shell or as a Makefile for kbuild.

Needs only Python 3.11.

python3 overrides.py shell KERNEL WITHOUT   the objects of KERNEL, without the override WITHOUT ("": all objects)
python3 overrides.py kbuild                 the Makefile by which kbuild compiles leowarp's objects
python3 overrides.py copies KERNEL SOURCE   one line per structure that SOURCE declares differently
"""

import hashlib
import re
import shlex
import sys
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent


def overrides():
    """All entries of overrides.toml, in the file's order. An entry that needs another entry comes after it."""
    entries = tomllib.loads((HERE / "overrides.toml").read_text())["override"]
    before = set()
    for entry in entries:
        if (needed := entry.get("needs")) and needed not in before:
            sys.exit(f"overrides.py: {entry['name']} needs {needed}, which overrides.toml does not have before it")
        before.add(entry["name"])
    return entries


def of_kernel(name, without=""):
    """The overrides of a kernel, except the override `without`; and the kernel's entry in kernels.toml.

    If an override is left out, all overrides that need it are left out too.
    """
    shelf = tomllib.loads((HERE / "kernels.toml").read_text())["kernel"]
    chosen = next((kernel for kernel in shelf if kernel["name"] == name), None)
    if chosen is None:
        sys.exit(f"overrides.py: kernels.toml has no kernel {name}; it has {', '.join(k['name'] for k in shelf)}")
    purposes = chosen.get("purposes")
    listed = overrides()
    entries = [each for each in listed if purposes is None or each["purpose"] in purposes]
    if without and without not in {each["name"] for each in entries}:
        sys.exit(f"overrides.py: the kernel {name} has no override {without}")
    out = {each["name"] for each in listed if each not in entries} | {without}
    while more := {each["name"] for each in entries if each.get("needs") in out} - out:
        out |= more
    return [each for each in entries if each["name"] not in out], chosen


def files(entry):
    """The C files of an entry, in sorted order."""
    but = set(entry.get("parts_but", []))
    found = [path.relative_to(HERE).as_posix() for part in entry["parts"] for path in HERE.glob(part)]
    return sorted(name for name in found if name not in but)


def is_object(entry):
    """Whether kbuild compiles the entry into an object."""
    return entry.get("compiled") != "host" and not entry["name"].endswith(".h")


def kbuild():
    """The Makefile for all objects of overrides.toml; build.sh builds only those of its kernel."""
    lines, composites = [], []
    objects = [entry for entry in overrides() if is_object(entry)]
    lines.append("obj-y := " + " ".join(f"{entry['name']}.o" for entry in objects))
    for entry in objects:
        name, stems = entry["name"], [Path(file).stem for file in files(entry)]
        if entry.get("includes_tree"):
            lines.append(f"CFLAGS_{name}.o := -I$(srctree)")
        if stems != [name]:
            composites.append(name)
            lines.append(f"{name}-y := " + " ".join(f"{stem}.o" for stem in stems))
    # kbuild combines several files into one object only for modules, not for built-in code
    for name in composites:
        lines += [
            f"targets += {name}.o",
            f"LDFLAGS_{name}.o := -r",
            f"$(obj)/{name}.o: $(addprefix $(obj)/,$({name}-y)) FORCE",
            "\t$(call if_changed,ld)",
        ]
    return "\n".join(lines) + "\n"


def shell(name, without=""):
    """Assignments of shell variables, which build.sh evaluates."""
    chosen, kernel = of_kernel(name, without)
    variables = {
        "objects": " ".join(f"{e['name']}:{e['known_by']}" for e in chosen if is_object(e)),
        "host_objects": " ".join(f"{e['name']}:{e['known_by']}" for e in chosen if e.get("compiled") == "host"),
        "headers": " ".join(e["name"] for e in chosen if e["name"].endswith(".h")),
        "only_6_12": " ".join(e["name"] for e in chosen if e.get("only_6_12")),
        "hot_objects": " ".join(f"{Path(f).stem}.o" for e in chosen if e.get("hot") for f in files(e)),
        "options": " ".join(kernel.get("options", [])),
    }
    for entry in chosen:
        # Variable names cannot contain a dot: draws.h becomes wraps_of_draws_h
        name = entry["name"].replace(".", "_")
        variables[f"parts_of_{name}"] = " ".join(files(entry))
        variables[f"wraps_of_{name}"] = " ".join(entry.get("wraps", []))
        variables[f"needs_of_{name}"] = entry.get("needs", "")
        variables[f"globals_of_{name}"] = " ".join(
            f"{target}:{symbol}" for target, symbols in entry.get("globals", {}).items() for symbol in symbols
        )
        variables[f"beside_of_{name}"] = " ".join(f"{target}:{s}" for target, s in entry.get("beside", {}).items())
        variables[f"included_in_{name}"] = " ".join(entry.get("included_in", []))
        variables[f"included_with_{name}"] = " ".join(
            f"{flag}:{target}" for flag, targets in entry.get("included_with", {}).items() for target in targets
        )
    return "".join(f"{name}={shlex.quote(value)}\n" for name, value in variables.items())


def structure_sha256(text, name):
    """sha256 of a structure's definition, after comments are removed and each run of white space is replaced by one
    blank. None if the text does not define the structure."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)
    found = re.search(rf"\bstruct\s+{re.escape(name)}\s*\{{", text)
    if found is None:
        return None
    depth, end = 1, found.end()
    while depth and end < len(text):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return hashlib.sha256(" ".join(text[found.start() : end].split()).encode()).hexdigest()


def copies(name, source):
    """One line for each structure that an entry of this kernel copies, if the tree `source` declares the structure
    differently or not at all."""
    lines = []
    for entry in of_kernel(name)[0]:
        for copy in entry.get("copies", []):
            file = Path(source) / copy["file"]
            has = structure_sha256(file.read_text(errors="replace"), copy["struct"]) if file.is_file() else None
            if has != copy["sha256"]:
                what = "has no" if has is None else "has another"
                lines.append(
                    f"{entry['name']}\t{copy['file']} {what} struct {copy['struct']}, which it copies (sha256 {has})\n"
                )
    return "".join(lines)


if __name__ == "__main__":
    command, *arguments = sys.argv[1:] or ["help"]
    verbs = {"shell": shell, "kbuild": kbuild, "copies": copies}
    if command not in verbs:
        sys.exit(__doc__)
    sys.stdout.write(verbs[command](*arguments))
