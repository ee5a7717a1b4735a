# SPDX-License-Identifier: Apache-2.0
"""The kernels of the shelf. A plan chooses one of them by its name. The shelf contains leowarp's own kernels
(guest/kernels.toml) and the kernels that the user has added."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import shutil
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from leowarp.base.errors import HostError, ScenarioError
from leowarp.base.ownership import make_directory
from leowarp.guest.building import recipe
from leowarp.guest.building.cache import cache_root, sha256_of_file
from leowarp.guest.building.trust import demand_own, state_home

DEFAULT = "default"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,39}")
_ENTRY = "kernel.json"


@dataclass(frozen=True)
class Patch:
    """A third-party patch of the kernel's source. `address` is its URL, or the file name of a patch of the user."""

    address: str
    sha256: str


@dataclass(frozen=True)
class ShelfKernel:
    """A kernel with a name.

    source: A Debian package with the source, or the path of the user's tarball or tree.
    base: The name of a kernel in kernels.toml. The overrides and options of this kernel are used. For leowarp's own
        kernels, `base` is the kernel's own name.
    options: The lines of a kernel configuration in addition to guest/kernel.config (example: ``CONFIG_TUN=y``).
    purposes: The overrides with these purposes are included (guest/overrides.toml). None means all overrides.
    is_own: Whether the user added the kernel.
    """

    name: str
    what: str
    source: str
    base: str
    options: tuple[str, ...] = ()
    patches: tuple[Patch, ...] = ()
    purposes: tuple[str, ...] | None = None
    is_own: bool = False

    def identity(self) -> str:
        """Return a hash of 64 hexadecimal digits. The hash covers everything that determines the kernel, except the
        kernel's source."""
        facts = {"base": self.base, "options": self.options, "patches": [patch.sha256 for patch in self.patches]}
        return hashlib.sha256(json.dumps(facts | {"purposes": self.purposes}, sort_keys=True).encode()).hexdigest()

    def recipe_sha256(self, directory: Path) -> str:
        """Return the sha256 of the kernel's recipe (`recipe.recipe_sha256`) with the files of `directory`
        (`recipe.guest_sources`)."""
        return recipe.recipe_sha256(recipe.kernel_recipe(directory), self.identity(), self.options)

    def facts(self) -> dict[str, Any]:
        """Return the data of the kernel for the manifest. The data contain neither the kernel's source nor any path of
        this machine."""
        made = {"kernel": self.name, "options": list(self.options)}
        return made | {"patches": [asdict(patch) for patch in self.patches]}


def shelf() -> list[ShelfKernel]:
    """Return all kernels of the shelf: first leowarp's kernels in the order of kernels.toml, and after them the user's
    kernels by name."""
    return _shipped() + _own()


def kernel_of(name: str) -> ShelfKernel:
    """Return the kernel with the name `name`.

    Raises ScenarioError if the shelf has no kernel of this name.
    Raises HostError if this installation has no guest/, which contains the list of kernels.
    """
    kernels = shelf()
    found = next((kernel for kernel in kernels if kernel.name == name), None)
    if found is not None:
        return found
    recipe.demand_guest_sources(f"looking for the kernel {name}")
    names = [kernel.name for kernel in kernels]
    close = difflib.get_close_matches(name, names, 1)
    hint = f'did you mean "{close[0]}"? ' if close else ""
    if Path(name).exists():
        hint += f"a path has a slash in it: ./{name}; "
    raise ScenarioError(
        f'using the kernel "{name}": the shelf has no kernel of that name',
        hint=f"{hint}leowarp kernel list shows the shelf ({', '.join(names)}); leowarp kernel add puts yours there",
    )


