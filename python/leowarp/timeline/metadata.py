# SPDX-License-Identifier: Apache-2.0
"""Data of a timeline besides its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import pyarrow as pa

from leowarp.base.errors import TraceError
from leowarp.base.metadata import decode_metadata


@dataclass(frozen=True)
class CodewordSummary:
    """Outcomes of all codewords of a mobile channel (HARQ), with or without a packet.

    loss_ratio: Share of codewords that were never decoded.
    decoded_shares: Share decoded after 0, 1, ... retransmissions.
    first_bits: Bits of a first transmission.
    symbols_ratio: Number of symbols sent, divided by the number of symbols in first transmissions.
    """

    codewords: int
    loss_ratio: float
    decoded_shares: list[float]
    first_bits: int
    symbols_ratio: float


@dataclass(frozen=True, kw_only=True)
class TimelineMetadata:
    """Metadata of `20-timeline.parquet`; None values are not written.

    warnings: Caveats for runs of this timeline.
    slots, outages: Random slots and outages of an access link: rows with the columns `SLOT_COLUMNS`, `OUTAGE_COLUMNS`
        of `media.access`.
    jitter_table: Equally likely values of mean 0 and standard deviation 1: the distribution `table` of jitter.
    harq: Outcomes of the codewords of a mobile channel.
    """

    warnings: list[str]
    slots: list[dict[str, Any]] | None = None
    outages: list[dict[str, Any]] | None = None
    jitter_table: list[float] | None = None
    harq: CodewordSummary | None = None

    def values(self) -> dict[str, object]:
        """The metadata in the form that `encode_metadata` and `table_schema` take."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        # Metadata are JSON, which has no dataclasses.
        if self.harq is not None:
            given["harq"] = asdict(self.harq)
        return {name: value for name, value in given.items() if value is not None}

    @classmethod
    def of(cls, schema: pa.Schema) -> TimelineMetadata:
        """Metadata of a timeline with this schema; a user's timeline without metadata has no warnings.

        Missing keys are None; keys of other tables are ignored.

        Raises TraceError if `harq` does not have this version's form.
        """
        given = {field.name: decode_metadata(schema, field.name) for field in fields(cls)}
        return cls(**given | {"warnings": given["warnings"] or [], "harq": _codewords(given["harq"])})


def _codewords(value: Mapping[str, Any] | None) -> CodewordSummary | None:
    if value is None:
        return None
    try:
        return CodewordSummary(**value)
    except TypeError as error:
        raise TraceError(
            f"reading the timeline's metadata `harq`: {error}", "another version of leowarp made the run; make it again"
        ) from None
