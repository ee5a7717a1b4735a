# SPDX-License-Identifier: Apache-2.0
"""For all tests."""

import signal

from hypothesis import HealthCheck, settings

pytest_plugins = ["support.processes", "support.watchdog"]

# A shell that starts the tests in the background has them ignore Ctrl-C, and what they start inherits that: the tests
# of interruptions would wait for something that cannot come.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes, or is drawn, says something of the machine.
settings.register_profile("leowarp", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("leowarp")
