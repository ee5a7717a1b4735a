# SPDX-License-Identifier: Apache-2.0
"""The verb `fit`: computes a preset of an access link from recordings."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from leowarp.base.errors import ScenarioError
from leowarp.cli import options
from leowarp.cli.output import notes, print_json, print_table, say
from leowarp.cli.results.look_verbs import time_ns

Received = Annotated[
    bool,
    typer.Option("--received", help="The times of a table are arrival times of replies, as ping -D prints them."),
]
Columns = Annotated[
    str, typer.Option("--columns", help="Columns of a table without a header, for instance t_ns,rtt_ms.")
]

Interval = Annotated[str, typer.Option("--interval", help="Time between lines, for a format without times.")]


def fit(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="RECORDING...",
            help="Recordings of one link: ping, irtt, iperf3 or capacity (all formats that leowarp timeline describe "
            "reads).",
        ),
    ],
    profile: Annotated[str, typer.Option(help="Profile whose keys are fitted: starlink.")] = "starlink",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Preset file that is written, for access.preset.")
    ] = None,
    columns: Columns = "",
    received: Received = False,
    interval: Interval = "",
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
    json_: options.Json = False,
) -> None:
    """Fit the profile of an access link to recordings. Each key gets an interval, or the reason why it has none.

    The result is a preset: access.preset = "my-dish.toml" in a scenario, or --set access.preset=my-dish.toml.
    """
    from leowarp.base import plainfiles
    from leowarp.base.spelling import one_of
    from leowarp.cli.timelines.described import measurements
    from leowarp.fitting import fit as fitted
    from leowarp.fitting import preset_text
    from leowarp.fitting.written import LEVEL_TEXT, interval_text, value_text
    from leowarp.scenario.media.access import PROFILE_FILES
    from leowarp.scenario.schema import Access
    from leowarp.scenario.text.key import keys
    from leowarp.timeline.recordings.formats.columns import parsed_columns

    # Only profiles with slots can be fitted, and the profiles in `PROFILE_FILES` have no slots.
    known = [word for word in keys(Access)["profile"][1].words or () if word not in PROFILE_FILES]
    if profile not in known:
        raise ScenarioError(f"--profile: there is no profile {profile}", one_of(profile, known))
    if out is not None and out.suffix != ".toml":
        raise ScenarioError(f"--out {out}: access.preset takes a name that ends in .toml", "write --out my-dish.toml")
    if out is not None and out.exists() and not force:
        raise ScenarioError(f"{out} is there already", "add --force to replace it, or name another file")
    names = parsed_columns(columns) if columns else None
    interval_ns = time_ns("--interval", interval) if interval else None
    found = [one for file in files for one in measurements(file, "auto", interval_ns, None, None, names)]
    result = fitted([one.as_sent() if received else one for one in found], profile=profile)
    text = preset_text(result)
    if out is not None:
        plainfiles.write(out, text.encode())
    if json_:
        chosen = [asdict(estimate) | {"source": source} for estimate, source in result.chosen.values()]
        print_json({"profile": profile, "fitted": chosen, "untold": result.untold})
        return
    for one in found:
        notes(one.source, one.notes)
    print_table(
        f"{profile}, fitted",
        ("key", "value", f"{LEVEL_TEXT} interval", "n", "of", "recording"),
        [
            (key, value_text(estimate), interval_text(estimate), estimate.count, estimate.of,
             Path(source).name)
            for key, (estimate, source) in result.chosen.items()
        ],
        text=("key", "value", f"{LEVEL_TEXT} interval", "of", "recording"),
    )  # fmt: skip
    print_table("not told", ("key", "why"), list(result.untold.items()), text=("key", "why"))
    if out is not None:
        say(f'{out}: in a scenario, [access] preset = "{out.name}"')
