# SPDX-License-Identifier: Apache-2.0
"""Sections on flows, traffic, their arrivals, and what senders run."""
