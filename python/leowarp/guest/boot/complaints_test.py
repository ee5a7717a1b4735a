# SPDX-License-Identifier: Apache-2.0
import pytest

from leowarp.guest.boot.complaints import MOST_SENTENCES, Complaints

S = 1_000_000_000
# The text below is output of Linux 6.12.
TRACE = """\
Modules linked in: mine(O)
CPU: 0 UID: 0 PID: 0 Comm: swapper Tainted: G           O       6.12.117 #1
Call Trace:
 [<602e2297>] ? dump_stack+0xe/0x13
 [<6003a12c>] ? __warn+0x105/0x107
 [<60278038>] ? tcp_cwnd_reduction+0x128/0x130
"""
IN_TCP = f"""\
------------[ cut here ]------------
WARNING: CPU: 0 PID: 0 at include/net/tcp.h:1322 tcp_cwnd_reduction+0x128/0x130
{TRACE}---[ end trace 0000000000000000 ]---
"""
IN_MODULE = f"""\
WARNING: CPU: 0 PID: 7 at mine.c:9 my_ssthresh+0x38/0x42 [mine]
window is 304
{TRACE} [<a0c0b038>] ? my_ssthresh+0x38/0x42 [mine]
---[ end trace 0000000000000000 ]---
"""
BY_MODULE = f"""\
WARNING: CPU: 0 PID: 0 at lib/refcount.c:31 refcount_warn_saturate+0x11d/0x159
refcount_t: decrement hit 0; leaking memory.
{TRACE} [<a0c0b044>] ? my_ssthresh+0x44/0x6b [mine]
 [<a0c0c000>] ? not_the_first+0x1/0x2 [mine]
"""
AFTER = "; its state may be wrong from there on: see guest-console.txt"


def sentences(
    text: str, at_s: float = 11.187, start_ns: int | None = 10 * S, loaded: tuple[str, ...] = ("mine",)
) -> list:
    complaints = Complaints(list(loaded))
    complaints.start_ns = start_ns
    for line in text.splitlines():
        complaints.hear(f"[{at_s:12.6f}] {line}")
    return complaints.sentences()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (IN_TCP, "a warning at 1.187 s: include/net/tcp.h:1322 in tcp_cwnd_reduction, with the module mine loaded"),
        (IN_MODULE, 'a warning at 1.187 s: mine.c:9 in my_ssthresh of the module mine ("window is 304")'),
        (BY_MODULE, "a warning at 1.187 s: lib/refcount.c:31 in refcount_warn_saturate (\"refcount_t: decrement hit 0; "
         'leaking memory."), with my_ssthresh of the module mine in its call trace'),
        # The next case has the form of a WARNING in Linux 6.17 and later.
        ("WARNING: net/ipv4/tcp.c:2 at tcp_close+0x1/0x2, CPU#0: iperf3/7\n",
         "a warning at 1.187 s: net/ipv4/tcp.c:2 in tcp_close, with the module mine loaded"),
        ("WARNING: CPU: 0 PID: 0 at tcp_close+0x1/0x2\n", "a warning at 1.187 s: in tcp_close, with the module mine"),
        (f"BUG: scheduling while atomic: swapper/0/0x00000100\n{TRACE} [<a0c0b015>] ? my_ssthresh+0x15/0x1f [mine]\n",
         "an error at 1.187 s: BUG: scheduling while atomic: swapper/0/0x00000100, with my_ssthresh of the module"),
        ("watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [iperf3:7]\n", "an error at 1.187 s: watchdog: BUG: soft"),
        ("INFO: task kworker/0:1:9 blocked for more than 120 seconds.\n", "an error at 1.187 s: INFO: task kworker"),
        ("rcu: INFO: rcu_sched self-detected stall on CPU\n", "an error at 1.187 s: rcu: INFO: rcu_sched"),
        ("UBSAN: array-index-out-of-bounds in mine.c:7:3\n", "an error at 1.187 s: UBSAN: array-index-out-of-bounds"),
        ("unregister_netdevice: waiting for v3 to become free. Usage count = 2\n", "an error at 1.187 s: unregister_"),
        ("iperf3: page allocation failure: order:3, mode:0x40cc0(GFP_KERNEL)\n", "an error at 1.187 s: iperf3: page"),
        ("bad: scheduling from the idle thread!\n", "an error at 1.187 s: bad: scheduling"),
        ("WARNING: suspicious RCU usage\n", "an error at 1.187 s: WARNING: suspicious RCU usage"),
    ],
)  # fmt: skip
def test_a_complaint_is_a_sentence_that_names_place_time_and_module(text, says):
    (told,) = sentences(text)
    assert told.startswith(f"the guest's kernel printed {says}")
    assert told.endswith(AFTER)


