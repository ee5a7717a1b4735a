# SPDX-License-Identifier: Apache-2.0
"""The verb `validate`: compares recordings of real links with the same measurement in the guest."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from leowarp.base.errors import ScenarioError
from leowarp.cli import options
from leowarp.cli.output import note, notes, print_json, print_table, say
from leowarp.cli.results.look_verbs import time_ns
from leowarp.cli.timelines.fit_verb import Columns, Interval, Received


def validate(
    recordings: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RECORDING...", help="Files of ping, irtt or iperf3, or names of public recordings (--list)."
        ),
    ] = None,
    list_: Annotated[
        bool,
        typer.Option(
            "--list", help="List public recordings: address, licence, sha256, and the command that fetches each."
        ),
    ] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory for the page and the runs.")] = Path("validation"),
    folder: Annotated[
        Path | None,
        typer.Option("--recordings", help="Directory of public recordings; default: recordings/ in leowarp's cache."),
    ] = None,
    longest: Annotated[str, typer.Option(help="Length of each run; default: the length of its recording.")] = "",
    seed: Annotated[int, typer.Option(min=0, help="Of the profiles.")] = 1,
    profile: Annotated[
        str, typer.Option(help="Profile with which files are compared: starlink or oneweb.")
    ] = "starlink",
    columns: Columns = "",
    received: Received = False,
    interval: Interval = "",
    json_: options.Json = False,
) -> None:
    """Compare simulated access links, which are profiles or replays, with recordings of real links.

    For each recording, the guest repeats the measurement three times: over a replay, over the fitted profile, and over
    the default profile. A missing recording is listed as skipped.
    """
    from leowarp.base.spelling import one_of
    from leowarp.guest.building.cache import cache_place
    from leowarp.scenario.schema import Access
    from leowarp.scenario.text.key import keys
    from leowarp.timeline.recordings.formats.columns import parsed_columns
    from leowarp.validation import PUBLIC, Validated
    from leowarp.validation import validate as validated
    from leowarp.validation.page import HEADS, cells, write_page

    folder = folder or cache_place() / "recordings"
    if list_:
        if json_:
            listed = [
                asdict(one) | {"address": one.address, "fetch": one.command(folder), "here": bool(one.found(folder))}
                for one in PUBLIC.values()
            ]
            print_json({"recordings": listed})
            return
        for public in PUBLIC.values():
            say(f"{public.name}: {public.about}")
            say(f"    {public.licence}, sha256 {public.sha256}{', here' if public.found(folder) else ''}")
            say(f"    {public.command(folder)}")
        return
    if not recordings:
        raise ScenarioError("no recording is named", "leowarp validate my-ping.txt, or one of leowarp validate --list")
    known = keys(Access)["profile"][1].words or ()
    if profile not in known:
        raise ScenarioError(f"--profile: there is no profile {profile}", one_of(profile, known))
    found = validated(
        recordings,
        out,
        recordings_folder=folder,
        columns=parsed_columns(columns) if columns else None,
        received=received,
        interval_ns=time_ns("--interval", interval) if interval else None,
        profile=profile,
        longest_ns=time_ns("--longest", longest) if longest else None,
        seed=seed,
        tell=note,
    )
    command = shlex.join(["leowarp", "validate", *recordings, "--seed", str(seed), "--profile", profile])
    page = write_page(found, out, command + (f' --longest "{longest}"' if longest else ""))
    if json_:
        print_json(
            {
                "page": str(page),
                "compared": [
                    {"name": one.name, "source": one.source, "rows": [asdict(row) for row in one.rows],
                     "notes": one.notes}
                    for one in found if isinstance(one, Validated)
                ],
                "skipped": [asdict(one) for one in found if not isinstance(one, Validated)],
            }
        )  # fmt: skip
        return
    for one in found:
        if isinstance(one, Validated):
            notes(one.name, one.notes)
            # A terminal has no space for columns of quantiles; the page and --json include them.
            print_table(one.name, HEADS, [cells(row) for row in one.rows], text=("quantity", "verdict"))
        else:
            say(f"{one.name}: skipped, {one.why}" + (f"\n    {one.fetch}" if one.fetch else ""))
    say(f"{page}")
