// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kernel loop that waits for another task must not stop virtual time.
 *
 * Before working on this file read __cond_resched of kernel/sched/core.c and shrink_dcache_parent of fs/dcache.c.
 *
 * Long kernel loops call cond_resched() once per turn (iteration), and the scheduler preempts them at a tick. Some
 * loops end only after another task has run. shrink_dcache_parent, which frees the /proc entries of a process that has
 * ended, repeats until no other task is freeing one of them. Computing takes no virtual time, so the tick never comes.
 *
 * Rule: after TURNS turns within one system call, at one instant and without a context switch, the task sleeps for 1
 * us. Meanwhile all other runnable tasks run, whatever their priority. Ordinary long work has turns, too: a write has
 * one per 4 KiB. design/clock.md gives the largest number of turns ever counted.
 *
 * Linked with --wrap=__cond_resched (guest/build.sh).
 */
#include <linux/hardirq.h>
#include <linux/hrtimer.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/sched.h>
#include <linux/time-internal.h>
#include "clock.h"

#define TURNS	10000

/* The number of system calls that programs have made: the first word of a structure in host/registers.c */
extern unsigned long long leowarp_calls;

int __real___cond_resched(void);
int __wrap___cond_resched(void);

/*
 * Before the first program starts, there is no task to wait for. A task may have marked itself as waiting before it
 * calls cond_resched (do_wait does). The task then resumes as after a spurious wakeup, which every waiting task has to
 * expect.
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
