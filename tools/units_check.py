# SPDX-License-Identifier: Apache-2.0
"""Check that conversions by powers of ten give the unit in the result's name: `python tools/units_check.py`.

The name of a quantity ends in its unit (CONTRIBUTING.md). The script finds, for example, that `start_s = start_ns /
1e6` is wrong, because 1e6 ns are not a second. The script checks each multiplication or division by a power of ten with
at least three zeros. The script also compares the units of the two sides of a sum, a difference or a comparison. If a
value is assigned, passed or returned, its unit is compared with the unit in the receiving name. This name belongs to a
variable, an attribute, an argument, a key, a column or the returning function. The unit of a number in a text is
compared with the unit that follows it.

Names without a unit are not checked. Exit status 1 means that units differ. The output names each of these lines.
"""

import ast
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Maps the last part of a name to its dimension and its power of ten.
ENDINGS = {
    "ns": ("time", -9), "us": ("time", -6), "ms": ("time", -3), "s": ("time", 0),
    "bps": ("rate", 0), "kbps": ("rate", 3), "mbps": ("rate", 6), "gbps": ("rate", 9),
    "m": ("length", 0), "km": ("length", 3),
    "bytes": ("size", 0), "kb": ("size", 3), "mb": ("size", 6), "gb": ("size", 9),
    "hz": ("frequency", 0), "khz": ("frequency", 3), "mhz": ("frequency", 6), "ghz": ("frequency", 9),
}  # fmt: skip
TEXTS = {
    "ns": ("time", -9), "us": ("time", -6), "ms": ("time", -3), "s": ("time", 0),
    "bit/s": ("rate", 0), "kbit/s": ("rate", 3), "Mbit/s": ("rate", 6), "Gbit/s": ("rate", 9),
    "km": ("length", 3), "kB": ("size", 3), "MB": ("size", 6), "GB": ("size", 9), "GHz": ("frequency", 9),
}  # fmt: skip
"""The units that the script recognises after a number in a text. Metres are left out, because `m` can also mean
minute."""
FOLLOWS = re.compile(r"\s?(" + "|".join(map(re.escape, TEXTS)) + r")(?![\w/])")
# Functions whose result has the unit of their first argument, or of the object on which they are called. The list
# cannot include all functions of numpy, because variances and products have other units.
SAME_UNIT_FUNCTIONS = frozenset((
    "abs", "float", "int", "max", "min", "round", "sorted", "sum", "floats", "list", "array", "asarray", "ceil",
    "floor", "diff", "mean", "median", "quantile", "percentile", "nanmean", "nanmedian", "append", "nanmax",
    "nanmin", "unique", "cumsum", "maximum", "minimum", "rint", "concatenate", "sort", "fsum", "Decimal", "float64",
    "int64",
))  # fmt: skip
SAME_UNIT_METHODS = frozenset((
    "to_numpy", "astype", "dropna", "max", "min", "mean", "median", "sum", "quantile", "item", "tolist", "round",
    "abs", "diff", "copy", "fillna", "first", "last", "to_list", "iloc", "loc", "values", "to_integral_value",
    "cumsum", "std",
))  # fmt: skip


@dataclass(frozen=True)
class Unit:
    """A unit, as a power of ten of its dimension's base unit. For time, the exponent -9 is a nanosecond.

    dimension: {"time", "rate", "length", "size", "frequency"}
    exponent: The unit is 10^exponent seconds, bits per second, metres, bytes or hertz.
    is_multiple: True for a multiple of the unit. Comparisons of units ignore this field.
    """

    dimension: str
    exponent: int
    is_multiple: bool = field(default=False, compare=False)
    """Whether the unit is multiplied by a number. Such a number may have its own dimension, such as 8 bits per byte."""


def unit_of_name(name: str) -> Unit | None:
    """Return the unit at the end of a name. None means that the name has no unit, a unit "per" another unit, or a power
    of a unit.

    Examples
    --------
    >>> unit_of_name("delay_ns"), unit_of_name("packets_per_s")
    (Unit(dimension='time', exponent=-9, is_multiple=False), None)
    """
    parts = name.lower().split("_")
    if len(parts) < 2 or parts[-1] not in ENDINGS or {"per", "bit", "kbit", "mbit", "gbit"}.intersection(parts):
        return None
    return Unit(*ENDINGS[parts[-1]])


