# SPDX-License-Identifier: Apache-2.0
"""The page of a run, the page that compares runs, and their sections."""
