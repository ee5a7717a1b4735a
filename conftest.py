# SPDX-License-Identifier: Apache-2.0
"""For all tests."""

import signal

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["support.processes", "support.watchdog", "support.chromium", "support.pictures"]


def pytest_addoption(parser):
    parser.addoption("--renew-pictures", action="store_true", help="store what pages show now as the reviewed pictures")


# A shell that starts the tests in the background has them ignore Ctrl-C, and what they start inherits that: the tests
# of interruptions would wait for something that cannot come.
signal.signal(signal.SIGINT, signal.default_int_handler)

# The time of an example, or of drawing it, depends on the machine.
settings.register_profile("leowarp", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("leowarp")


@pytest.fixture(autouse=True, scope="session")
def _own_memory_of_trust(tmp_path_factory):
    """Code that a test lets run must not be remembered for the user who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield
