# SPDX-License-Identifier: Apache-2.0
"""The page of a run and the page of a comparison, with their sections."""
