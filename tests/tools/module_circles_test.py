# SPDX-License-Identifier: Apache-2.0
"""Tests that tools/module_circles.py finds each circle of modules or C files, in whatever form the imports are
written."""

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def module_circles():
    spec = importlib.util.spec_from_file_location("module_circles", ROOT / "tools" / "module_circles.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def circles(module_circles, directory, files):
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
    return module_circles.circles(module_circles.graph(directory))


@pytest.mark.parametrize(
    ("above", "below"),
    [
        ("use crate::flows::{socket, tcp::Transfer};", "crate::sample::bytes(1)"),
        ("use crate::flows::tcp::Transfer;", "use crate::{error::{Error, Result}, sample};"),
        ("fn f() { crate::flows::tcp::open() }", "use super::socket::x; use crate::sample::bytes;"),
        ("use crate::flows::tcp::Transfer;", "use super::super::sample::bytes;"),
    ],
)
def test_a_circle_is_named(module_circles, tmp_path, above, below):
    files = {
        "main.rs": "mod sample; mod flows;",
        "sample.rs": above,
        "flows/tcp.rs": below,
        "flows/socket.rs": "",
        "error.rs": "",
    }
    assert circles(module_circles, tmp_path, files) == [{"sample", "flows::tcp"}]


@pytest.mark.parametrize("use", ["use tcp::Transfer;", "fn f() { tcp::open() }", "pub(crate) use self::tcp::*;"])
def test_a_module_and_one_below_it_can_be_a_circle(module_circles, tmp_path, use):
    files = {"main.rs": "", "flows/mod.rs": f"mod tcp;\n{use}\n", "flows/tcp.rs": "use crate::flows::Flows;"}
    assert circles(module_circles, tmp_path, files) == [{"flows", "flows::tcp"}]


def test_what_the_root_exports_again_is_its_modules_and_what_it_defines_is_a_circle(module_circles, tmp_path):
    files = {"lib.rs": "mod a;\npub use a::{A, B};\npub struct Own;", "a.rs": "", "b.rs": "use crate::{B, a};"}
    assert circles(module_circles, tmp_path, files) == []
    assert module_circles.graph(tmp_path)["b"] == {"a"}
    assert circles(module_circles, tmp_path, files | {"a.rs": "use crate::Own;"}) == [{"a", "b", "lib"}]
    assert circles(module_circles, tmp_path, files | {"a.rs": "use crate::b::C;"}) == [{"a", "b"}]


def test_one_way_imports_tests_and_comments_are_no_circle(module_circles, tmp_path):
    files = {
        "lib.rs": "",
        "a.rs": "use crate::b::B;",
        "b.rs": "// crate::a::A\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n",
        "b_test.rs": "use crate::a::A;",
    }
    assert circles(module_circles, tmp_path, files) == []


def test_files_of_c_use_what_others_define(module_circles, tmp_path):
    (tmp_path / "q").mkdir()
    (tmp_path / "q" / "low.c").write_text("static int own(void)\n{\n}\nconst struct ops low_ops = {\n};\n/* high() */")
    high = tmp_path / "q" / "high.c"
    high.write_text(
        "static int own(void)\n{\n}\nint __init high(struct a *a,\n\t int b)\n{\n\treturn a->o == &low_ops;\n}\n"
    )
    assert module_circles.c_graph(tmp_path) == {"low": set(), "high": {"low"}}
    (tmp_path / "q" / "low.c").write_text("const struct ops low_ops = {\n\t.f = high,\n};\n")
    assert module_circles.circles(module_circles.c_graph(tmp_path)) == [{"low", "high"}]


def test_modules_of_python_import_each_other(module_circles, tmp_path, monkeypatch):
    package = tmp_path / "leowarp_in_a_circle"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "above.py").write_text("from leowarp_in_a_circle import below\n")
    (package / "below.py").write_text("def late() -> None:\n    from leowarp_in_a_circle.above import below\n")
    monkeypatch.syspath_prepend(tmp_path)
    imports = module_circles.python_graph(package.name)
    assert module_circles.circles(imports) == [{f"{package.name}.above", f"{package.name}.below"}]


def test_a_file_does_not_use_what_takes_the_place_of_its_own_weak_definition(module_circles, tmp_path):
    files = {
        "host/registers.c": "long ask(int what);\n"
        "__attribute__((weak)) long wrap(int what)\n{\n\treturn ask(what);\n}\n"
        "long ask(int what)\n{\n\treturn what;\n}\n",
        "host/shortcut.c": "long wrap(int what)\n{\n\treturn ask(what);\n}\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert module_circles.circles(module_circles.c_graph(tmp_path)) == []
    (tmp_path / "host" / "registers.c").write_text(files["host/registers.c"].replace("__attribute__((weak)) ", ""))
    assert module_circles.c_graph(tmp_path)["shortcut"] == {"registers"}


def test_a_file_does_not_need_a_function_that_may_not_be_there(module_circles, tmp_path):
    (tmp_path / "host").mkdir()
    declaration = "long ask(int what);\nlong shorter(int what) __attribute__((weak));\n"
    (tmp_path / "host" / "registers.h").write_text(declaration)
    (tmp_path / "host" / "registers.c").write_text(
        "long ask(int what)\n{\n\treturn what;\n}\n"
        "long wrap(int what)\n{\n\treturn (shorter ? shorter : ask)(what);\n}\n"
    )
    (tmp_path / "host" / "shortcut.c").write_text("long shorter(int what)\n{\n\treturn ask(what);\n}\n")
    assert module_circles.circles(module_circles.c_graph(tmp_path)) == []
    (tmp_path / "host" / "registers.h").write_text(declaration.replace(" __attribute__((weak))", ""))
    assert module_circles.circles(module_circles.c_graph(tmp_path)) == [{"registers", "shortcut"}]
