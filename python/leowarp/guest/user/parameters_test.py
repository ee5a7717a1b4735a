# SPDX-License-Identifier: Apache-2.0
import dataclasses
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leowarp.base.errors import ScenarioError
from leowarp.guest.user.parameters import Parameter, check_parameters, mistakes, parameters_in
from leowarp.scenario import Plan
from support.plans import plan as plan_with

# Layout of include/linux/moduleparam.h and include/linux/export.h.
LAYOUT = """
struct ops { void *set; };
struct array { unsigned int max, bytes; unsigned int *num; const struct ops *ops; void *elements; };
struct param {
    const char *name; void *module; const struct ops *ops; unsigned short mode; signed char level; unsigned char flags;
    const void *argument;
};
#define PARAM(id, prefix, name, operations, mode, argument) \\
    static const struct param param_##id __attribute__((used, aligned(8), section("__param"))) = \\
    { prefix #name, 0, operations, mode, -1, 0, argument };
static int value; static unsigned int values[4];
"""
PARAMS = """
static const struct array list = { 4, 4, 0, &param_ops_uint, values };
static const struct ops own = { 0 };
PARAM(a, PREFIX, gain, &param_ops_int, 0644, &value)
PARAM(b, PREFIX, steps, &param_array_ops, 0600, &list)
PARAM(c, PREFIX, fixed, &param_ops_bool, 0444, &value)
PARAM(d, PREFIX, special, &own, 0644, &value)
"""
EXTERN = "extern const struct ops param_ops_int, param_ops_uint, param_ops_bool, param_array_ops;\n"
EXPORTS = """
struct symbol { const void *address; const char *name, *space; };
#define EXPORT(id) const struct ops id = { 0 }; static const struct symbol symbol_##id \\
    __attribute__((used, aligned(8), section("__ksymtab"))) = { &id, #id, 0 };
EXPORT(param_ops_int) EXPORT(param_ops_uint) EXPORT(param_ops_bool) EXPORT(param_array_ops)
int main(void) { return 0; }
"""
DECLARED = {
    "gain": Parameter("int", 0o644),
    "steps": Parameter("uint", 0o600, most=4),
    "fixed": Parameter("bool", 0o444),
    "special": Parameter(None, 0o644),
}


def built(folder: Path, name: str, text: str, *flags: str) -> Path:
    (folder / "source.c").write_text(text)
    subprocess.run(["gcc", "-O1", "-o", folder / name, *flags, folder / "source.c"], check=True)
    return folder / name


def test_a_module_s_file_says_which_parameters_it_has(tmp_path):
    made = built(tmp_path, "mine.ko", f'#define PREFIX ""\n{LAYOUT}{EXTERN}{PARAMS}', "-c", "-fno-pic")
    assert parameters_in(made) == {"mine": DECLARED}


def test_a_module_without_parameters_has_none(tmp_path):
    assert parameters_in(built(tmp_path, "mine.ko", "int nothing;\n", "-c")) == {"mine": {}}


def test_a_stripped_kernel_says_which_parameters_its_modules_have(tmp_path):
    core = 'PARAM(e, "", panic, &param_ops_int, 0644, &value)\nPARAM(f, "other.", gain, &param_ops_bool, 0, &value)\n'
    text = f'#define PREFIX "tcp_mine."\n{LAYOUT}{EXPORTS}{PARAMS}{core}'
    made = built(tmp_path, "linux", text, "-no-pie", "-static", "-s")
    assert parameters_in(made) == {"tcp_mine": DECLARED, "other": {"gain": Parameter("bool", 0)}}


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(200), b"#!/bin/sh\n" * 99])
def test_a_kernel_that_cannot_be_looked_into_is_left_to_the_guest(tmp_path, content):
    (tmp_path / "linux").write_bytes(content)
    declared = parameters_in(tmp_path / "linux")
    assert declared == {}
    assert mistakes({"tcp_cubic": {"betta": "1"}}, declared) == []


