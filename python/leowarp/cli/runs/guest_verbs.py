# SPDX-License-Identifier: Apache-2.0
"""The verbs about the guest and this machine: kernel, doctor.

Verbs of `kernel` build missing parts and show progress on stderr. `doctor` lists everything on this machine that a
build or a run lacks.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leowarp.base.errors import HostError, ScenarioError
from leowarp.base.progress import building
from leowarp.cli import options
from leowarp.cli.output import print_json, print_table, say
from leowarp.running.street import built_image

if TYPE_CHECKING:
    from leowarp.guest import GuestImage
    from leowarp.guest.machine.host import Check

kernel_app = typer.Typer(no_args_is_help=True, help="The guest kernel: build it, show it, clean its cache.")

Choice = Annotated[
    str,
    typer.Argument(
        metavar="[NAME_OR_PATH]",
        help="A kernel of the shelf, or the path of a tree or binary with a slash in it; default: the default kernel.",
    ),
]


@kernel_app.command()
def build(choice: Choice = "default", json_: options.Json = False) -> None:
    """Build the kernel and the agent once. If both are already built, the verb does nothing."""
    # Progress goes to stderr, so that the stdout of `path` and of --json contains only the result.
    image = built_image(choice)
    if json_:
        print_json(_facts(image))
    else:
        say(f"kernel: {image.kernel}\nagent:  {image.agent}")


@kernel_app.command("list")
def list_(json_: options.Json = False) -> None:
    """Show the shelf: all kernels that --kernel and guest.kernel take by name. The verb builds nothing."""
    from leowarp.guest.building import kernel, shelf

    rows: list[dict[str, Any]] = [
        {
            "name": each.name,
            "what": each.what,
            "source": each.source,
            "options": list(each.options),
            "patches": [asdict(patch) for patch in each.patches],
            "sha256": each.identity(),
            "built": kernel.is_built(each),
        }
        for each in shelf.shelf()
    ]
    if json_:
        print_json({"kernels": rows})
        return
    print_table(
        None,
        ("kernel", "what", "built", "sha256"),
        [(row["name"], row["what"], "yes" if row["built"] else "no", row["sha256"][:12]) for row in rows],
        text=("kernel", "what", "built"),
    )
    for row in rows:
        for patch in row["patches"]:
            say(f"{row['name']}: {patch['address']} (sha256 {patch['sha256'][:12]}...)")


@kernel_app.command()
def add(
    name: Annotated[str, typer.Argument(help="Name of the kernel for --kernel and guest.kernel.")],
    source: Annotated[Path, typer.Option(metavar="TREE_OR_TARBALL", help="Where its source is.")],
    patch: Annotated[
        list[Path] | None, typer.Option(metavar="FILE", help="Patch that patch -p1 applies to it; may be repeated.")
    ] = None,
    base: Annotated[str, typer.Option(metavar="NAME", help="Kernel whose overrides and options it gets.")] = "default",
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="CONFIG_X=y", help="Additional line of its configuration; may be repeated."),
    ] = None,
) -> None:
    """Put your own kernel on the shelf, with a name. The kernel is built when it is first used."""
    from leowarp.guest.building import shelf

    made = shelf.add(name, source, patch or (), base=base, options=option or ())
    say(f"{made.name} is on the shelf: leowarp kernel build {made.name}, or leowarp run SCENARIO --kernel {made.name}")


@kernel_app.command()
def remove(name: Annotated[str, typer.Argument(help="A kernel that you added.")]) -> None:
    """Remove your own kernel from the shelf. The kernel's source is not deleted."""
    from leowarp.guest.building import shelf

    shelf.remove(name)
    say(f"{name} is off the shelf")


@kernel_app.command()
def info(choice: Choice = "default", json_: options.Json = False) -> None:
    """Show the sources of the kernel and the agent: versions, checksums. If the kernel or the agent is not built yet,
    the verb builds it."""
    facts = _facts(built_image(choice))
    if json_:
        print_json(facts)
        return
    # Warnings are not printed here, because each is as long as a paragraph. A run prints them.
    for part in ("kernel", "agent"):
        print_table(
            part,
            ("fact", "value"),
            [(key, value) for key, value in facts[part].items() if key != "warnings"],
            text=("value",),
        )


@kernel_app.command()
def path(choice: Choice = "default") -> None:
    """Print the path of the kernel program. If the kernel is not built yet, the verb builds it."""
    say(built_image(choice).kernel)


@kernel_app.command()
def module(
    file: Annotated[Path, typer.Argument(metavar="FILE.c", help="A kernel module of one C file.")],
    kernel: options.Kernel = None,
    json_: options.Json = False,
) -> None:
    """Compile a module against the guest kernel, as --cc-module of a run does, and print its path."""
    from leowarp.guest.building.kernel import kernel as kernel_for
    from leowarp.guest.user.modules import compiled

    with building(True) as built:
        # Only the kernel is built, because compiling a module needs neither the agent nor a boot.
        chosen = kernel_for(kernel or "default", on_message=built.message, on_progress=built.steps)
        made = compiled(file, chosen.program, built.message)
    if json_:
        print_json({"module": str(made), "source": str(file), "kernel": str(chosen.program)})
    else:
        say(made)


