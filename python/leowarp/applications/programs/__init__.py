# SPDX-License-Identifier: Apache-2.0
"""A server and its clients: transactions, page loads, segmented video, paced media frames."""
