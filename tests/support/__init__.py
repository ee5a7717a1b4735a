# SPDX-License-Identifier: Apache-2.0
"""Code for all tests, including the tests beside the code: `from support.waiting import wait_until`."""
