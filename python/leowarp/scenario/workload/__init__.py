# SPDX-License-Identifier: Apache-2.0
"""Sections about flows, traffic, arrivals, and programs of senders."""
