# SPDX-License-Identifier: Apache-2.0
"""For all tests."""

import signal

# A shell that starts the tests in the background has them ignore Ctrl-C, and what they start inherits that: the tests
# of interruptions would wait for something that cannot come.
signal.signal(signal.SIGINT, signal.default_int_handler)
