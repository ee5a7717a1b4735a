# SPDX-License-Identifier: Apache-2.0
"""The sections about flows, traffic, arrivals, and programs of senders."""
