# SPDX-License-Identifier: Apache-2.0
"""Compare the default kernel with the kernel `stock`, which has neither leowarp's links nor leowarp's clock. netem
emulates the links in both kernels.

python tools/stock.py            every case, and the table of docs/accuracy.md
python tools/stock.py --check status 1: a difference is larger than its tolerance; the page stays unchanged
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import leowarp as lw

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "accuracy.md"
BEGIN, END = "<!-- stock: begin -->\n", "<!-- stock: end -->"
NETEM = {"network.link_model": "netem"}
MADRID_TOKYO = {**NETEM, "run.duration": "60 s"}
CASES: dict[str, tuple[str, Mapping[str, Any]]] = {
    "chain, CUBIC and a ping": ("chain", {**NETEM, "run.duration": "30 s"}),
    "Madrid-Tokyo, CUBIC": ("two-changes", MADRID_TOKYO),
    "Madrid-Tokyo, Reno": ("two-changes", {**MADRID_TOKYO, "flows.0.congestion_control": "reno"}),
    "Madrid-Tokyo, BBR": ("two-changes", {**MADRID_TOKYO, "flows.0.congestion_control": "bbr"}),
    "the emulator's links, CUBIC": ("madrid-tokyo-emulator", {"run.duration": "60 s"}),
    "a transfer without jitter": ("jittered-transfer", {"jittered.jitter": "0 ms", "observe.truth": True}),
    # The example's rate of 8235 pkts/s would fill the link. The delays of all timers would then add up in tbf's queue.
    "a probe with jitter": ("jittered-probe", {"run.duration": "30 s", "flows.0.interval": "250 us"}),
}
"""The examples, each with replacements for some of its keys."""


@dataclass(frozen=True)
class Quantity:
    """A scalar of a flow, and the largest difference that is allowed between the two kernels.

    scalar: The name of the scalar in the flow's part of summary.json.
    scale: The scalar is printed in a unit that is `scale` times the scalar's own unit.
    absolute: The largest allowed difference, in the scalar's unit.
    ratio: The largest allowed difference, as a share of the value with the default kernel. A difference is allowed if
        it is within `absolute` or within `ratio`.
    """

    scalar: str
    label: str
    unit: str
    scale: float
    absolute: float
    ratio: float

    def tolerance(self, value: float) -> float:
        return max(self.absolute, self.ratio * abs(value))


QUANTITIES = (
    Quantity("owd_min_ns", "least delay", "us", 1e3, 20_000, 0),
    Quantity("owd_p50_ns", "median delay", "ms", 1e6, 1_000_000, 0.02),
    Quantity("goodput_mean_bps", "goodput", "Mbit/s", 1e6, 0, 0.02),
    Quantity("delivered_pkts", "packets delivered", "", 1, 0, 0.02),
    Quantity("lost_pkts", "packets lost", "", 1, 20, 0.2),
)


@dataclass(frozen=True)
class Row:
    """A scalar of a flow. It has a value under the default kernel and a value under the stock kernel."""

    case: str
    flow: int
    quantity: Quantity
    default: float
    stock: float

    def holds(self) -> bool:
        return abs(self.stock - self.default) <= self.quantity.tolerance(self.default)

    def cells(self) -> str:
        values = (self.default, self.stock, self.quantity.tolerance(self.default))
        shown = [f"{value / self.quantity.scale:,.3f}".rstrip("0").rstrip(".") for value in values]
        cells = [f"{self.case}, flow {self.flow}", self.quantity.label, *(f"{s} {self.quantity.unit}" for s in shown)]
        return f"| {' | '.join(cell.rstrip() for cell in cells)} |"


def rows(case: str) -> Iterator[Row]:
    """Yield the scalars of `QUANTITIES` for all flows of a case, with the values under both kernels."""
    example, changes = CASES[case]
    flows = {}
    for kernel in ("default", "stock"):
        with tempfile.TemporaryDirectory(prefix="leowarp-stock-") as scratch:
            scenario = ROOT / "examples" / f"{example}.toml"
            run = lw.run(scenario, changes, Path(scratch) / "run", kernel=kernel, report=False, progress=False)
            flows[kernel] = run.summary["flows"]
    for default, stock in zip(flows["default"], flows["stock"], strict=True):
        for quantity in QUANTITIES:
            values: list[Any] = [flow.get(quantity.scalar) for flow in (default, stock)]
            if values != [None, None]:
                yield Row(case, default["flow"], quantity, *values)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    found = [row for case in CASES for row in rows(case)]
    lines = ["| case | quantity | default | stock | may differ by |", "|---|---|---:|---:|---:|"]
    lines += [row.cells() for row in found]
    print("\n".join(lines))
    if not check:
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        PAGE.write_text(before + BEGIN + "\n".join(lines) + "\n" + END + rest.split(END)[1], encoding="utf-8")
    wrong = [row for row in found if not row.holds()]
    for row in wrong:
        print(f"{row.case}, flow {row.flow}: {row.quantity.scalar}: {row.default} by default, {row.stock} by stock")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
