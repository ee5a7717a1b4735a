# SPDX-License-Identifier: Apache-2.0
"""Metrics of links and nodes: queues, loads, satellites, cures."""
