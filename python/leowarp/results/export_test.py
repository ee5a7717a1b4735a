# SPDX-License-Identifier: Apache-2.0
"""Tests how the TLS keys that programs wrote are found and added to captures."""

import struct
from types import SimpleNamespace

from leowarp.results.export import tls_keys, with_keys

SECTION = struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28)
INTERFACE = struct.pack("<IIHHII", 1, 20, 1, 0, 128, 20)


def run_with(path, flows, written):
    for place, text in written.items():
        file = path / "35-programs" / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text)
    return SimpleNamespace(path=path, plan=SimpleNamespace(flows=flows))


def program(**environment):
    return SimpleNamespace(kind="program", environment=environment)


def test_keys_are_those_of_clients_and_servers_each_line_once(tmp_path):
    flows = [
        program(SSLKEYLOGFILE="{run_dir}/keys.log"),
        SimpleNamespace(kind="tcp", environment=None),
        program(SSLKEYLOGFILE="{run_dir}/tls/keys"),
    ]
    run = run_with(tmp_path, flows, {
        "0/client/files/keys.log": b"# by a library\nA 1 2\nB 1 3\n",
        "0/server/files/keys.log": b"A 1 2 \nC 1 4\n\n",
        "2/client/files/tls/keys": b"D 5 6\n",
    })  # fmt: skip
    assert tls_keys(run) == b"A 1 2\nB 1 3\nC 1 4\nD 5 6\n"


def test_programs_that_were_not_told_to_write_keys_have_none(tmp_path):
    flows = [program(), program(SSLKEYLOGFILE="/etc/passwd"), program(SSLKEYLOGFILE="{run_dir}/keys.log")]
    assert tls_keys(run_with(tmp_path, flows, {"0/client/files/keys.log": b"A 1 2\n"})) == b""


def test_keys_stand_behind_the_section_header():
    capture = SECTION + INTERFACE
    keyed = with_keys(capture, b"A 1 2\n")
    kind, total, secrets, length = struct.unpack_from("<IIII", keyed, 28)
    assert (kind, secrets, length) == (10, 0x544C534B, 6)
    assert total % 4 == 0
    assert struct.unpack_from("<I", keyed, 28 + total - 4) == (total,)
    assert keyed[28 + 16 : 28 + 16 + length] == b"A 1 2\n"
    assert keyed[:28] + keyed[28 + total :] == capture


def test_without_keys_a_capture_stays_as_it_is():
    assert with_keys(SECTION + INTERFACE, b"") == SECTION + INTERFACE