@given(st.integers(-(1 << 70), 1 << 70), st.sampled_from([int, hex, lambda number: f"+{number}"]))
def test_whole_numbers_are_taken_if_they_fit(number, write):
    ranges = {
        "byte": (0, 255), "short": (-(2**15), 2**15 - 1), "ushort": (0, 2**16 - 1), "int": (-(2**31), 2**31 - 1),
        "uint": (0, 2**32 - 1), "hexint": (0, 2**32 - 1), "long": (-(2**63), 2**63 - 1), "ulong": (0, 2**64 - 1),
        "ullong": (0, 2**64 - 1),
    }  # fmt: skip
    if number < 0 and write not in (int, hex):
        return
    for kind, (least, most) in ranges.items():
        told = Parameter(kind, 0o644).refuses(str(write(number)))
        assert (told is None) == (least <= number <= most)
        if told is not None:
            assert told == f"a whole number from {least} to {most}"


@pytest.mark.parametrize(
    ("kind", "taken", "refused"),
    [
        # The kernel reads values of type uint with kstrtouint, radix 0.
        (
            "uint",
            ["0", "+7", "0x1F", "017", "4294967295"],
            ["", "-1", "08", "0x", "7 ", " 7", "1.5", "1e3", "fast", "1\u0663"],
        ),
        ("int", ["-7", "-0x7", "-0"], ["--7", "-", "+-7"]),
        # kstrtobool ignores all characters after the first one or two.
        ("bool", ["1", "0", "y", "N", "true", "False", "on", "OFF"], ["2", "o", "", "-1"]),
        ("invbool", ["y"], ["2"]),
        ("bint", ["y"], ["2"]),
        ("charp", ["anything, with commas"], []),
        ("string", ["anything"], []),
        (None, ["what only the module knows"], []),
    ],
)
def test_values_are_taken_as_the_kernel_takes_them(kind, taken, refused):
    parameter = Parameter(kind, 0o644)
    assert [value for value in taken if parameter.refuses(value) is not None] == []
    assert [value for value in refused if parameter.refuses(value) is None] == []


def test_an_array_takes_so_many_values_of_its_type():
    array = Parameter("uint", 0o644, most=3)
    assert array.refuses("1,2,0x3") is None
    assert array.refuses("1") is None
    assert array.refuses("1,2,3,4") == "at most 3 values, separated by commas"
    assert array.refuses("1,,3") == "values separated by commas, each a whole number from 0 to 4294967295"
    assert Parameter("bool", 0o644, most=2).refuses("1,2").startswith('values separated by commas, each "1" or "0"')
    assert str(array) == "up to 3 of uint"


KNOWN = {"printk": {"time": Parameter("bool", 0o644)}, "mine": DECLARED, "bare": {}}


@pytest.mark.parametrize(
    ("modules", "message", "hint"),
    [
        ({"mine": {"gian": "1"}}, "modules.mine.gian: the module mine has no parameter gian",
         'did you mean "gain"? it has: fixed (bool), gain (int), special (a type of its own), steps (up to 4 of uint)'),
        ({"bare": {"gain": "1"}}, "modules.bare.gain: the module bare has no parameter gain",
         "it has none: declare one with module_param(NAME, TYPE, 0644)"),
        ({"mine": {"gain": "much"}}, 'modules.mine.gain = "much": the module mine takes no such value for gain (int)',
         "write a whole number from -2147483648 to 2147483647"),
        ({"mine": {"fixed": "1"}}, "modules.mine.fixed: the module mine does not let fixed be written",
         "take it out, or declare it with module_param(fixed, bool, 0644)"),
        ({"mien": {}}, "modules.mien: this guest kernel has no module of this name with parameters",
         'did you mean "mine"? it has: mine, printk'),
    ],
)  # fmt: skip
def test_a_mistake_names_the_module_the_parameter_and_what_there_is(modules, message, hint):
    assert mistakes(modules, KNOWN) == [(message, hint)]


def test_all_mistakes_of_a_plan_are_one_error():
    def plan(**values: str) -> Plan:
        return dataclasses.replace(plan_with(), modules={"mine": values})

    check_parameters(plan(gain="7", steps="1,2", special="?"), KNOWN)
    with pytest.raises(ScenarioError) as one:
        check_parameters(plan(gain="much"), KNOWN)
    assert "takes no such value" in one.value.message
    assert "whole number" in one.value.hint
    with pytest.raises(ScenarioError, match=r"2 errors:\n.*gain.*\n.*steps") as two:
        check_parameters(plan(gain="much", steps="x"), KNOWN)
    assert two.value.hint is None
