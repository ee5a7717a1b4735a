# SPDX-License-Identifier: Apache-2.0
"""Tests of the cache, the progress and the errors of a kernel build. A fake build script keeps the tests fast."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from leowarp.base.errors import HostError, ScenarioError
from leowarp.base.progress import BuildProgress
from leowarp.guest.boot.watch import members_of_session
from leowarp.guest.building import course, recipe, shelf, source
from leowarp.guest.building import kernel as kernels
from leowarp.guest.building.cache import sha256_of_file
from leowarp.guest.building.kernel import kernel
from support.waiting import wait_until_gone

BUILD = """#!/bin/sh
echo "make: Entering"
for number in 1 2 3; do echo "  CC      file$number.o"; done
echo "$0" >> "$LEOWARP_CACHE/builds"
while :; do case $1 in
--kernel | --options) shift 2 ;;
--leave-out) shift; left="$LEFT_OUT" ;;
*) break ;;
esac; done
%s
mkdir -p "$2" "$3"
printf "${left:-}" > "$3/left-out.txt"
printf "${LINKED:-clock bbr_handover payload}" | tr " " "\\n" > "$3/overrides.txt"
test -f "$1/Makefile"
touch "$2/object"
printf '#!/bin/sh\\n' > "$3/linux"
chmod +x "$3/linux"
echo CONFIG_UML=y > "$3/config"
printf '00000000606cc240 B time_travel_time\\n00000000606cc188 B cpu_tasks\\n' > "$3/symbols.txt"
"""
PARTS = (*recipe.KERNEL_FILES, "clock/clock.c", "clock/clock.h", "links/leolink.h")
OVERRIDES = """
[[override]]
name = "clock"
purpose = "time"
parts = ["clock/clock.c"]
changes = ""
without = "no time is exact"
test = ""
page = ""

[[override]]
name = "bbr_handover"
purpose = "scenario"
parts = ["cc/bbr_handover.c"]
changes = ""
without = 'no flow can have congestion_control = "bbr_handover"'
test = ""
page = ""

[[override]]
name = "payload"
purpose = "speed"
parts = ["tcp/payload.c"]
changes = ""
without = ""
test = ""
page = ""
"""
SHELF = """
[[kernel]]
name = "default"
what = ""
source = "linux-source-6.12"

