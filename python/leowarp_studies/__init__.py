# SPDX-License-Identifier: Apache-2.0
"""The studies that come with leowarp, each a package that is found through the entry point group `leowarp.studies`."""
