# SPDX-License-Identifier: Apache-2.0
"""The typer application: its verbs, in the order of a run's stages.

A verb is a function in one of the modules `*_verbs.py`; its signature defines its options and its docstring its help,
so those docstrings have no sections. Panels group them in ``leowarp --help``.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from leowarp.base.errors import ScenarioError
from leowarp.cli.arrivals import reorder_verb
from leowarp.cli.arrivals.reorder_request import Request
from leowarp.cli.options import verb_of
from leowarp.cli.output import interruptible, say
from leowarp.cli.results import look_verbs, report_verb, result_verbs, verify_verb, view_verb
from leowarp.cli.runs import example_verbs, guest_verbs, live_verb, run_verbs, shell_verb
from leowarp.cli.studies import exam_verb, study_verbs
from leowarp.cli.timelines import fit_verb, timeline_verbs, validate_verb
from leowarp.version import build_version

_MOVED = {
    "metrics": "show RUN --metrics", "links": "show RUN --links", "plot": "report RUN --plot SERIES",
    "diff": "compare A B --diff", "version": "doctor --versions",
}  # fmt: skip
"""Verbs that became options of others, with the command to type now."""


class _AsWritten(TyperGroup):
    """The program with all its verbs. The help of verbs is printed as written, because ``[cures]`` is a section of a
    scenario and not markup."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        _escape(self)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb that was typed; for a verb that moved, an error that names the new one."""
        if args and args[0] in _MOVED:
            raise ScenarioError(f"there is no verb {args[0]}", hint=f"leowarp {_MOVED[args[0]]}")
        return super().resolve_command(ctx, args)


def _escape(command: Any) -> None:
    """Escape text that rich would interpret as markup, in the help of a verb, of its parameters, and of the verbs below
    it."""
    for owner in (command, *command.params):
        for name in ("help", "short_help", "epilog"):
            if text := vars(owner).get(name):
                # This pattern replaces `rich.markup.escape`, whose import takes 0.1 s.
                setattr(owner, name, re.sub(r"(\\*)(\[[a-z#/@][^[]*?])", r"\1\1\\\2", text))
    for below in vars(command).get("commands", {}).values():
        _escape(below)


app = typer.Typer(
    name="leowarp",
    cls=_AsWritten,
    no_args_is_help=True,
    # `main` prints errors in one form.
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="The real Linux TCP/IP stack over a moving low-Earth-orbit constellation, in virtual time.",
    epilog="Exit status: 0 done, 1 a comparison failed, 2 scenario or usage, 3 the machine lacks something, "
    "4 the guest failed, 5 trace or report, 70 what no rule foresees, 130 interrupted.",
)


def _say_version(asked: bool) -> None:
    if asked:
        say(f"leowarp {build_version()}")
        raise typer.Exit


@app.callback()
def _options(
    # The option is eager, so that it is handled before a missing verb is reported.
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=_say_version,
            help="The version; `leowarp doctor --versions` has all of them.",
        ),
    ] = False,
) -> None:
    pass


_RUN, _STREET, _RESULTS, _MACHINE = "Runs", "Stages, each by itself (no kernel needed)", "Results", "This machine"

# These verbs take minutes, and a user who interrupts them must know what remains.
for _verb in (run_verbs.run, run_verbs.demo, run_verbs.reproduce, verify_verb.verify, validate_verb.validate):
    app.command(rich_help_panel=_RUN)(interruptible(_verb))
app.command(rich_help_panel=_RUN)(shell_verb.shell)
app.command(rich_help_panel=_RUN)(live_verb.live)
app.command(rich_help_panel=_RUN)(interruptible(exam_verb.exam))
# `interruptible` is not used: the verb `study run` itself reports what remains.
app.add_typer(study_verbs.study_app, name="study", rich_help_panel=_RUN)
app.command(rich_help_panel=_RUN)(example_verbs.examples)
app.command(rich_help_panel=_RUN)(example_verbs.init)
app.command(rich_help_panel=_STREET)(look_verbs.plan)
app.command(rich_help_panel=_STREET)(look_verbs.ephemeris)
app.command(rich_help_panel=_STREET)(look_verbs.routes)
app.add_typer(timeline_verbs.timeline_app, name="timeline", rich_help_panel=_STREET)
app.command(rich_help_panel=_STREET)(fit_verb.fit)
app.command(rich_help_panel=_RESULTS)(result_verbs.show)
app.command(rich_help_panel=_RESULTS)(report_verb.report)
app.command(rich_help_panel=_RESULTS)(result_verbs.compare)
app.command(rich_help_panel=_RESULTS)(view_verb.view)
app.command(rich_help_panel=_RESULTS)(result_verbs.export)
# The options are one value, because there are two dozen of them.
app.command(rich_help_panel=_RESULTS)(interruptible(verb_of(reorder_verb.reorder, Request)))
app.add_typer(guest_verbs.kernel_app, name="kernel", rich_help_panel=_MACHINE)
app.command(rich_help_panel=_MACHINE)(guest_verbs.doctor)
