# SPDX-License-Identifier: Apache-2.0
"""Compiles the user's kernel modules against the guest kernel, and caches them by their content.

A kernel build writes `module-tree.tar.xz` into the kernel's directory (guest/module/pack.sh). The archive takes 9 MB,
and contains kernel headers, kbuild and the list of exported symbols. When the first module is compiled, leowarp unpacks
the archive into the cache. The archive also contains the compiler flags of the kernel, and the script compile.sh, which
compiles a module.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from leowarp.base.errors import HostError, ScenarioError
from leowarp.guest.building import recipe
from leowarp.guest.building.cache import content_key, demand_path_for_make, entry_or_build, sha256_of_file
from leowarp.guest.building.image import GuestImage
from leowarp.guest.building.trust import ARCHIVE, OnMessage, demand
from leowarp.guest.machine.host import apt
from leowarp.guest.machine.session import own_session
from leowarp.guest.setup.input import MODULES
from leowarp.guest.user.parameters import Declared, check_parameters, parameters_in

if TYPE_CHECKING:
    from leowarp.scenario import Plan

KIND = "module"
TREE_KIND = "module-tree"
NEEDED = {"gcc": "gcc", "make": "make", "ld": "binutils", "tar": "tar", "xz": "xz-utils"}
# A module may include the kernel's source files by their path in the tree. The prefix map keeps this machine's paths
# out of the module.
KBUILD = "obj-m := {name}.o\nccflags-y := -I$(srctree) -ffile-prefix-map=$(src)/=\n"
# Maximum number of compiler output lines in a message.
SHOWN_LINES = 40


def module_name(source: Path) -> str:
    """Return the kernel's name of a module: the stem of its file, with underscores for hyphens."""
    return source.stem.replace("-", "_")


def compiled(source: Path, kernel: Path, on_message: OnMessage = lambda text: None) -> Path:
    """Return the path of the compiled module `NAME.ko`. The module is compiled from the C file `source` against
    `kernel`, or copied from the cache.

    source: A C file, which may include the kernel's headers. The file may also include source files of the kernel's
        congestion controls (example: `"net/ipv4/tcp_cubic.c"`).
    kernel: The program of a built kernel. A kernel that the user built must have `module-tree.tar.xz` beside it. The
        build writes this file.
    on_message: A function that is called with a line of text before each slow step, and with each compiler warning.
    Raises ScenarioError, with the compiler's messages, if the file cannot be read or does not compile.
    Raises HostError if this machine has no compiler.
    """
    try:
        text = source.read_bytes()
    except OSError as error:
        raise ScenarioError(f"reading the module {source}: {error.strerror}") from error
    archive = kernel.parent / ARCHIVE
    if not archive.is_file():
        raise ScenarioError(
            f"compiling the module {source}: the kernel {kernel} came without {ARCHIVE}, what modules are "
            "compiled against",
            hint="leave guest.kernel out, name the kernel's tree instead (--kernel TREE), or build the binary with "
            "guest/build.sh, which puts the archive beside it",
        )
    # The tools are checked before the cache is searched, because the cache key contains the compiler's version.
    _demand_tools(source)
    name = module_name(source)
    tree_sha256 = sha256_of_file(archive)
    compiler = recipe.first_line_of("gcc", "--version")
    key = content_key(
        [("compiler", compiler), ("kbuild", KBUILD), ("name", name), ("source", text), ("tree", tree_sha256)]
    )

    def make(entry: Path) -> None:
        demand_path_for_make(f"compiling the module {source}")
        tree = _tree(archive, tree_sha256, on_message)
        on_message(f"compiling the module {source}")
        with tempfile.TemporaryDirectory(dir=entry) as scratch:
            directory = Path(scratch)
            (directory / f"{name}.c").write_bytes(text)
            (directory / "Kbuild").write_text(KBUILD.format(name=name))
            said = _compile(tree, directory, source)
            for warning in said:
                on_message(warning)
            # Only the module is stored in the cache, because other files of kbuild contain paths of this machine.
            shutil.move(directory / f"{name}.ko", entry / f"{name}.ko")

    return entry_or_build(KIND, key, make, on_message=on_message) / f"{name}.ko"


def modules_of(plan: Plan, image: GuestImage, on_message: OnMessage = lambda text: None) -> list[Path]:
    """Return the paths of a plan's modules (`guest.cc_modules`), compiled against the kernel of `image`.

    Raises ScenarioError or HostError for the same reasons as `compiled`. Raises ScenarioError if a file names a
        module that the user never accepted (`trust`).
    """
    demand(plan, on_message)
    return [compiled(file.path, image.kernel, on_message) for file in plan.guest.cc_modules]


def compile_modules(plan: Plan, image: GuestImage, on_message: OnMessage = lambda text: None) -> list[Path]:
    """Check the parameters that a plan sets for its modules (`check_parameters`), and return the result of
    `modules_of`.

    Raises ScenarioError or HostError for the same reasons as `modules_of` and `check_parameters`.
    """
    made = modules_of(plan, image, on_message)
    if plan.modules:
        check_parameters(plan, declared_parameters(image, made))
    return made


def declared_parameters(image: GuestImage, made: Iterable[Path]) -> Declared:
    """Return the parameters of the modules in the kernel of `image`, and of the compiled modules in `made`."""
    return {module: names for file in (image.kernel, *made) for module, names in parameters_in(file).items()}


def put_modules(modules: Iterable[Path], directory: Path) -> None:
    """Copy modules into the guest's input `directory`, to the paths that `setup.json` contains."""
    for module in modules:
        (directory / MODULES).mkdir(parents=True, exist_ok=True)
        shutil.copyfile(module, directory / MODULES / module.name)


def _demand_tools(source: Path) -> None:
    missing = [name for name in NEEDED if shutil.which(name) is None]
    if missing:
        raise HostError(
            f"compiling the module {source}: not on the PATH: {', '.join(missing)}",
            hint=apt(sorted({NEEDED[name] for name in missing})),
        )


def _tree(archive: Path, sha256: str, on_message: OnMessage) -> Path:

    def make(entry: Path) -> None:
        on_message(f"unpacking {archive.name} (56 MB)")
        done = subprocess.run(
            ["tar", "-xf", str(archive), "--no-same-owner", "--no-same-permissions", "-C", str(entry)],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise HostError(f"unpacking {archive} into {entry}: {done.stderr.strip()[-500:]}", hint="leowarp doctor")

    return entry_or_build(TREE_KIND, sha256[:16], make, on_message=on_message)


def _compile(tree: Path, directory: Path, source: Path) -> list[str]:
    with own_session(["sh", str(tree / "compile.sh"), str(directory)]) as process:
        output, _ = process.communicate()
    # The compiler saw a copy of the user's file, so its messages name the copy. The path of the user's file replaces
    # the copy's path.
    output = output.replace(f"{directory}/{module_name(source)}.c", str(source)).replace(f"{directory}/", "")
    lines = output.splitlines()
    if process.returncode == 0:
        return [line for line in lines if re.search(r"\bwarning: ", line)]
    spoken = [line for line in lines if not _OF_MAKE.match(line)]
    raise ScenarioError(
        f"compiling the module {source}:\n" + "\n".join(spoken[:SHOWN_LINES] or lines[-SHOWN_LINES:]),
        hint="mend the file; examples/mild_reno.c is one that compiles",
    )


# Lines in which kbuild and make report their own steps; the user does not need them.
_OF_MAKE = re.compile(
    r"^  [A-Z][A-Z0-9]*( \[M\])? +\S|^make(\[\d+\])?: |^warning: the compiler differs|^  (You are|The) "
)
