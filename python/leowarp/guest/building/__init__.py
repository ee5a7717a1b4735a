# SPDX-License-Identifier: Apache-2.0
"""Builds kernel and agent, caches them, and checks the user's consent to run code."""
