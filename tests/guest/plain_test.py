# SPDX-License-Identifier: Apache-2.0
"""The kernel `plain` lacks the overrides that only save time. Tests that runs under `plain` and under the default
kernel give the same bytes."""

import shutil
from pathlib import Path

import pytest

from support.beside import modules_beside

pytestmark = pytest.mark.guest

TOOLS = Path(__file__).parents[2] / "tools"
# One case for each kind of medium, flow and link; together, their traces contain every kind of table.
CASES = (
    "madrid-tokyo", "two-changes drop", "madrid-tokyo netem", "chain", "city-traffic", "iperf3", "jittered-transfer",
    "measured-path", "mild-reno", "mobile-tcp", "starlink",
)  # fmt: skip
SHORT_NS = 1_500_000_000


@pytest.fixture(scope="module")
def tool():
    """The module tools/same_results.py, which contains the list of cases."""
    with modules_beside(TOOLS, ["same_cases", "same_results"]) as modules:
        yield modules["same_results"]


@pytest.mark.parametrize("name", CASES)
def test_the_plain_kernel_gives_the_bytes_of_the_default_kernel(tool, name):
    if name == "iperf3" and shutil.which(name) is None:
        pytest.skip("iperf3 is missing (apt-get install iperf3)")
    case = tool.examples()[name]
    default, plain = (tool.fingerprint(case, kernel) for kernel in ("default", "plain"))
    assert "error" not in default
    assert list(tool.differences({name: default}, {name: plain})) == []


def test_the_plain_kernel_gives_the_records_of_the_default_kernel_over_random_networks(tool):
    for network in tool.networks(SHORT_NS)[:12]:
        default, plain = (tool.of_network(network, kernel) for kernel in ("default", "plain"))
        assert default == plain, network
