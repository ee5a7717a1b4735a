// SPDX-License-Identifier: GPL-2.0-only
/*
 * Some kernel loops wait for another task. This file prevents such a loop from stopping virtual time.
 *
 * Before working on this file, read __cond_resched of kernel/sched/core.c and shrink_dcache_parent of fs/dcache.c.
 *
 * Long loops in the kernel call cond_resched() once per iteration (a turn). During a call of cond_resched(), another
 * task runs only if a tick of the scheduler has occurred. Some loops end only after another task has run. An example is
 * shrink_dcache_parent, which frees the /proc entries of an ended process. It repeats its loop until no other task is
 * freeing one of these entries. The iterations take no virtual time, so the tick that would let the other task run
 * never occurs.
 *
 * Rule: if a task makes TURNS turns within one system call, at one instant and without a context switch, it sleeps for
 * 1 us. During the sleep, all other runnable tasks run, whatever their priority. The limit is high because ordinary
 * long work also calls cond_resched() many times without waiting for another task. A write, for example, calls
 * cond_resched() once per 4 KiB. design/clock.md states the largest number of turns that was ever counted.
 *
 * The kernel is linked with --wrap=__cond_resched (guest/build.sh).
 */
#include <linux/hardirq.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/time-internal.h>
#include "clock.h"

#define TURNS	10000

/*
 * Number of system calls that programs have made. `leowarp_calls` is the first word of struct leowarp_calls in
 * host/registers.c
 */
extern unsigned long long leowarp_calls;

int __real___cond_resched(void);
int __wrap___cond_resched(void);

/*
 * Before the first program starts, the kernel never sleeps here, because there is no task yet that a loop could wait
 * for. A task may already have marked itself as waiting when it calls cond_resched (do_wait does so). The sleep in
 * cond_resched ends the wait of this task like a spurious wakeup. Every waiting task must expect spurious wakeups.
 */
static bool may_sleep(void)
{
	unsigned int state = READ_ONCE(current->__state);

	return time_travel_mode == TT_MODE_INFCPU && system_state == SYSTEM_RUNNING && !irqs_disabled() && !in_interrupt() &&
	       !is_idle_task(current) && (state == TASK_RUNNING || state & TASK_NORMAL);
}

int __wrap___cond_resched(void)
{
	static struct row {
		const struct task_struct *task;
		unsigned long switches;
		unsigned long long instant_ns, call;
		unsigned int turns;
	} row;
	unsigned long switches = current->nvcsw + current->nivcsw;
	ktime_t nap = ns_to_ktime(NSEC_PER_USEC);

	if (__real___cond_resched())
		return 1;
	if (row.task != current || row.switches != switches || row.instant_ns != time_travel_time || row.call != leowarp_calls)
		row = (struct row){ current, switches, time_travel_time, leowarp_calls, 0 };
	if (++row.turns < TURNS || !may_sleep())
		return 0;
	set_current_state(TASK_UNINTERRUPTIBLE);
	schedule_hrtimeout(&nap, HRTIMER_MODE_REL);
	return 1;
}
