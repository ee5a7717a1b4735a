// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where Linux 6.12 needs floating-point registers that shortcut.c has put off reading.
 *
 * All that uses thread.regs.regs.fp, by `grep -rnE 'regs(\.|->)fp' arch/um arch/x86/um`, and fork():
 *	userspace()			by ptrace
 *	copy_sc_to_user()		a signal frame: below
 *	copy_sc_from_user()		sigreturn    \
 *	flush_thread()			exec	      } system calls after which nothing is put off (is_plain() in shortcut.c)
 *	arch_dup_task_struct()		fork, clone  /
 * and a task may end while something is owed to it, by a signal in a system call: below.
 *
 * A kernel other than 6.12 may use them elsewhere, and is linked without this file: build.sh.
 */
#include <linux/sched.h>
#include <linux/signal.h>
#include <linux/thread_info.h>
#include <asm/ptrace.h>
#include <frame_kern.h>

#include "owed.h"

const char leowarp_owed_is_paid = 1;

/* The kernel's own function: a name that build.sh gives it beside its own, which it makes weak */
int leowarp_kernels_setup_signal_stack_si(unsigned long stack_top, struct ksignal *ksig, struct pt_regs *regs,
					  sigset_t *mask);

int setup_signal_stack_si(unsigned long stack_top, struct ksignal *ksig, struct pt_regs *regs, sigset_t *mask)
{
	leowarp_pay_owed(regs->regs.fp);
	return leowarp_kernels_setup_signal_stack_si(stack_top, ksig, regs, mask);
}

/* In place of a weak function of kernel/fork.c that does nothing: the task's memory is freed next */
void arch_release_task_struct(struct task_struct *task)
{
	leowarp_forget_owed(task, sizeof(*task));
}
