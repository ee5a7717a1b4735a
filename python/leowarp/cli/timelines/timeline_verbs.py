# SPDX-License-Identifier: Apache-2.0
"""The verb `timeline`: prints the events of a scenario. The subcommands `describe` and `convert` of this verb are for
measurements, and `channel` is for a mobile channel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leowarp.base.errors import ScenarioError
from leowarp.base.spelling import one_of
from leowarp.cli import options
from leowarp.cli.output import notes, print_json, print_table, say
from leowarp.cli.results.look_verbs import plan_of, time_ns
from leowarp.cli.studies.groups import with_default
from leowarp.cli.timelines.fit_verb import Interval

if TYPE_CHECKING:
    from leowarp.timeline.recordings import Description, Measurement

timeline_app = typer.Typer(
    cls=with_default("show"),
    no_args_is_help=True,
    help="Print the events of the emulated network: leowarp timeline SCENARIO. Summarise a measured path: describe. "
    "Convert measurements to CSV: convert. Show the fading of a mobile channel: channel.",
    context_settings={"help_option_names": ["-h", "--help"]},
)


@timeline_app.command()
def show(
    file: options.ScenarioFile,
    events: Annotated[bool, typer.Option("--events", help="Print every event, not only their numbers.")] = False,
    from_: Annotated[str, typer.Option("--from", help="Events from this time on.")] = "0 s",
    to: Annotated[str, typer.Option(help="Only events before this time; default: the run's end.")] = "",
    node: Annotated[str, typer.Option(help="Only events that name this node.")] = "",
    set_: options.Settings = None,
    leave_out: options.LeaveOut = None,
    json_: options.Json = False,
) -> None:
    """Print the events of the emulated network: links, delays, rates, routes."""
    from leowarp import ephemeris as skies
    from leowarp import media
    from leowarp import timeline as rooms
    from leowarp.scenario.schema import Access
    from leowarp.timeline.metadata import TimelineMetadata

    resolved = plan_of(file, options.settings(set_, leave_out=leave_out))
    sky = skies.ephemeris_of(resolved)
    table = media.timeline_of(resolved, sky)
    begin_ns = time_ns("--from", from_)
    # By default, the end is 1 ns after the run's duration. Events at the end of the run are then included. Events
    # exactly at the time of --to are excluded.
    end_ns = time_ns("--to", to) if to else resolved.run.duration_ns + 1
    rows = [
        # An event fills only the columns of its kind; the other columns are null and are left out.
        {key: value for key, value in row.items() if value is not None}
        for row in table.to_pylist()
        if begin_ns <= row["t_ns"] < end_ns and (not node or node in row.values())
    ]
    notes("warning", rooms.warnings_of(table))
    if json_:
        print_json(rooms.describe(table) | ({"events": rows} if events else {}))
    elif events:
        print_table(
            f"{resolved.name}: {len(rows)} events",
            ("t_s", "event", "what"),
            [(f"{row['t_ns'] / 1e9:.9f}", row["event"], _event(row)) for row in rows],
            text=("event", "what"),
        )
    else:
        found = rooms.describe(table)
        described = [(key, value) for key, value in found.items() if not isinstance(value, dict)]
        counts = [
            (f"{key}: {kind}", n) for key, part in found.items() if isinstance(part, dict) for kind, n in part.items()
        ]
        print_table(resolved.name, ("quantity", "value"), [*counts, *described])
        if isinstance(resolved.medium, Access):
            _print_slots(TimelineMetadata.of(table.schema).slots or [], begin_ns, end_ns)


def _print_slots(slots: list[dict[str, Any]], begin_ns: float, end_ns: float) -> None:
    # The output starts with the slot that is valid at --from, although this slot began earlier.
    held = max((slot["begin_ns"] for slot in slots if slot["begin_ns"] <= begin_ns), default=begin_ns)
    print_table(
        "what was drawn for each slot",
        ("slot", "begin_s", "satellite", "elevation_deg", "base_ms", "handover_ms", "spike_ms", "outages", "outage_ms",
         "down_mbps", "up_mbps"),
        [
            (
                slot["slot"], f"{slot['begin_ns'] / 1e9:g}", slot["satellite"],
                None if slot["elevation_deg"] is None else f"{slot['elevation_deg']:.1f}",
                f"{slot['base_ns'] / 1e6:.3f}", f"{slot['handover_ns'] / 1e6:.1f}",
                None if slot["spike_ns"] is None else f"{slot['spike_ns'] / 1e6:.1f}", slot["outages"],
                f"{slot['outage_ns'] / 1e6:.1f}", f"{slot['capacity_bps'] / 1e6:.1f}",
                f"{slot['capacity_up_bps'] / 1e6:.1f}",
            )
            for slot in slots
            if held <= slot["begin_ns"] < end_ns
        ],
        text=("satellite",),
    )  # fmt: skip


FORMATS = ("auto", "csv", "irtt", "ping", "columns", "leoreplayer", "iperf3", "mahimahi")

_Format = Annotated[str, typer.Option("--format", help=f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}.")]
_Columns = Annotated[
    str,
    typer.Option("--columns", help="Columns of a table without a header, for instance t_ns,rtt_ms; or t_s,seq,rtt_ms "
    "(seq: the probe's number; -: ignored)."),
]  # fmt: skip


def _said(format_: str, interval: str, columns: str) -> tuple[int | None, tuple[str, ...] | None]:
    """Return the interval in ns and the names of the columns, or None for an option that was not typed."""
    from leowarp.timeline.recordings.formats.columns import parsed_columns

    if format_ not in FORMATS:
        raise ScenarioError(f"--format: {format_} is no format", one_of(format_, FORMATS))
    interval_ns = time_ns("--interval", interval) if interval else None
    # The limits are the same as for the scenario key `measured.interval`.
    if interval_ns is not None and not 1_000 <= interval_ns <= 3_600_000_000_000:
        raise ScenarioError(f"--interval {interval}: outside 1 us to 1 h", "say how far apart the probes were")
    return interval_ns, parsed_columns(columns) if columns else None


@timeline_app.command()
def describe(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="Measured delays or capacity (CSV, irtt, ping -D, columns of numbers, LeoReplayer, iperf3, Mahimahi; "
            "also compressed by gzip or zstd), a scenario, or a run (its pings).",
        ),
    ],
    capacity: Annotated[Path | None, typer.Option(help="Capacity of the path, for one file of delays.")] = None,
    format_: _Format = "auto",
    interval: Interval = "",
    columns: _Columns = "",
    slots: Annotated[bool, typer.Option("--slots", help="A line for each reconfiguration, too.")] = False,
    figure: Annotated[
        Path | None, typer.Option(help="Draw the measurement into this file (.svg, .pdf or .png).")
    ] = None,
    folded: Annotated[
        Path | None, typer.Option(help="Draw delay and loss over the phase of the period (.svg, .pdf or .png).")
    ] = None,
    set_: options.Settings = None,
    json_: options.Json = False,
) -> None:
    """Summarise a measured path: its delays, spikes, losses and capacity, and the reconfigurations found in the
    data."""
    from leowarp.cli.timelines.described import as_json, lines, measurements, slot_lines
    from leowarp.timeline.recordings import describe as described

    interval_ns, names_of_columns = _said(format_, interval, columns)
    described_series: list[tuple[Measurement, Description]] = []
    for file in files:
        for measurement in measurements(file, format_, interval_ns, capacity, set_, names_of_columns):
            # One-way delays are differences between two clocks. They are described only if there are no round trips.
            implied = ("down", "up") if measurement.round_trip is not None else ()
            names: list[str | None] = [name for name in measurement.series if name not in implied]
            # A measurement that contains only a capacity has no series of delays. It is described, too.
            described_series += [(measurement, described(measurement, series=name)) for name in names or [None]]
    if figure is not None:
        from leowarp.report.curves.measured import measured_figure
        from leowarp.report.style import draw_file

        draw_file(figure, "--figure", lambda: measured_figure(described_series))
    if folded is not None:
        from leowarp.report.curves.folded import folded_figure
        from leowarp.report.style import draw_file

        draw_file(folded, "--folded", lambda: folded_figure(described_series))
    if json_:
        print_json({"described": [as_json(description) for _, description in described_series]})
        return
    # A measurement is described once, even if it has several series of delays.
    for measurement in dict.fromkeys(measurement for measurement, _ in described_series):
        notes(measurement.source, measurement.notes)
    titles = [f"{Path(description.source).name}: {_SERIES[description.series]}" for _, description in described_series]
    cells = [lines(description) for _, description in described_series]
    # The lines of the first file come first, in their order. After them come the lines that only other files have.
    rows = [(name, *(cell.get(name) for cell in cells)) for name in dict.fromkeys(k for c in cells for k in c)]
    print_table(None, ("", *titles), rows)
    if slots:
        for title, (_, description) in zip(titles, described_series, strict=True):
            print_table(title, ("slot begins", "base ms", "step ms", "spike ms"), slot_lines(description))


@timeline_app.command()
def convert(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A measurement in any format that describe reads.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="CSV file that is written; default: FILE's name with .csv.")
    ] = None,
    format_: _Format = "auto",
    interval: Interval = "",
    columns: _Columns = "",
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Convert a measurement to the CSV that describe and [measured] read."""
    from leowarp.cli.timelines.described import measurements
    from leowarp.timeline.recordings.written import csv_of, csv_path, write_csv

    interval_ns, names_of_columns = _said(format_, interval, columns)
    target = csv_path(file, out, force=force)
    # `describe` also accepts runs and scenarios, but `convert` only files.
    if file.is_dir() or file.suffix == ".toml":
        raise ScenarioError(f"{file}: not a file of measurements", "leowarp export writes the tables of a run")
    # A file contains exactly one measurement. Only a run can contain several measurements, one per flow, and runs are
    # rejected above.
    (measurement,) = measurements(file, format_, interval_ns, None, None, names_of_columns)
    notes(measurement.source, measurement.notes)
    rows = write_csv(csv_of(measurement), target)
    say(f"{target}: {rows} rows, from {measurement.format}")


