# SPDX-License-Identifier: Apache-2.0
import json

import pytest

from leowarp.trace.manifest import Stopwatch, program_logs, write_manifest

KEY = b"CLIENT_TRAFFIC_SECRET_0 " + 32 * b"0a" + b" " + 48 * b"f1" + b"\n"


def program_file(run, name, content):
    file = run / "35-programs/0/client/files" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def test_a_run_without_programs_has_neither(tmp_path):
    assert program_logs(tmp_path) == {"tls_keys": [], "qlog": []}


@pytest.mark.parametrize(
    "content", [KEY, KEY[:-1] + b" \n", b"# by a library\n\n" + KEY, KEY[:-1] + b"\r\n", KEY + b"half a li"]
)
def test_keys_are_known_by_their_first_line(tmp_path, content):
    program_file(tmp_path, "tls/of any name", content)
    assert program_logs(tmp_path)["tls_keys"] == ["35-programs/0/client/files/tls/of any name"]


@pytest.mark.parametrize("content", [b"", b"# only a comment\n", b"GET /index.html HTTP/1.1\n", KEY[:-1], b"x\n" + KEY])
def test_what_begins_otherwise_holds_no_keys(tmp_path, content):
    program_file(tmp_path, "keys.log", content)
    assert program_logs(tmp_path)["tls_keys"] == []


def test_qlogs_are_known_by_their_names(tmp_path):
    for name in ("qlog/b.sqlog", "qlog/a.qlog", "qlog/readme"):
        program_file(tmp_path, name, b"{}")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(KEY)
    program_file(tmp_path, "plain", b"").with_name("link.qlog").symlink_to(elsewhere)
    files = "35-programs/0/client/files/qlog"
    assert program_logs(tmp_path) == {"tls_keys": [], "qlog": [f"{files}/a.qlog", f"{files}/b.sqlog"]}


def test_the_manifest_names_them(tmp_path):
    keys = program_file(tmp_path, "keys.log", KEY)
    write_manifest(tmp_path, 1, {}, {}, [], Stopwatch().costs(1.0, 2.0, 1))
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["logs"] == {"tls_keys": [keys.relative_to(tmp_path).as_posix()], "qlog": []}
    assert manifest["logs"]["tls_keys"][0] in manifest["files"]
