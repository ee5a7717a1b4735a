# SPDX-License-Identifier: Apache-2.0
"""Tables in Parquet files: reading them within a limit of memory, and the metadata of their columns."""
