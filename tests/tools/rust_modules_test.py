# SPDX-License-Identifier: Apache-2.0
"""tools/rust_modules.py sees a circle of modules, whichever way a module is named."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def rust_modules():
    spec = importlib.util.spec_from_file_location("rust_modules", ROOT / "tools" / "rust_modules.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def circles(rust_modules, directory, files):
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    return rust_modules.circles(rust_modules.graph(directory))


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("use crate::flows::{socket, tcp::Transfer};", "crate::sample::bytes(1)"),
        ("use crate::flows::tcp::Transfer;", "use crate::{error::{Error, Result}, sample};"),
        ("fn f() { crate::flows::tcp::open() }", "use super::socket::x; use crate::sample::bytes;"),
        ("use crate::flows::tcp::Transfer;", "use super::super::sample::bytes;"),
    ],
)
def test_a_circle_is_named(rust_modules, tmp_path, above, below):
    files = {
        "main.rs": "mod sample; mod flows;",
        "sample.rs": above,
        "flows/tcp.rs": below,
        "flows/socket.rs": "",
        "error.rs": "",
    }
    assert circles(rust_modules, tmp_path, files) == [{"sample", "flows::tcp"}]


@pytest.mark.parametrize("use", ["use tcp::Transfer;", "fn f() { tcp::open() }", "pub(crate) use self::tcp::*;"])
def test_a_module_and_one_below_it_can_be_a_circle(rust_modules, tmp_path, use):
    files = {"main.rs": "", "flows/mod.rs": f"mod tcp;\n{use}\n", "flows/tcp.rs": "use crate::flows::Flows;"}
    assert circles(rust_modules, tmp_path, files) == [{"flows", "flows::tcp"}]


def test_what_the_root_exports_again_is_its_modules_and_what_it_defines_is_a_circle(rust_modules, tmp_path):
    files = {"lib.rs": "mod a;\npub use a::{A, B};\npub struct Own;", "a.rs": "", "b.rs": "use crate::{B, a};"}
    assert circles(rust_modules, tmp_path, files) == []
    assert rust_modules.graph(tmp_path)["b"] == {"a"}
    assert circles(rust_modules, tmp_path, files | {"a.rs": "use crate::Own;"}) == [{"a", "b", "lib"}]
    assert circles(rust_modules, tmp_path, files | {"a.rs": "use crate::b::C;"}) == [{"a", "b"}]


def test_one_way_imports_tests_and_comments_are_no_circle(rust_modules, tmp_path):
    files = {
        "lib.rs": "",
        "a.rs": "use crate::b::B;",
        "b.rs": "// crate::a::A\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
        "b_test.rs": "use crate::a::A;",
    }
    assert circles(rust_modules, tmp_path, files) == []


def test_our_crates_have_none(rust_modules, capsys):
    assert rust_modules.main([]) == 0, capsys.readouterr().err
