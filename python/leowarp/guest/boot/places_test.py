# SPDX-License-Identifier: Apache-2.0
import pytest

from leowarp.guest.boot.places import fault_in

# Output of the kernel's show_regs, with the lines that guest/faults/where.c adds.
REGISTERS = """\
Modules linked in: mine(O)
Pid: 0, comm: swapper Tainted: G           O       6.12.117
RIP: 0033:{rip}
RSP: 00000000604a3a28  EFLAGS: 00000202
"""
TRACE = """\
Call Trace:
 [<602783f5>] ? tcp_enter_recovery+0x125/0x1e0
 [<a0c0b014>] ? my_ssthresh+0x14/0x20 [mine]
 [<a0c0b030>] ? my_other+0x4/0x20 [mine]
"""


@pytest.mark.parametrize(
    ("console", "described", "culprit"),
    [
        (REGISTERS.format(rip="my_ssthresh+0x14/0x20 [mine]"), "in my_ssthresh of the module mine", "mine"),
        (REGISTERS.format(rip="tcp_slow_start+0x7/0x80"), "in tcp_slow_start, with the module mine loaded", None),
        (REGISTERS.format(rip="tcp_ack.constprop.0+0x7/0x80"), "in tcp_ack, with the module mine loaded", None),
        (REGISTERS.format(rip="tcp_slow_start+0x7/0x80") + TRACE,
         "in tcp_slow_start, with my_ssthresh of the module mine in its call trace", "mine"),
        (REGISTERS.format(rip="0x0") + TRACE,
         "at 0x0, where no function is, with my_ssthresh of the module mine in its call trace", "mine"),
        (REGISTERS.format(rip="\ufffd"),
         "in a place that it could not print: its stack overflowed, or memory was overwritten, "
         "with the module mine loaded", None),
        # The first of the two faults is reported, because it caused the second fault.
        (REGISTERS.format(rip="my_ssthresh+0x14/0x20 [mine]") + REGISTERS.format(rip="panic+0x1/0x2"),
         "in my_ssthresh of the module mine", "mine"),
        ("BUG: failure at mine.c:9/my_ssthresh()!\n", "at mine.c:9 in my_ssthresh of the module mine", "mine"),
        ("BUG: failure at net/ipv4/tcp.c:9/tcp_close()!\n",
         "at net/ipv4/tcp.c:9 in tcp_close, with the module mine loaded", None),
    ],
)  # fmt: skip
def test_a_fault_is_told_by_function_and_module(console, described, culprit):
    fault = fault_in(console, ["mine"])
    assert fault is not None
    assert fault.described(["mine"]) == described
    assert fault.culprit == culprit


def test_a_kernel_that_printed_nothing_of_it_has_no_fault():
    assert fault_in("Kernel panic - not syncing: Kernel mode signal 8\n" + TRACE, ["mine"]) is None
