# SPDX-License-Identifier: Apache-2.0
"""Tests that no text in a figure overlaps another text or another panel, or lies outside of the figure."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from leowarp.base.errors import TraceError
from leowarp.metrics import metrics, read_tables
from leowarp.report import FIGURES, figure
from leowarp.results.run import Run
from support.figure_texts import troubles
from support.synthetic.flows import constellation_toml, write_synthetic_flows

PAIRS = [("Madrid", "Tokyo"), ("Los Angeles", "St Petersburg"), ("Buenos Aires", "San Francisco")]
ENDED = '[[flows]]\nsource = "{}"\ndestination = "{}"\n'
MEASURED = Path(__file__).parents[4] / "examples" / "measured-path.csv"
MEDIA = {
    "chain": '[chain]\nhops = 3\ndelay = "10 ms"\nrate = "10 Mbit/s"\nqueue = "100 pkts"\n' + ENDED.format("A", "B"),
    "jittered": '[jittered]\ndelay = "50 ms"\njitter = "5 ms"\n' + ENDED.format("A", "B"),
    "measured": f'[measured]\nfile = "{MEASURED}"\n' + ENDED.format("A", "B") * 2,
    "mobile": '[mobile]\nsnr = "10 dB"\nsamples_per_wavelength = 4\nrule = "equal"\n'
    + ENDED.format("server", "mobile") * 2,
}
SCENARIOS = {
    "three": constellation_toml(3, PAIRS[:1]),
    "many": constellation_toml(12, PAIRS, ("cubic", "bbr", "reno")),
    **{name: f'name = "{name}"\n[run]\nduration = "60 s"\n{text}' for name, text in MEDIA.items()},
}
CASES = {
    "one flow": ("one",),
    "three flows": ("three",),
    "many flows": ("many",),
    "access": ("access",),
    "chain": ("chain",),
    "jittered": ("jittered",),
    "measured": ("measured",),
    "mobile": ("mobile",),
    "three runs": ("one", "other", "three"),
    "two runs of many flows": ("many", "three"),
    "two access links": ("access", "access"),
}
THIRDS = ("chain", "jittered", "measured")
"""The runs whose figures differ only in the footer. To save time, each of these runs is tested with only a third of the
figures. Each run has a different third."""


@pytest.fixture(scope="session")
def made(run_dir, other_run_dir, access_dir, tmp_path_factory):
    """The views of runs by name."""
    views = {
        "one": Run(run_dir, complete=False),
        "other": Run(other_run_dir, complete=False),
        "access": Run(access_dir, complete=False),
    }

    def view(name):
        if name not in views:
            path = write_synthetic_flows(run_dir, tmp_path_factory.mktemp("flows") / name, SCENARIOS[name])
            metrics(read_tables(path), Run(path, complete=False).plan).with_cost(cpu_s=1.0, wall_s=2.0).write(path)
            views[name] = Run(path, complete=False)
        return views[name]

    return view


# Each test takes about ten seconds of a CPU core, mostly in matplotlib's layout.
@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_texts_of_every_figure_stand_apart_and_inside(made, case):
    found, runs = {}, [made(name) for name in CASES[case]]
    for number, (name, kind) in enumerate(FIGURES.items()):
        if case in THIRDS and number % 3 != THIRDS.index(case):
            continue
        if not kind.concerns(runs) or (len(runs) > 1 and not kind.several):
            continue
        try:
            shown = figure(runs, name)
        except TraceError:
            # If the run lacks data for this figure, the page has a sentence instead. Another test covers this sentence.
            continue
        if wrong := troubles(shown):
            found[name] = wrong
    assert not found, "\n".join(f"{name}: {sentence}" for name, wrong in found.items() for sentence in wrong)


def test_what_cannot_be_read_is_found():
    shown = Figure(figsize=(3, 2), layout="constrained")
    axes = shown.subplots()
    axes.set_title("a title")
    assert troubles(shown) == []
    shown.text(0.5, 0.93, "over the title", ha="center")
    shown.text(0.95, 0.01, "beyond the edge of the figure")
    shown.text(0.5, 0.5, "in the panel")
    words = " / ".join(troubles(shown))
    assert '"a title" stands over "over the title"' in words or '"over the title" stands over "a title"' in words
    assert '"beyond the edge of the figure" is cut at a side' in words
    assert '"in the panel" stands over a panel that is not its own' in words
