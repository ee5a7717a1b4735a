# SPDX-License-Identifier: Apache-2.0
"""Tests of the list of overrides. They test that the list covers all of guest/, that the build itself names no
override, and that the pages agree with the list."""

import importlib.util
import re
import tomllib
from pathlib import Path

import pytest

import kernel_page
from leowarp.guest.building.left_out import SPEED, overrides

ROOT = Path(__file__).resolve().parents[4]
GUEST = ROOT / "guest"
ENTRIES = tomllib.loads((GUEST / "overrides.toml").read_text())["override"]
OWN_HEADERS = re.compile(r'#include "([\w.]+)"')
C_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
C_FUNCTION = re.compile(r"^(?!static\b)[a-z][\w \t*]*?\b(leolink_\w+)\(", re.MULTILINE)


@pytest.fixture(scope="module")
def reader():
    """Return the module guest/overrides.py, which the build runs."""
    spec = importlib.util.spec_from_file_location("guest_overrides", GUEST / "overrides.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_source_in_guest_is_a_part_of_an_entry_or_a_header_that_one_includes(reader):
    parts = [file for entry in ENTRIES for file in reader.files(entry)]
    assert len(parts) == len(set(parts)), "no file is linked twice"
    reached = {Path(part).name for part in parts}
    headers = {file.name: file for file in GUEST.glob("*/*.h")}
    waiting = [GUEST / part for part in parts]
    while waiting:
        for name in OWN_HEADERS.findall(waiting.pop().read_text()):
            if name not in reached:
                reached.add(name)
                waiting.append(headers[name])
    assert {file.name for file in GUEST.glob("*/*.[ch]")} == reached


def test_the_build_names_no_override_itself():
    build = (GUEST / "build.sh").read_text()
    # If build.sh compiled or linked an object by name, the name would appear in one of these forms.
    named = [entry["name"] for entry in ENTRIES if re.search(rf"\b{re.escape(entry['name'])}(\.o|:|\.c)\b", build)]
    assert named == []
    wrapped = [function for entry in ENTRIES for function in entry.get("wraps", ())]
    assert [function for function in wrapped if function in build] == []


@pytest.mark.parametrize("entry", ENTRIES, ids=[entry["name"] for entry in ENTRIES])
def test_an_entry_has_a_test_and_a_page_that_are_there_and_functions_that_stand_in_its_files(reader, entry):
    assert (ROOT / entry["test"]).is_file()
    assert (ROOT / entry["page"].partition("#")[0]).is_file()
    text = "".join((GUEST / file).read_text() for file in reader.files(entry))
    for function in entry.get("wraps", ()):
        # Objects that wrap functions of an operations table also define __wrap_ names, and draws.c defines some of
        # these names by a macro.
        assert f"__wrap_{function}" in text
    if not entry.get("beside"):
        assert entry.get("known_by", "") in text
    assert entry["purpose"] in kernel_page._PURPOSES


def test_an_object_that_is_not_on_the_list_is_not_linked(reader):
    commands = reader.shell("default")
    (linked,) = re.findall(r"^objects=(.*)$", commands, re.MULTILINE)
    names = {word.partition(":")[0] for word in linked.strip("'").split()}
    assert names == {entry["name"] for entry in ENTRIES if reader.is_object(entry)}
    assert "leolink_direct.o" not in re.search(r"^leolink-y := .*$", reader.kbuild(), re.MULTILINE)[0]


def test_what_an_entry_needs_stands_before_it_and_goes_with_it(reader, tmp_path, monkeypatch):
    needing = {entry["name"]: entry["needs"] for entry in ENTRIES if "needs" in entry}
    assert {"cures", "direct"} < needing.keys()
    without = {entry["name"] for entry in reader.of_kernel("default", "leolink")[0]}
    assert without == {entry["name"] for entry in ENTRIES} - {"leolink", "cures", "direct", "sockets"}
    listed = (GUEST / "overrides.toml").read_text()
    # The kernel "few" has the features that a scenario may request, but no links.
    shelf = '[[kernel]]\nname = "few"\npurposes = ["time", "random", "scenario"]\n'
    (tmp_path / "kernels.toml").write_text(shelf)
    (tmp_path / "overrides.toml").write_text(listed)
    monkeypatch.setattr(reader, "HERE", tmp_path)
    few = {entry["name"] for entry in reader.of_kernel("few")[0]}
    assert "bbr_handover" in few
    assert "cures" not in few
    (tmp_path / "overrides.toml").write_text(listed.replace('needs = "leolink"', 'needs = "later"', 1))
    with pytest.raises(SystemExit, match="cures needs later"):
        reader.overrides()


def test_links_use_nothing_of_cures_that_they_have_not_themselves(reader):
    named = {entry["name"]: "".join((GUEST / file).read_text() for file in reader.files(entry)) for entry in ENTRIES}
    defined = {name: set(C_FUNCTION.findall(text)) for name, text in named.items()}
    used = set(re.findall(r"\bleolink_\w+(?=\()", C_COMMENT.sub("", named["leolink"])))
    weak = set(re.findall(r"^__weak .*?\b(leolink_\w+)\(", named["leolink"], re.MULTILINE))
    asked = used & defined["cures"]
    assert asked
    assert asked <= weak
    assert weak <= defined["cures"] | defined["direct"], "nothing gives way to what is not there"


def test_the_plain_kernel_has_all_but_what_saves_time(reader):
    chosen, _ = reader.of_kernel("plain")
    assert [entry["name"] for entry in chosen] == [each.name for each in overrides() if each.purpose != SPEED]


def test_a_structure_is_known_by_its_members_and_not_by_its_layout_in_the_file(reader):
    one = "struct base {\n\tint lock;\t/* of it */\n\tstruct { int a; } in; // last\n};\n"
    other = "struct unlike { int lock; };\nstruct base { int lock; struct { int a; } in; };"
    assert reader.structure_sha256(one, "base") == reader.structure_sha256(other, "base") is not None
    assert reader.structure_sha256(one.replace("int a", "long a"), "base") != reader.structure_sha256(one, "base")
    assert reader.structure_sha256(one, "based") is None


@pytest.mark.parametrize("name", kernel_page.TABLES)
def test_the_table_of_a_page_is_made_from_the_list(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert kernel_page.with_table(name, text) == text, "run: make docs"


def test_the_kernel_page_is_made_from_the_list():
    assert (ROOT / kernel_page.PAGE).read_text(encoding="utf-8") == kernel_page.page(), "run: make docs"
