# SPDX-License-Identifier: Apache-2.0
"""The typer application with all verbs. The verbs are in the order of the stages of a run.

A verb is a function in one of the modules `*_verbs.py`. The function's signature defines the options. The docstring is
the help text. It has no sections such as Returns.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from leowarp.base.errors import ScenarioError
from leowarp.cli.output import interruptible, say
from leowarp.cli.typed import convert_plainly
from leowarp.version import build_version

_HELP = ["-h", "--help"]

_MOVED = {
    "metrics": "show RUN --metrics", "links": "show RUN --links", "plot": "report RUN --plot SERIES",
    "diff": "compare A B --diff", "version": "doctor --versions",
}  # fmt: skip
"""The former verbs, each with the command that replaces it."""


class _AsWritten(TyperGroup):
    """The group of all verbs. The help texts of verbs are printed as written. Otherwise, for example, ``[cures]`` would
    be read as markup."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        _escape(self)

    def main(self, *given: Any, **options: Any) -> Any:
        """Run the program. Typer adds its completion options after it has made the verbs. The constructor is therefore
        too early to replace the conversion of parameters, so this method replaces it."""
        _convert_plainly(self)
        return super().main(*given, **options)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the typed verb. For a former verb, raise an error that names its replacement."""
        if args and args[0] in _MOVED:
            raise ScenarioError(f"there is no verb {args[0]}", hint=f"leowarp {_MOVED[args[0]]}")
        return super().resolve_command(ctx, args)


def _escape(command: Any) -> None:
    """Escape text that rich would interpret as markup in the help of a verb, its parameters and its subcommands."""
    for owner in (command, *command.params):
        for name in ("help", "short_help", "epilog"):
            if text := vars(owner).get(name):
                # `rich.markup.escape` has the same pattern, but its import takes 0.1 s.
                setattr(owner, name, re.sub(r"(\\*)(\[[a-z#/@][^[]*?])", r"\1\1\\\2", text))
    for below in vars(command).get("commands", {}).values():
        _escape(below)


def _convert_plainly(command: Any) -> None:
    """Let the parameters of a verb, and of its subcommands, convert plain words without pydantic (`typed`)."""
    # `get_params` also returns the help option, which `params` lacks.
    for param in command.get_params(typer.Context(command, help_option_names=_HELP)):
        convert_plainly(param)
    for below in vars(command).get("commands", {}).values():
        _convert_plainly(below)


def _say_version(asked: bool) -> None:
    if asked:
        say(f"leowarp {build_version()}")
        raise typer.Exit


def _options(
    # With is_eager, `--version` is handled first. Otherwise, a missing verb would be reported as an error.
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=_say_version,
            help="Print the version; `leowarp doctor --versions` prints those of all parts.",
        ),
    ] = False,
) -> None:
    pass


_RUN, _STREET, _RESULTS, _MACHINE = "Runs", "Stages, each alone (no kernel needed)", "Results", "This machine"

_VERBS = {
    "run": (_RUN, "runs.run_verbs"),
    "demo": (_RUN, "runs.run_verbs"),
    "reproduce": (_RUN, "runs.run_verbs"),
    "verify": (_RUN, "results.verify_verb"),
    "validate": (_RUN, "timelines.validate_verb"),
    "shell": (_RUN, "runs.shell_verb"),
    "live": (_RUN, "runs.live_verb"),
    "exam": (_RUN, "studies.exam_verb"),
    "study": (_RUN, "studies.study_verbs"),
    "examples": (_RUN, "runs.example_verbs"),
    "init": (_RUN, "runs.example_verbs"),
    "plan": (_STREET, "results.look_verbs"),
    "ephemeris": (_STREET, "results.look_verbs"),
    "routes": (_STREET, "results.look_verbs"),
    "timeline": (_STREET, "timelines.timeline_verbs"),
    "fit": (_STREET, "timelines.fit_verb"),
    "show": (_RESULTS, "results.result_verbs"),
    "report": (_RESULTS, "results.report_verb"),
    "compare": (_RESULTS, "results.result_verbs"),
    "view": (_RESULTS, "results.view_verb"),
    "export": (_RESULTS, "results.result_verbs"),
    "reorder": (_RESULTS, "arrivals.reorder_verb"),
    "kernel": (_MACHINE, "runs.guest_verbs"),
    "doctor": (_MACHINE, "runs.guest_verbs"),
}
"""The verbs in the order of the help text, each with its panel and its module. The module contains a function with the
same name as the verb. If the verb has subcommands, the module has a `typer.Typer` with the name `<verb>_app`."""

_LONG = ("run", "demo", "reproduce", "verify", "validate", "exam", "reorder")
"""The verbs that take minutes. If the user interrupts one of these verbs, leowarp prints which files remain."""


def program(words: Sequence[str] = ()) -> typer.Typer:
    """Return the typer application.

    words: The words of the command line. If the first word is a verb, the application has only this verb, and the
        modules of other verbs are not imported. The import of all verbs would double the time that typer takes.
    """
    made = typer.Typer(
        name="leowarp",
        cls=_AsWritten,
        no_args_is_help=True,
        # `main` prints all errors in one form, so typer's own form is turned off.
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": _HELP},
        help="The real Linux TCP/IP stack over a moving low-Earth-orbit constellation, in virtual time.",
        epilog="Exit status: 0 done, 1 a comparison failed, 2 scenario or usage, 3 the machine lacks something, 4 the "
        "guest failed, 5 trace or report, 70 a fault of leowarp, 130 interrupted.",
    )
    made.callback()(_options)
    # A shell that asks for completions sets _LEOWARP_COMPLETE and passes no words. For completions, all verbs are
    # needed.
    known = [verb for verb in words[:1] if verb in _VERBS and "_LEOWARP_COMPLETE" not in os.environ]
    for verb in known or _VERBS:
        panel, place = _VERBS[verb]
        module = importlib.import_module(f"leowarp.cli.{place}")
        if group := vars(module).get(f"{verb}_app"):
            made.add_typer(group, name=verb, rich_help_panel=panel)
        else:
            act = vars(module)[verb]
            made.command(rich_help_panel=panel)(interruptible(act) if verb in _LONG else act)
    return made
