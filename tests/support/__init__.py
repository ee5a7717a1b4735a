# SPDX-License-Identifier: Apache-2.0
"""Code that all tests share, including the tests beside the code: `from support.waiting import wait_until`."""