def add(
    name: str, source: Path, patches: Sequence[Path] = (), *, base: str = DEFAULT, options: Sequence[str] = ()
) -> ShelfKernel:
    """Add a kernel to the user's shelf. Nothing is built yet.

    source: A kernel tree, or a tarball of one.
    patches: The files that are applied with ``patch -p1``, in this order. The shelf keeps copies of the patches.
    base: The kernel of kernels.toml that gives the new kernel its overrides and options.
    options: The lines of kernel configuration in addition to the options of `base` (example:
        ``CONFIG_NET_SCH_DUALPI2=y``).
    Raises ScenarioError if the name is in use or invalid, or if a file is missing.
    """
    attempted = f"putting the kernel {name} on the shelf"
    if not _NAME.fullmatch(name):
        raise ScenarioError(
            f"{attempted}: a name has letters, digits and . _ + -, 40 at most, and begins with a letter or digit"
        )
    if any(kernel.name == name for kernel in _shipped()):
        raise ScenarioError(f"{attempted}: leowarp has a kernel of that name", hint="choose another name")
    if all(kernel.name != base for kernel in _shipped()):
        raise ScenarioError(f'{attempted}: leowarp has no kernel "{base}" to build on', hint="leowarp kernel list")
    for option in options:
        if not re.fullmatch(r"CONFIG_[A-Z0-9_]+=(y|n|m|\d+|0x[0-9a-f]+|\"[^\"]*\")", option):
            raise ScenarioError(f"{attempted}: {option} is no line of a configuration", hint="such as CONFIG_TUN=y")
    source = source.expanduser()
    if not (source.is_file() or (source / "arch" / "um").is_dir()):
        raise ScenarioError(f"{attempted}: {source} is neither a tarball nor a Linux tree (it has no arch/um)")
    missing = [str(file) for file in patches if not file.is_file()]
    if missing:
        raise ScenarioError(f"{attempted}: there is no file {', '.join(missing)}")
    home = _home() / name
    make_directory(home, 0o700)
    demand_own(_home())
    taken = []
    for file in patches:
        sha256 = sha256_of_file(file)
        shutil.copyfile(file, home / sha256)
        taken.append(Patch(file.name, sha256))
    made = ShelfKernel(name, f"yours, {source}", str(source.resolve()), base, tuple(options), tuple(taken), is_own=True)
    facts = {"source": made.source, "base": base, "options": made.options, "patches": [asdict(p) for p in taken]}
    # The entry is replaced atomically, so that a concurrent reader sees either the old or the new entry.
    (home / f"{_ENTRY}.new").write_text(json.dumps(facts, indent=1) + "\n")
    os.replace(home / f"{_ENTRY}.new", home / _ENTRY)
    return made


def remove(name: str) -> None:
    """Remove a kernel from the user's shelf. Builds of the kernel stay in the cache.

    Raises ScenarioError if the user added no kernel with this name.
    """
    if all(kernel.name != name for kernel in _own()):
        raise ScenarioError(f"taking {name} off the shelf: you have put no kernel of that name there")
    shutil.rmtree(_home() / name)


def patch_file(kernel: ShelfKernel, patch: Patch, on_message: Callable[[str], None]) -> Path:
    """Return the path of the patch file: the user's own file, a cached file, or a download.

    Raises HostError if the patch cannot be fetched, or if its sha256 differs from the recorded one.
    """
    kept = _home() / kernel.name / patch.sha256 if kernel.is_own else cache_root() / "patches" / patch.sha256
    if not kept.is_file():
        if kernel.is_own:
            raise HostError(f"building {kernel.name}: its patch {patch.address} is gone", hint="add the kernel again")
        make_directory(kept.parent)
        on_message(f"fetching {patch.address}")
        # The import is here, because few runs fetch anything.
        from urllib.request import urlopen

        try:
            with urlopen(patch.address, timeout=60) as answer:
                content = answer.read()
        except OSError as error:
            raise HostError(
                f"building {kernel.name}: fetching {patch.address}: {error}", hint=f"fetch it by hand to {kept}"
            ) from error
        kept.with_suffix(".new").write_bytes(content)
        os.replace(kept.with_suffix(".new"), kept)
    if (sha256 := sha256_of_file(kept)) != patch.sha256:
        raise HostError(
            f"building {kernel.name}: {kept} has the sha256 {sha256[:12]}..., and {patch.address} is to have "
            f"{patch.sha256[:12]}...",
            hint=f"remove {kept}, and fetch that address",
        )
    return kept


def _shipped() -> list[ShelfKernel]:
    directory = recipe.guest_sources()
    if directory is None:
        return []
    entries = tomllib.loads((directory / recipe.SHELF).read_text())["kernel"]
    return [
        ShelfKernel(
            entry["name"], entry["what"], entry["source"], entry["name"], tuple(entry.get("options", ())),
            tuple(Patch(**patch) for patch in entry.get("patch", ())),
            tuple(entry["purposes"]) if "purposes" in entry else None,
        )
        for entry in entries
    ]  # fmt: skip


def _own() -> list[ShelfKernel]:
    if not _home().is_dir():
        return []
    demand_own(_home())
    found = []
    for file in sorted(_home().glob(f"*/{_ENTRY}")):
        try:
            entry = json.loads(file.read_text())
            patches = tuple(Patch(**patch) for patch in entry["patches"])
            source, base, options = str(entry["source"]), str(entry["base"]), tuple(map(str, entry["options"]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise HostError(
                f"reading {file}: {error}", hint=f"remove {file.parent}, and add the kernel again"
            ) from error
        found.append(ShelfKernel(file.parent.name, f"yours, {source}", source, base, options, patches, is_own=True))
    return found


def _home() -> Path:
    return state_home() / "kernels"
