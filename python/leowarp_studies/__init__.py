# SPDX-License-Identifier: Apache-2.0
"""The studies that come with leowarp, each a package found by the entry point `leowarp.studies`."""
