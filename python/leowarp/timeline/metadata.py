# SPDX-License-Identifier: Apache-2.0
"""The metadata of a timeline: all its data except the events."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any

import pyarrow as pa

from leowarp.base.errors import TraceError
from leowarp.base.tables.metadata import decode_metadata


@dataclass(frozen=True)
class CodewordSummary:
    """The outcomes of all codewords of a mobile channel (HARQ). Codewords without a packet are included.

    loss_ratio: The share of codewords that were never decoded.
    decoded_shares: The share of codewords that were decoded after 0, 1, ... retransmissions.
    first_bits: The number of bits in a first transmission.
    symbols_ratio: The number of symbols sent, divided by the number of symbols in first transmissions.
    """

    codewords: int
    loss_ratio: float
    decoded_shares: list[float]
    first_bits: int
    symbols_ratio: float


@dataclass(frozen=True, kw_only=True)
class TimelineMetadata:
    """The metadata of `20-timeline.parquet`. Values that are None are not written.

    warnings: The sentences that a user should read before trusting a run of this timeline.
    slots, outages: The random slots and outages of an access link, as rows with the columns `SLOT_COLUMNS` and
        `OUTAGE_COLUMNS` of `media.access`.
    jitter_table: The values of the jitter distribution `table`. All are equally likely, and they have mean 0 and
        standard deviation 1.
    harq: The outcomes of the codewords of a mobile channel.
    """

    warnings: list[str]
    slots: list[dict[str, Any]] | None = None
    outages: list[dict[str, Any]] | None = None
    jitter_table: list[float] | None = None
    harq: CodewordSummary | None = None

    def values(self) -> dict[str, object]:
        """Return the metadata in the form that `encode_metadata` and `table_schema` take."""
        # Metadata are stored as JSON, so the dataclass is converted to a dict.
        given = vars(self) | {"harq": None if self.harq is None else asdict(self.harq)}
        return {name: value for name, value in given.items() if value is not None}

    @classmethod
    def of(cls, schema: pa.Schema) -> TimelineMetadata:
        """Return the metadata of a timeline with this schema. If a user's timeline has no metadata, it has no warnings.

        A missing key has the value None. Keys that belong to other tables are ignored.

        Raises TraceError if `harq` does not have the form that this version writes.
        """
        given = {field.name: decode_metadata(schema, field.name) for field in fields(cls)}
        try:
            harq = None if given["harq"] is None else CodewordSummary(**given["harq"])
        except TypeError as error:
            raise TraceError(
                f"reading the timeline's metadata `harq`: {error}",
                "another version of leowarp made the run; make it again",
            ) from None
        return cls(**given | {"warnings": given["warnings"] or [], "harq": harq})
