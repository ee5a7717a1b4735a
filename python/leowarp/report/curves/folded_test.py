# SPDX-License-Identifier: Apache-2.0
"""Tests that the figure of a folded series shows the values, and marks the phases for which there are none."""

import numpy as np

from leowarp.report.curves.folded import folded_figure
from leowarp.timeline.recordings import Measurement, Schedule, describe

S = 1_000_000_000


def loss_panel(phases_s):
    """Return the loss panel of a series over 20 periods of 15 s. The probes are 100 ms apart. There are probes only in
    the phases within `phases_s`. Every tenth probe is lost."""
    t_ns = np.concatenate([np.arange(first * S, last * S, S // 10) for first, last in phases_s])
    t_ns = (t_ns[None, :] + 15 * S * np.arange(20)[:, None]).ravel()
    delay_ns = np.where(np.arange(len(t_ns)) % 10 == 5, np.nan, 30e6 + 1e6 * (t_ns // (15 * S) % 2))
    measurement = Measurement.of_round_trips(t_ns, delay_ns)
    (panel,) = [
        axes
        for axes in folded_figure([(measurement, describe(measurement, schedule=Schedule(15 * S, 0)))]).axes
        if axes.get_ylabel() == "lost, %"
    ]
    return panel


def test_phases_without_a_probe_are_not_shown_as_without_loss():
    panel = loss_panel([(0, 5), (8, 15)])
    shares, nothing = (patch.get_data() for patch in panel.patches)
    middles_s = (shares.edges[:-1] + shares.edges[1:]) / 2
    # Bins are 125 ms wide, so the bins at both ends of the gap contain probes.
    unknown = (middles_s > 5) & (middles_s < 7.9)
    assert unknown.sum() > 20
    assert np.isnan(shares.values[unknown]).all()
    assert np.isfinite(nothing.values[unknown]).all()
    assert np.isnan(nothing.values[np.isfinite(shares.values)]).all()
    assert [text.get_text() for text in panel.get_legend().get_texts()] == ["no probe"]


def test_where_every_phase_was_probed_nothing_is_marked():
    panel = loss_panel([(0, 15)])
    (shares,) = (patch.get_data() for patch in panel.patches)
    assert np.isfinite(shares.values).all()
    assert panel.get_legend() is None
