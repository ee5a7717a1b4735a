# SPDX-License-Identifier: Apache-2.0
import dataclasses

import numpy as np

from leowarp.ephemeris import ephemeris_of
from leowarp.scenario.schema import Constellation, Shell
from support.plans import S, plan, shell

LOW = Shell(planes=5, satellites_per_plane=4, altitude_m=550e3, inclination_deg=53.0, phasing=2)
POLAR = Shell(
    pattern="star", planes=3, satellites_per_plane=7, altitude_m=1_200e3, inclination_deg=87.9, node_offset_deg=15.0
)


def test_each_shell_flies_as_it_would_alone_and_names_tell_which_it_is() -> None:
    both = ephemeris_of(plan(Constellation(shells=(LOW, POLAR))))
    assert both is not None
    t_ns = np.array([0, 77 * S])
    alone = []
    for number, one in enumerate((LOW, POLAR), 1):
        single = ephemeris_of(plan(shell(**dataclasses.asdict(one))))
        assert single is not None
        alone.append(single.positions_ecef_m(t_ns))
        own = [name for name in both.names if name.startswith(f"s-{number}-")]
        assert own == [name.replace("s-", f"s-{number}-") for name in single.names]
    assert both.names[::20] == ["s-1-00-00", "s-2-00-00", "s-2-02-06"]
    assert np.array_equal(both.positions_ecef_m(t_ns), np.concatenate(alone, axis=1))
    assert both.positions_eci_m(0).shape == (41, 3)