def test_without_a_module_none_is_named():
    (told,) = sentences(IN_TCP, loaded=())
    assert (
        told == f"the guest's kernel printed a warning at 1.187 s: include/net/tcp.h:1322 in tcp_cwnd_reduction{AFTER}"
    )


# Output of normal runs with modules (`loglevel=7`), and lines that contain words of complaints but are no complaints.
HONEST = """\
Unknown kernel command line parameters "mem=1024M hostfs=/proc/self/cwd", will be passed to user space.
epollctl add err fd 6, Operation not permitted
This architecture does not have kernel memory protection.
mine: loading out-of-tree module taints kernel.
printk: legacy console [stderr0] disabled
TCP: request_sock_TCP: Possible SYN flooding on port 5001. Sending cookies.
mine: a warning: 7, no BUG, some INFO: here
refcount_t: what only a warning is followed by
Tainted: [W]=WARN, [O]=OOT_MODULE
reboot: Power down
"""


def test_what_honest_runs_print_is_no_complaint():
    assert sentences(HONEST) == []
    complaints = Complaints([])
    # The lines below are output of the agent and of programs, not of the kernel's log.
    for line in ("WARNING: CPU: 0 PID: 0 at x.c:1 f+0x1/0x2", 'leowarp: {"t_ns": 1}', "BUG: not the kernel's", ""):
        complaints.hear(line)
    assert complaints.sentences() == []


def test_one_place_is_one_sentence_with_how_often_and_since_when():
    (told,) = sentences(IN_MODULE * 1200)
    assert "printed a warning 1,200 times, first at 1.187 s: mine.c:9" in told
    # Complaints whose texts differ only in numbers count as one kind.
    texts = "".join(f"unregister_netdevice: waiting for v3 to become free. Usage count = {n}\n" for n in range(3))
    (told,) = sentences(texts)
    assert (
        "an error 3 times, first at 1.187 s: unregister_netdevice: waiting for v3 to become free. Usage count = 0"
        in told
    )


def test_many_kinds_are_counted_and_not_listed():
    told = sentences("".join(f"WARNING: CPU: 0 PID: 0 at mine.c:{n} f+0x1/0x2 [mine]\n" for n in range(9)))
    assert len(told) == MOST_SENTENCES + 1
    assert told[-1].startswith(f"the guest's kernel printed {9 - MOST_SENTENCES} more kinds of warnings and errors")


def test_a_text_is_that_of_its_own_warning():
    first, second = sentences(IN_TCP + "mine: something else\n" + IN_MODULE)
    assert '"' not in first
    assert '("window is 304")' in second


def test_what_is_printed_later_is_no_part_of_a_complaint():
    complaints = Complaints([])
    complaints.start_ns = 10 * S
    lines = ["WARNING: CPU: 0 PID: 0 at net/ipv4/tcp.c:2 f+0x1/0x2", "reboot: Power down", "[<a0>] ? g+0x1/0x2 [mine]"]
    for second, line in enumerate(lines):
        complaints.hear(f"[   {11 + second}.000000] {line}")
    (told,) = complaints.sentences()
    assert told == f"the guest's kernel printed a warning at 1.000 s: net/ipv4/tcp.c:2 in f{AFTER}"


@pytest.mark.parametrize(
    ("at_s", "start_ns", "when"),
    [
        (9.5, 10 * S, "before the run's start"),
        (3.0, None, "before the run's start"),
        (10.0, 10 * S, "at 0.000 s"),
        (12.25, 12 * S, "at 0.250 s"),
    ],
)
def test_a_complaint_has_the_run_s_time(at_s, start_ns, when):
    (told,) = sentences(IN_TCP, at_s, start_ns)
    assert f"a warning {when}: include" in told
