# SPDX-License-Identifier: Apache-2.0
"""The metrics of links and nodes: queues, loads, satellites, cures."""
