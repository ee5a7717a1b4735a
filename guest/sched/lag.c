// SPDX-License-Identifier: GPL-2.0-only
/*
 * A run begins with nobody owed processor time by the scheduler.
 *
 * Before working on this file read place_entity and update_entity_lag of kernel/sched/fair.c: a task that sleeps keeps what
 * it had too little or too much of the processor (its lag), and is placed by it among those that wake with it. Tasks of the
 * kernel outlive a run. So ksoftirqd, with what it was owed since an earlier run of the boot, came before a reader that was
 * woken at the same instant instead of after it, a packet left 256 ns earlier, and others followed from it: 1 % of the runs
 * of a study hung on which runs had their boot before (tests/guest/batch_test.py).
 *
 * /proc/leolink/lag: whatever is written, the lag of every task that sleeps is 0 from now on. The agent writes there while
 * nothing else runs, shortly before the run's first instant.
 */
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/proc_fs.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>

static ssize_t lag_write(struct file *f, const char __user *from, size_t size, loff_t *pos)
{
	struct task_struct *process, *task;
	unsigned long flags;

	rcu_read_lock();
	/* On one processor nobody is woken meanwhile */
	local_irq_save(flags);
	for_each_process_thread(process, task)
		if (task != current && !task->on_rq)
			task->se.vlag = 0;
	local_irq_restore(flags);
	rcu_read_unlock();
	return size;
}

static const struct proc_ops lag_ops = { .proc_write = lag_write };

/* After leolink has made its directory */
static int __init lag_register(void)
{
	return proc_create("leolink/lag", 0200, NULL, &lag_ops) ? 0 : -ENOMEM;
}
late_initcall(lag_register);
