# SPDX-License-Identifier: Apache-2.0
"""The study file: its keys, its ranges, and the runs that it describes."""
