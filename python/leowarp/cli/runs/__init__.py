# SPDX-License-Identifier: Apache-2.0
"""Verbs that make runs, and what they need of the guest."""
