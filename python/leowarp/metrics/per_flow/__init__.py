# SPDX-License-Identifier: Apache-2.0
"""The metrics of one flow: goodput, delays, round trips, reordering, probes."""
