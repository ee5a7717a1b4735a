// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long a timer is rounded to does not hang on whether another one has just expired.
 *
 * Before working on this file read __run_timers and calc_wheel_index of kernel/time/timer.c: the wheel's own time is that of
 * jiffies, or one tick ahead of it for the rest of a tick in which a timer expired. By it a timer's level is chosen, and with
 * the level the ticks it is rounded to. Timers of the kernel's housekeeping (tcp_orphan_update: each 104 ticks) outlive a
 * run, and stand in another phase to each run of a boot: a retransmission timer of 504 ms came 8 ms earlier in the runs in
 * which one of them had expired in the tick in which it was set (tests/guest/timers_test.py).
 *
 * So the wheel is one tick ahead always, as soon as a tick has nothing left to expire.
 *
 * Linked with --wrap=update_process_times; timer_bases is made global in timer.o (guest/build.sh).
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

/* As much of kernel/time/timer.c's as is used here; one for all timers, without CONFIG_NO_HZ_COMMON and on one processor */
struct timer_base {
	raw_spinlock_t lock;
	struct timer_list *running_timer;
	unsigned long clk;
	unsigned long next_expiry;
};
extern struct timer_base timer_bases;

#if defined(CONFIG_NO_HZ_COMMON) || defined(CONFIG_PREEMPT_RT) || defined(CONFIG_SMP)
#error "timer bases are others"
#endif

void __real_update_process_times(int user_tick);
void __wrap_update_process_times(int user_tick);

/* Each tick, in the interrupt; what is due now the softirq expires after it, and it goes one tick ahead by itself */
void __wrap_update_process_times(int user_tick)
{
	unsigned long ahead = jiffies + 1;

	__real_update_process_times(user_tick);
	raw_spin_lock(&timer_bases.lock);
	if (time_after(ahead, timer_bases.clk) && time_after_eq(timer_bases.next_expiry, ahead))
		timer_bases.clk = ahead;
	raw_spin_unlock(&timer_bases.lock);
}
