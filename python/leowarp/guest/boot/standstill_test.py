# SPDX-License-Identifier: Apache-2.0
from leowarp.guest.boot.places import fault_in
from leowarp.guest.boot.standstill import Patience, Sample, Standstill, message_and_hint_of_kernel
from leowarp.guest.machine.system_calls import Calls

PATIENCE = Patience(frozen_cpu_s=10, asleep_s=100, silent_virtual_s=1000)
S = 1_000_000_000


def judged(samples: list[tuple[float, float, int | None, int | None]]) -> list[str | None]:
    standstill = Standstill(PATIENCE)
    return [standstill.judge(Sample(*sample[:2], clock_ns=sample[2], heard_ns=sample[3])) for sample in samples]


def test_a_clock_that_moves_is_no_standstill():
    assert judged([(t, t, 3 * t * S, 3 * t * S) for t in range(300)]) == [None] * 300


def test_a_frozen_clock_counts_processor_time_not_wall_time():
    # The guest waits for a long real time, and then uses a little processor time. Only the processor time counts
    # towards `frozen_cpu_s`.
    assert judged([(0, 0, S, None), (90, 5, S, None), (95, 9.9, S, None)]) == [None] * 3
    assert "virtual time stopped at 1 s after boot" in judged([(0, 0, S, None), (9, 10.1, S, None)])[-1]


def test_a_guest_that_sleeps_and_uses_no_processor_time():
    assert "slept for 101 s" in judged([(0, 1, S, None), (101, 1, S, None)])[-1]
    assert judged([(0, 1, S, None), (99, 1, S, None), (101, 1.01, S, None), (200, 1.01, S, None)]) == [None] * 4


def test_a_guest_that_gets_no_processor_is_not_stuck():
    # For a day of samples, the guest neither gets processor time nor sleeps.
    assert judged([(7, 1, S, None)] * 86_400) == [None] * 86_400


def test_an_agent_that_is_silent_for_long():
    samples = [(1, 1, S, S), (2, 2, 1002 * S, S)]
    assert "said nothing for 1000 virtual seconds" in judged(samples)[-1]
    assert judged([(1, 1, S, S), (2, 2, 1002 * S, 900 * S)]) == [None, None]


def test_without_a_clock_the_words_of_the_agent_stand_for_it():
    assert judged([(0, 0, None, S), (9, 9, None, 2 * S), (18, 18, None, 3 * S)]) == [None] * 3
    assert "virtual time stopped" in judged([(0, 0, None, S), (9, 10.1, None, S)])[-1]


def is_in_kernel(samples: list[tuple[float, float, int, int | None]]) -> bool | None:
    """Return `Standstill.is_in_kernel` after these samples. A sample is (total processor time, processor time in the
    kernel, virtual time, number of system calls)."""
    standstill = Standstill(PATIENCE)
    for cpu_s, kernel_cpu_s, clock_ns, count in samples:
        calls = None if count is None else Calls(count, ())
        standstill.judge(Sample(0, cpu_s, kernel_cpu_s, clock_ns, calls=calls))
    return standstill.is_in_kernel


def test_a_kernel_that_computes_is_no_program_that_computes_or_calls_it_again_and_again():
    assert is_in_kernel([(t, t, S, 7) for t in range(12)])
    # The kernel's loop uses most of the processor time; a stopped process uses none.
    assert is_in_kernel([(t, 0.9 * t, S, 7) for t in range(12)])
    assert not is_in_kernel([(t, 0, S, 7) for t in range(12)])
    assert not is_in_kernel([(t, t, S, 7 + t) for t in range(12)])
    assert not is_in_kernel([(t, t, t * S, 7) for t in range(12)])
    # The program made the eighth call before it began to compute.
    assert is_in_kernel([(0, 0, S, 7), *((t, t, S, 8) for t in range(1, 12))])
    # In the first two lines below, the kernel does not record system calls. In the third line, the clock advances
    # without a message of the agent.
    assert is_in_kernel([(t, t, S, None) for t in range(12)]) is None
    assert is_in_kernel([(t, 0, S, None) for t in range(12)]) is False
    assert is_in_kernel([(t, t, 200 * t * S, 7) for t in range(12)]) is None


def test_what_a_kernel_is_said_to_do_names_the_module_and_no_switch_of_programs():
    at = fault_in("RIP: 0033:my_ssthresh+0x14/0x20 [inf_loop]")
    message, hint = message_and_hint_of_kernel("virtual time stopped", at, ["inf_loop"])
    assert message.endswith("virtual time stopped; its kernel is in my_ssthresh of the module inf_loop")
    assert "the module inf_loop does not return from there" in hint
    message, hint = message_and_hint_of_kernel("virtual time stopped", fault_in("RIP: 0033:tcp_ack+0x1/0x2"), ["mine"])
    assert message.endswith("its kernel is in tcp_ack, with the module mine loaded")
    assert "what your module may have left in disorder" in hint
    for fault in (None, fault_in("RIP: 0033:tcp_ack+0x1/0x2")):
        assert "report it" in message_and_hint_of_kernel("virtual time stopped", fault, [])[1]