[[kernel]]
name = "bare"
what = ""
source = "linux-source-6.12"
purposes = ["scenario"]
"""


@pytest.fixture
def workshop(monkeypatch, tmp_path):
    """Make a recipe, a tarball with a tiny tree, and an empty cache. The function `workshop(line)` adds a line to the
    build script."""
    guest = tmp_path / "guest"
    for name in PARTS:
        (guest / name).parent.mkdir(parents=True, exist_ok=True)
        (guest / name).write_text(name)
    (guest / "overrides.toml").write_text(OVERRIDES)
    (guest / recipe.SHELF).write_text(SHELF)
    tree = tmp_path / "linux-6.12"
    (tree / "arch" / "um").mkdir(parents=True)
    (tree / "Kconfig").write_text("")
    (tree / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 7\n")
    subprocess.run(["tar", "-cJf", tmp_path / "linux.tar.xz", "-C", tmp_path, "linux-6.12"], check=True)
    monkeypatch.setenv("LEOWARP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("LEOWARP_KERNEL_SOURCE", str(tmp_path / "linux.tar.xz"))
    monkeypatch.setattr(recipe, "guest_sources", lambda: guest)
    monkeypatch.setattr(recipe, "packaged", lambda name: None)

    def script(line: str = "") -> Path:
        (guest / "build.sh").write_text(BUILD % line)
        return tmp_path

    script()
    return script


def builds(place: Path) -> int:
    return len((place / "cache" / "builds").read_text().splitlines())


def left_over(place: Path) -> list[str]:
    """Return the temporary files and the trees that are left in the cache of kernels."""
    home = place / "cache" / "kernel"
    return sorted(p.name for p in home.iterdir() if ".tmp" in p.name or (p.name.startswith("tree") and p.is_dir()))


def test_a_kernel_is_built_once_with_progress(workshop):
    place = workshop()
    told: list[BuildProgress] = []
    first = kernel(on_progress=told.append)
    assert [(at.done, at.expected) for at in told if at.stage == "compile"] == [(n, course.STEPS) for n in (1, 2, 3)]
    assert first.symbols == {"time_travel_time": 0x606CC240, "cpu_tasks": 0x606CC188}
    assert first.facts["linux_version"] == "6.12.7"
    assert kernel() == first
    assert builds(place) == 1
    assert left_over(place) == []
    assert sorted(p.name for p in first.program.parent.iterdir()) == [
        "build.log", "config", "files.json", "kernel.json", "left-out.txt", "linux", "overrides.txt", "symbols.json",
        "symbols.txt",
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_each_part_of_the_recipe_is_in_the_key(workshop, tmp_path, name):
    first = kernel()
    with (tmp_path / "guest" / name).open("a") as file:
        file.write("\nhot = true\n" if name == recipe.LIST else "\n# changed\n")
    assert kernel().program != first.program


def test_words_of_the_list_make_no_other_kernel(workshop, tmp_path):
    first = kernel()
    (tmp_path / "guest" / recipe.LIST).write_text(
        "# a comment\n" + OVERRIDES.replace('changes = ""', 'changes = "more"')
    )
    assert kernel() == first


@pytest.mark.slow
def test_lines_that_only_a_kernel_with_ipv6_compiles_make_no_other_kernel_of_one_without(workshop):
    place = workshop()
    source = place / "guest" / "links" / "leolink.h"
    plain = "int one;\n\nint two;\n"
    source.write_text(plain)
    without, with_ipv6 = (shelf.ShelfKernel("k", "", "", "k", options) for options in ((), ("CONFIG_IPV6=y",)))
    before = [kernel.recipe_sha256(place / "guest") for kernel in (without, with_ipv6)]
    source.write_text("int one;\n\n#if IS_ENABLED(CONFIG_IPV6)\nint six;\n#endif\n\nint two;\n")
    after = [kernel.recipe_sha256(place / "guest") for kernel in (without, with_ipv6)]
    assert after[0] == before[0]
    assert after[1] != before[1]


def test_a_new_object_is_in_the_key(workshop, tmp_path):
    first = kernel()
    (tmp_path / "guest" / "cc").mkdir()
    (tmp_path / "guest" / "cc" / "own.c").write_text("")
    assert kernel().program != first.program


def test_the_source_is_in_the_key(workshop, tmp_path, monkeypatch):
    first = kernel()
    shutil.copy(tmp_path / "linux.tar.xz", tmp_path / "other.tar.xz")
    with (tmp_path / "other.tar.xz").open("ab") as file:
        file.write(b"\0" * 4)
    monkeypatch.setenv("LEOWARP_KERNEL_SOURCE", str(tmp_path / "other.tar.xz"))
    assert kernel().program != first.program


def test_a_failed_build_names_its_log_and_its_errors(workshop):
    place = workshop("echo 'net/ipv4/tcp.c:1:1: error: it is broken'; exit 2")
    with pytest.raises(HostError, match=r"tcp\.c:1:1: error: it is broken") as caught:
        kernel()
    log = next(word for word in caught.value.message.split() if "failed-" in word).rstrip(";")
    assert "it is broken" in Path(log).read_text()
    assert left_over(place) == []
    workshop()
    assert kernel().program.exists()


def test_a_failed_build_shows_the_first_errors_of_its_last_step(workshop, tmp_path):
    said = [
        "leowarp: our objects",
        "bbr_handover.c:7:1: error: it does not fit",
        "leowarp: warning: left out: bbr_handover: bbr_handover.c:7:1: error: it does not fit",
        "leowarp: compile and link",
        *(f"net/ipv4/tcp_{number}.c:1:1: error: broken" for number in range(7)),
        "make[3]: *** [scripts/Makefile.build:229: net/ipv4/tcp_0.o] Error 1",
        "make: *** [Makefile:224: __sub-make] Error 2",
    ]
    (tmp_path / "said").write_text("\n".join(said) + "\n")
    workshop(f"cat {tmp_path / 'said'}; exit 2")
    with pytest.raises(HostError) as caught:
        kernel(tmp_path / "linux-6.12")
    shown = caught.value.message.splitlines()[1:]
    assert [line.strip() for line in shown] == said[4:9]
    assert "mend the tree" in (caught.value.hint or "")


def test_without_a_compilers_errors_those_of_make_are_shown():
    log = "leowarp: compile and link\n  CC      x.o\nmake: *** No rule to make target 'y.o'.  Stop.\n"
    assert kernels.first_errors(log) == ["make: *** No rule to make target 'y.o'.  Stop."]
    assert kernels.first_errors("leowarp: configure\nflex: not found\n") == ["flex: not found"]
    assert kernels.first_errors("one\ntwo\n") == ["one", "two"]


def test_what_a_tree_does_not_take_is_left_out_with_warnings(workshop, tmp_path, monkeypatch):
    workshop()
    monkeypatch.setenv(
        "LEFT_OUT", "bbr_handover\\tbbr_handover.c:39:22: error: no member\\nCONFIG_X\\tno such option\\n"
    )
    messages: list[str] = []
    own = kernel(tmp_path / "linux-6.12", on_message=messages.append)
    assert own.facts["left_out"] == {
        "bbr_handover": "bbr_handover.c:39:22: error: no member",
        "CONFIG_X": "no such option",
    }
    first, second = own.facts["warnings"]
    assert 'no flow can have congestion_control = "bbr_handover" (bbr_handover.c:39:22' in first
    assert "does not have CONFIG_X" in second
    assert [text for text in messages if text.startswith("warning: ")] == [f"warning: {first}", f"warning: {second}"]


def test_the_default_kernel_has_to_take_everything(workshop, monkeypatch):
    workshop()
    monkeypatch.setenv("LEFT_OUT", "bbr_handover\\tit does not fit\\n")
    assert kernel().facts["left_out"] == {}


def test_an_interrupted_build_leaves_no_process_and_nothing_half_done(workshop):
    place = workshop('echo $$ > "$LEOWARP_CACHE/pid"; sleep infinity & echo "  LD      it"; wait')
    sessions: list[int] = []

    def interrupt(at: BuildProgress) -> None:
        if at.done == 4:
            sessions.append(int((place / "cache" / "pid").read_text()))
            assert len(members_of_session(sessions[0])) == 2
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kernel(on_progress=interrupt)
    wait_until_gone(lambda: members_of_session(sessions[0]))
    assert left_over(place) == []


def test_a_corrupt_kernel_is_reported_and_built_again(workshop):
    place = workshop()
    program = kernel().program
    program.write_text("bit rot")
    messages: list[str] = []
    assert kernel(on_message=messages.append).program.read_text() == "#!/bin/sh\n"
    assert "damaged (linux: its sha256" in messages[0]
    assert builds(place) == 2


def test_a_tree_of_a_killed_build_is_not_trusted(workshop, tmp_path):
    place = workshop()
    kernel()
    (lock,) = (place / "cache" / "kernel").glob("tree-*.lock")
    cut_short = lock.with_suffix("") / "build" / "object"
    cut_short.parent.mkdir(parents=True)
    cut_short.write_text("cut sh")
    # The killed build may have been of another recipe.
    (tmp_path / "guest" / "clock" / "clock.c").write_text("// other")
    messages: list[str] = []
    kernel(on_message=messages.append)
    assert not cut_short.exists()
    assert [text for text in messages if text.startswith("unpacking")]


def test_without_its_source_a_kernel_built_earlier_is_used(workshop, monkeypatch, tmp_path):
    built = kernel()
    monkeypatch.delenv("LEOWARP_KERNEL_SOURCE")
    monkeypatch.setattr(source, "INSTALLED", tmp_path / "gone")
    messages: list[str] = []
    assert kernel(on_message=messages.append) == built
    assert "not installed" in messages[0]


def test_a_tree_of_ones_own_is_built_and_keyed_by_its_content(workshop, tmp_path):
    place = workshop()
    first = kernel(tmp_path / "linux-6.12")
    assert "user's own" in first.facts["source"]
    assert kernel(tmp_path / "linux-6.12") == first
    assert builds(place) == 1
    (tmp_path / "linux-6.12" / "Kconfig").write_text("changed")
    assert kernel(tmp_path / "linux-6.12").program != first.program


@pytest.mark.parametrize(
    ("content", "mode", "says"),
    [
        (None, 0, "no such file"),
        (b"x", 0o644, "not executable"),
        (b"#!/bin/sh\n", 0o755, "not an x86-64 program at a fixed address"),
    ],
)
def test_what_is_no_kernel_is_refused(tmp_path, content, mode, says):
    path = tmp_path / "linux"
    if content is not None:
        path.write_bytes(content)
        path.chmod(mode)
    with pytest.raises(ScenarioError, match=says):
        kernel(path)


def test_a_directory_that_is_no_tree_is_refused(tmp_path):
    with pytest.raises(ScenarioError, match="arch/um"):
        kernel(tmp_path)


def test_position_independent_programs_are_no_kernels():
    with pytest.raises(ScenarioError, match="fixed address"):
        kernel(Path("/bin/true"))


def test_a_wheel_uses_the_kernel_it_carries(monkeypatch, tmp_path):
    packaged = tmp_path / "_guest"
    packaged.mkdir()
    (packaged / "linux").write_text("kernel")
    (packaged / "symbols.json").write_text('{"time_travel_time": 7}')
    (packaged / "kernel.json").write_text('{"linux_version": "6.12.7"}')
    sums = {name: sha256_of_file(packaged / name) for name in ("linux", "symbols.json", "kernel.json")}
    (packaged / "files.json").write_text(json.dumps(sums))
    monkeypatch.setattr(recipe, "PACKAGED", packaged)
    monkeypatch.setattr(recipe, "CHECKOUT", tmp_path)
    assert kernel().program == packaged / "linux"
    assert kernel().symbols == {"time_travel_time": 7}
    (packaged / "linux").write_text("bit rot")
    with pytest.raises(HostError, match="force-reinstall"):
        kernel()


def test_a_kernel_of_the_shelf_is_another_entry_and_says_what_it_is_without(workshop, monkeypatch):
    workshop()
    default = kernel()
    assert default.facts["overrides"] == ["clock", "bbr_handover", "payload"]
    assert default.facts["left_out"] == {}
    monkeypatch.setenv("LINKED", "bbr_handover")
    bare = kernel("bare")
    assert bare.program != default.program
    assert bare.facts["kernel"] == "bare"
    assert bare.facts["overrides"] == ["bbr_handover"]
    assert bare.facts["left_out"] == {"clock": 'the kernel "bare" is without it'}, "what only saves time is not missed"
    assert "no time is exact" in bare.facts["warnings"][0]


def test_another_kernel_on_the_shelf_is_no_other_recipe(workshop, tmp_path):
    workshop()
    first = kernel()
    shelf_file = tmp_path / "guest" / recipe.SHELF
    shelf_file.write_text(shelf_file.read_text() + '\n[[kernel]]\nname = "more"\nwhat = ""\nsource = "x"\n')
    assert kernel().program == first.program


@pytest.mark.parametrize("choice", ["default", "bare"])
def test_a_name_on_the_shelf_goes_before_a_file_of_that_name(workshop, monkeypatch, tmp_path, choice):
    workshop()
    monkeypatch.chdir(tmp_path)
    (tmp_path / choice).mkdir()
    assert kernel(choice).facts["source"] == "linux.tar.xz"


def test_an_unknown_name_is_told_with_those_that_there_are(workshop):
    workshop()
    with pytest.raises(ScenarioError) as caught:
        kernel("defualt")
    assert 'did you mean "default"?' in caught.value.hint
    assert "default, bare" in caught.value.hint


def test_your_own_kernel_is_patched_built_and_named(workshop, monkeypatch, tmp_path):
    place = workshop()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    patch = tmp_path / "mine.patch"
    patch.write_text("--- a/Kconfig\n+++ b/Kconfig\n@@ -0,0 +1 @@\n+config MINE\n")
    shelf.add("mine", place / "linux.tar.xz", [patch], options=["CONFIG_MINE=y"])
    built = kernel("mine")
    assert built.facts["kernel"] == "mine"
    assert built.facts["patches"] == [{"address": "mine.patch", "sha256": sha256_of_file(patch)}]
    assert str(tmp_path) not in json.dumps(built.facts), "no path of this machine gets into a manifest"
    # The patch was copied when it was added. A change of the file has no effect until the patch is added again.
    patch.write_text(patch.read_text().replace("MINE", "OTHER"))
    assert kernel("mine").program == built.program, "the file that was added counts, not what became of it"
    shelf.add("mine", place / "linux.tar.xz", [patch], options=["CONFIG_MINE=y"])
    assert kernel("mine").program != built.program
    shelf.add("mine", place / "linux-6.12", [patch])
    assert kernel("mine").facts["source"] == "a tree of the user's own, Linux 6.12.7"
    assert (place / "linux-6.12" / "Kconfig").read_text() == "", "a tree is left as it is"
    shelf.remove("mine")
    with pytest.raises(ScenarioError, match="no kernel of that name"):
        kernel("mine")


def test_a_patch_that_does_not_apply_is_one_sentence(workshop, monkeypatch, tmp_path):
    place = workshop()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    patch = tmp_path / "wrong.patch"
    patch.write_text("--- a/Makefile\n+++ b/Makefile\n@@ -1,2 +1,2 @@\n-VERSION = 5\n+VERSION = 7\n PATCHLEVEL = 1\n")
    shelf.add("wrong", place / "linux.tar.xz", [patch])
    with pytest.raises(HostError, match=r"building wrong: wrong.patch does not apply to Linux 6.12.7: .*FAILED"):
        kernel("wrong")
    assert left_over(place) == []


@pytest.mark.parametrize(
    ("name", "source", "says"),
    [
        ("default", "linux.tar.xz", "leowarp has a kernel of that name"),
        ("../mine", "linux.tar.xz", "a name has letters"),
        ("mine", "nothing.tar.xz", "neither a tarball nor a Linux tree"),
        ("mine", "guest", "neither a tarball nor a Linux tree"),
    ],
)
def test_what_is_no_kernel_does_not_get_on_the_shelf(workshop, monkeypatch, tmp_path, name, source, says):
    place = workshop()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with pytest.raises(ScenarioError, match=says):
        shelf.add(name, place / source)
    assert [each.name for each in shelf.shelf()] == ["default", "bare"]
