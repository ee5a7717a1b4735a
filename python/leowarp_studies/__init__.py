# SPDX-License-Identifier: Apache-2.0
"""The studies that come with leowarp. Each study is a package in the entry point group `leowarp.studies`."""