def power_of_ten(node: ast.AST) -> int | None:
    """Return k if a node is the number 10^k with |k| at least 3, otherwise None.

    A smaller |k| may belong to a percentage or to a decimal number. leowarp's units differ by factors of 1000, so
    smaller powers are ignored.
    """
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and isinstance(node.left, ast.Constant):
        if node.left.value == 10 and isinstance(node.right, ast.Constant) and isinstance(node.right.value, int):
            return node.right.value
        return None
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool) or not isinstance(node.value, int | float):
        return None
    # The node's value is compared as a number, because 1e9 and 1_000_000_000 are the same factor.
    exponent = next((k for k in range(-12, 13) if node.value == 10**k), None)
    return exponent if exponent is not None and abs(exponent) >= 3 else None


def is_plain_number(node: ast.AST) -> bool:
    """Check whether a node is a factor without a unit. A factor without a unit is a number, or a name that ends in
    "ratio"."""
    match node:
        case ast.Constant(value=value):
            # 10 and 100 may be parts of a conversion, and large numbers are constants of nature, so only other numbers
            # are plain.
            return isinstance(value, int | float) and abs(value) < 100 and abs(value) != 10
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.lower().endswith("ratio")
    return False


class Checker(ast.NodeVisitor):
    """A checker for the faults of one file.

    faults: list of (int, str). The line number and description of each fault.
    conversions, compared: `conversions` is the number of checked conversions by powers of ten. `compared` is the number
        of checked pairs of units. A test uses both numbers to check that the script compares something.
    """

    def __init__(self) -> None:
        self.faults: list[tuple[int, str]] = []
        self.conversions = self.compared = 0
        self._functions: list[str] = []

    def unit(self, node: ast.AST | None) -> Unit | None:
        """Return the unit of an expression. The result is None if no name in the expression has a unit.

        A sum, a choice or a list has several parts. Its unit is the unit of the first part that has a unit.
        `visit_BinOp` and similar methods check that the other parts have the same unit.
        """
        match node:
            case ast.Name(id=name):
                return unit_of_name(name)
            case ast.Attribute(value=value, attr=name):
                return self.unit(value) if name in SAME_UNIT_METHODS else unit_of_name(name)
            case ast.Subscript(value=value, slice=ast.Constant(value=str(key))):
                return unit_of_name(key)
            case ast.Subscript(value=value, slice=ast.Tuple(elts=[_, ast.Constant(value=str(key))])):
                return unit_of_name(key)
            case ast.Subscript(value=value):
                return self.unit(value)
            case ast.UnaryOp(operand=operand):
                return self.unit(operand)
            case ast.IfExp(body=body, orelse=orelse):
                return self.unit(body) or self.unit(orelse)
            case ast.BoolOp(values=[first, *_]):
                return self.unit(first)
            case ast.GeneratorExp(elt=each) | ast.ListComp(elt=each):
                return self.unit(each)
            case ast.Call(func=ast.Name(id=name), args=[first, *_]) if name in SAME_UNIT_FUNCTIONS:
                return self.unit(first)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="np" | "math"), attr=name), args=[first, *_]):
                return self.unit(first) if name in SAME_UNIT_FUNCTIONS else None
            case ast.Call(func=ast.Attribute(value=value, attr=name)):
                return self.unit(value) if name in SAME_UNIT_METHODS else unit_of_name(name)
            case ast.Call(func=ast.Name(id=name)):
                return unit_of_name(name)
            case ast.BinOp(op=ast.Add() | ast.Sub(), left=left, right=right):
                return self.unit(left) or self.unit(right)
            case ast.BinOp(op=ast.Mult() | ast.Div() | ast.FloorDiv()):
                return self._product(node)
        return None

    def _product(self, node: ast.BinOp) -> Unit | None:
        """Return the unit of a product or quotient. A power of ten as a factor converts the unit. If the factor is
        another number, the result is a multiple of the unit."""
        by, of = power_of_ten(node.right), self.unit(node.left)
        if by is None and isinstance(node.op, ast.Mult):
            by, of = power_of_ten(node.left), self.unit(node.right)
        if by is None:
            return self._multiple(node)
        if of is None:
            return None
        if isinstance(node.op, ast.Mult):
            by = -by
        # If a number in units of 10^e is divided by 10^k, the result is in units of 10^(e + k).
        return replace(of, exponent=of.exponent + by)

    def _multiple(self, node: ast.BinOp) -> Unit | None:
        """Return the unit of a quantity that is multiplied or divided by a plain number. The unit does not change."""
        of = None
        if is_plain_number(node.right):
            of = self.unit(node.left)
        elif isinstance(node.op, ast.Mult) and is_plain_number(node.left):
            of = self.unit(node.right)
        return None if of is None else replace(of, is_multiple=True)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Count conversions, and compare the two sides of a sum or a difference."""
        if isinstance(node.op, ast.Mult | ast.Div | ast.FloorDiv):
            self.conversions += power_of_ten(node.right) is not None or power_of_ten(node.left) is not None
        if isinstance(node.op, ast.Add | ast.Sub):
            self._compare(node, self.unit(node.left), self.unit(node.right), "the two sides")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Check that neighbouring operands of a comparison have the same unit. `a_ns < b_ns < c_ns` has two pairs of
        neighbours."""
        for left, right in zip([node.left, *node.comparators], node.comparators, strict=False):
            self._compare(node, self.unit(left), self.unit(right), "the two sides")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Compare an assigned value with each name that receives it."""
        for target in node.targets:
            self._pair(target, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Compare an annotated assignment with its target."""
        self._pair(node.target, node.value)
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        """Compare an assignment expression with its target."""
        self._pair(node.target, node.value)
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        """Compare the unit of a keyword argument's value with the unit in the argument's name. `**given` has no
        name."""
        if node.arg is not None:
            self._compare(node.value, unit_of_name(node.arg), self.unit(node.value), f"the argument {node.arg}")
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        """If a dictionary's key is a text, compare the unit in the key with the unit of the value. Text keys are names
        of columns and scalars."""
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                self._compare(value, unit_of_name(key.value), self.unit(value), f"the key {key.value}")
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Remember the function to which the next `return` belongs. Functions can be nested."""
        self._functions.append(node.name)
        self.generic_visit(node)
        self._functions.pop()

    def visit_Return(self, node: ast.Return) -> None:
        """Compare the returned value with the function's name."""
        if self._functions and node.value is not None:
            name = self._functions[-1]
            self._compare(node, unit_of_name(name), self.unit(node.value), f"what {name} returns")
        self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Compare a number in a text with the unit that follows it."""
        for value, text in zip(node.values, node.values[1:], strict=False):
            if isinstance(value, ast.FormattedValue) and isinstance(text, ast.Constant):
                said = FOLLOWS.match(str(text.value))
                if said is not None:
                    self._compare(value, Unit(*TEXTS[said[1]]), self.unit(value.value), f'the text "{said[1]}"')
        self.generic_visit(node)

    def _pair(self, target: ast.AST, value: ast.AST | None) -> None:
        """Compare a target of an assignment with its value. Two tuples are compared element by element."""
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, its in zip(target.elts, value.elts, strict=True):
                self._pair(one, its)
        elif not isinstance(target, ast.Tuple | ast.List):
            self._compare(value or target, self.unit(target), self.unit(value), "what it is assigned to")

    def _compare(self, node: ast.AST, wanted: Unit | None, found: Unit | None, what: str) -> None:
        """Record a fault at a node if both units are known and differ."""
        # A multiple may have another dimension than its unit: bytes times 8 are bits, and bytes divided by a rate are a
        # time.
        if wanted is None or found is None:
            return
        if wanted.dimension != found.dimension and (wanted.is_multiple or found.is_multiple):
            return
        self.compared += 1
        if wanted != found:
            self.faults.append((node.lineno, f"{what}: {_said(wanted)} and {_said(found)}"))


def _said(unit: Unit) -> str:
    """Return the name of a unit in messages."""
    known = [text for text, facts in TEXTS.items() if facts == (unit.dimension, unit.exponent)]
    return known[0] if known else f"10^{unit.exponent} of {unit.dimension}"


def faults_of(text: str) -> tuple[list[tuple[int, str]], int, int]:
    """Return the faults of a file with their lines, the number of conversions, and the number of compared pairs of
    units.

    Examples
    --------
    >>> faults_of("start_s = start_ns / 1e6")
    ([(1, 'what it is assigned to: s and ms')], 1, 1)
    """
    checker = Checker()
    checker.visit(ast.parse(text))
    return checker.faults, checker.conversions, checker.compared


def sources() -> Iterator[Path]:
    """Yield every Python file of the package, of the tests, of design/ and of bench/."""
    for folder in ("python", "tests", "design", "bench"):
        yield from sorted((ROOT / folder).rglob("*.py"))


def main() -> int:
    """Check every file. Return 1 as the exit status if any file has a fault."""
    conversions = compared = wrong = 0
    for path in sources():
        faults, here, pairs = faults_of(path.read_text(encoding="utf-8"))
        conversions, compared, wrong = conversions + here, compared + pairs, wrong + len(faults)
        for line, text in faults:
            print(f"{path.relative_to(ROOT)}:{line}: units differ: {text}")
    print(f"units: {conversions} factors of powers of ten, {compared} pairs of units compared, {wrong} differ")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