@kernel_app.command()
def clean(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False, json_: options.Json = False
) -> None:
    """Remove everything that was built and cached. The next run builds it again."""
    from leowarp.guest.building.cache import cache_root

    root = cache_root()
    if not root.is_dir():
        freed = 0
    else:
        # lstat counts the link itself and not its target.
        freed = sum(file.lstat().st_size for file in root.rglob("*") if file.is_file())
        if not yes:
            # If stdin is not a terminal, nobody can answer: a question would block a script for ever.
            if not sys.stdin.isatty():
                raise HostError(f"removing {root} ({freed >> 20} MiB): nobody is there to ask", hint="type --yes")
            typer.confirm(f"Remove {root} ({freed >> 20} MiB)?", abort=True)
        shutil.rmtree(root)
    if json_:
        print_json({"removed": str(root), "freed_bytes": freed})
    else:
        say(f"removed {root} ({freed >> 20} MiB)")


def doctor(
    kernel: options.Kernel = None,
    build: Annotated[
        bool, typer.Option("--build", help="First build the kernel and the agent if they are missing.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only what is missing, and a last line.")] = False,
    versions: Annotated[
        bool,
        typer.Option(
            "--versions",
            help="Print versions of leowarp (with its commit), of libraries and of built kernels; check nothing.",
        ),
    ] = False,
    json_: options.Json = False,
) -> None:
    """Check this machine: boot a guest, and list everything that is missing, with the command that installs it.

    Status 3 if something is missing, or the guest does not boot.
    """
    from leowarp.guest.building.doctor import examine, kernel_is_built
    from leowarp.running.boot_check import boot_check

    if versions:
        if build or quiet or kernel is not None:
            raise ScenarioError("--versions checks nothing and builds nothing", hint="leowarp doctor --versions")
        _print_versions(json_)
        return
    checks = examine()
    booted: bool | None = None
    # If a requirement is missing, a build or a boot would only fail for this reason, so neither is tried.
    if all(check.ok for check in checks):
        if build:
            built_image(kernel or "default")
        # With neither --build nor --kernel, a missing kernel is not built. A check of the machine should not take
        # minutes.
        if build or kernel is not None or kernel_is_built():
            checks.append(boot_check(kernel))
            booted = checks[-1].ok
    lacking = [check for check in checks if not check.ok]
    if json_:
        told = [asdict(check) | ({"mend": None} if check.ok else {}) for check in checks]
        print_json({"ok": not lacking, "booted": booted, "checks": told})
    else:
        rows = [
            (check.name, "ok" if check.ok else "LACKS", check.found, check.needed)
            for check in checks
            if not (quiet and check.ok)
        ]
        if rows:
            print_table(None, ("what", "", "found", "needed"), rows, text=("", "found", "needed"))
        for check in lacking:
            say(f"{check.name}: {check.mend}")
        say(_verdict(checks, booted))
    # The status is set after the output is printed.
    raise typer.Exit(HostError.exit_code if lacking else 0)


def _verdict(checks: list[Check], booted: bool | None) -> str:
    """Return the last line of `doctor`. `booted` is None if no guest was started."""
    lacking = sum(not check.ok for check in checks)
    if lacking:
        return f"{lacking} of {len(checks)} lacking"
    if booted is None:
        return "this machine has everything; no guest was booted, as no kernel is built: leowarp doctor --build"
    return f"this machine has everything; {checks[-1].found}"


def _print_versions(json_: bool) -> None:
    from leowarp.guest.building.cache import cache_place, read_facts
    from leowarp.trace.manifest import library_versions
    from leowarp.version import build_version, sources

    # Only kernels that exist are listed, so that the command starts no build.
    kernels = sorted(
        {str(read_facts(file).get("linux_version")) for file in cache_place().glob("kernel/*/kernel.json")} - {"None"}
    )
    # The cache may have several kernels of one Linux version; each version is listed once.
    facts: dict[str, Any] = {"leowarp": build_version(), **sources(), **library_versions(), "kernels_built": kernels}
    if json_:
        print_json(facts)
        return
    for name, value in facts.items():
        say(" ".join([name, *(_plainly(each) for each in (value if isinstance(value, list) else [value]))]))


def _plainly(value: Any) -> str:
    return {None: "unknown", True: "yes", False: "no"}.get(value, str(value))


def _facts(image: GuestImage) -> dict[str, Any]:
    """Return the path of the kernel and of the agent, each with the origin of its sources."""
    return {
        "kernel": {"program": str(image.kernel), **image.kernel_facts},
        "agent": {"program": str(image.agent), **image.agent_facts},
    }
