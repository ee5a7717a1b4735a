# SPDX-License-Identifier: Apache-2.0
import gzip
from pathlib import Path

import pyarrow as pa
import pytest

from leowarp.base import plainfiles
from leowarp.base.errors import ScenarioError
from leowarp.timeline.recordings import read

DELAYS = b"12\n13\n14\n" * 1000


def zstd(raw: bytes) -> bytes:
    return pa.Codec("zstd").compress(raw, asbytes=True)


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
def test_packed_files_are_read_whatever_they_are_called(tmp_path: Path, pack) -> None:
    path = tmp_path / "delays.txt"
    path.write_bytes(pack(DELAYS))
    of = read(path)
    assert of.down is not None
    assert (of.format, len(of.down)) == ("leoreplayer", 3000)


@pytest.mark.parametrize(("pack", "kind"), [(gzip.compress, "gzip"), (zstd, "zstd")], ids=["gzip", "zstd"])
def test_damaged_ones_are_refused_with_what_to_type(tmp_path: Path, pack, kind: str) -> None:
    path = tmp_path / "delays"
    path.write_bytes(pack(bytes(range(32, 127)) * 300)[:-20])
    with pytest.raises(ScenarioError, match=f"is damaged {kind}|not a text|nor irtt") as raised:
        read(path)
    assert f"{kind} -dc {path} | head -n -1 > whole.txt" in str(raised.value.hint)


@pytest.mark.parametrize("pack", [gzip.compress, zstd], ids=["gzip", "zstd"])
def test_bombs_are_refused_before_they_are_unpacked(tmp_path: Path, monkeypatch, pack) -> None:
    monkeypatch.setattr(plainfiles, "MOST_INPUT_BYTES", 4 << 20)
    path = tmp_path / "bomb"
    path.write_bytes(pack(bytes(64 << 20)))
    with pytest.raises(ScenarioError, match="unpacks to more than 4 MiB"):
        read(path)