@timeline_app.command()
def channel(
    file: options.ScenarioFile,
    figure: Annotated[
        Path | None, typer.Option(help="Draw the power series into this file (.svg, .pdf or .png).")
    ] = None,
    series: Annotated[
        Path | None, typer.Option(help="Write the power series into this file (.parquet or .csv).")
    ] = None,
    set_: options.Settings = None,
    json_: options.Json = False,
) -> None:
    """Show how a mobile channel fades, next to the values of its model. Also show the outcome of hybrid ARQ for all
    codewords."""
    from leowarp.cli.timelines import channel as channels
    from leowarp.media.mobile import warnings_about
    from leowarp.timeline.channel.series import check_suffix, write_series

    if series is not None:
        check_suffix(series)
    drawn = channels.channel_of(plan_of(file, set_), str(file))
    if figure is not None:
        from leowarp.report.curves.fading import draw

        draw(drawn.power, drawn.fading, figure, channels.title(drawn))
    if series is not None:
        write_series(drawn.power, drawn.mobile.snr_db, series, channels.about(drawn))
    if json_:
        print_json(channels.as_json(drawn))
        return
    notes("warning", warnings_about(drawn.plan, drawn.mobile))
    # The power is constant if there is no fading, or if the terminal does not move.
    if drawn.power.frozen:
        say(f"{channels.title(drawn)}: the level is {float(drawn.power.level_db[0]):.2f} dB throughout")
    else:
        print_table(
            channels.title(drawn), ("power, 0 dB: line of sight", "series", "model"), channels.level_rows(drawn)
        )
        print_table(None, ("fades", "Es/N0 there", "a second", "mean length"), channels.fade_rows(drawn))
    print_table("All codewords", ("", "share", "delay"), channels.codeword_rows(drawn))
    print_table(None, ("link", "value"), channels.link_rows(drawn))


_SERIES = {"round_trip": "round trips", "down": "down", "up": "up", "none": "capacity"}


def _event(row: dict[str, Any]) -> str:
    """Return the text of an event: its link (both ends) or node, and all columns that are not null."""
    ends = f"{row['a']} > {row['b']}" if "a" in row and "b" in row else row.get("a", row.get("node", ""))
    rest = [f"{key}={value}" for key, value in row.items() if key not in ("t_ns", "event", "a", "b", "node")]
    return " ".join([ends, *rest])
