# SPDX-License-Identifier: Apache-2.0
"""Metrics of one flow: goodput, delays, round trips, reordering, probes."""
