// SPDX-License-Identifier: GPL-2.0-only
/*
 * Places where Linux 6.12 needs floating-point registers that shortcut.c has not read yet.
 *
 * All uses of thread.regs.regs.fp, found by `grep -rnE 'regs(\.|->)fp' arch/um arch/x86/um`, and fork():
 *	userspace()			ptrace
 *	copy_sc_to_user()		a signal frame: below
 *	copy_sc_from_user()		sigreturn    \
 *	flush_thread()			exec	      } system calls after which nothing is put off (is_plain() in shortcut.c)
 *	arch_dup_task_struct()		fork, clone  /
 * Also, a signal in a system call may end a task while registers are owed to it: below.
 *
 * Other kernels than 6.12 may use these registers elsewhere, and are linked without this file (build.sh).
 */
#include <linux/sched.h>
#include <linux/signal.h>
#include <linux/thread_info.h>
#include <asm/ptrace.h>
#include <frame_kern.h>

#include "owed.h"

const char leowarp_owed_is_paid = 1;

/* The kernel's own function, under a second name that build.sh gives it; build.sh makes the original name weak */
int leowarp_kernels_setup_signal_stack_si(unsigned long stack_top, struct ksignal *ksig, struct pt_regs *regs,
					  sigset_t *mask);

int setup_signal_stack_si(unsigned long stack_top, struct ksignal *ksig, struct pt_regs *regs, sigset_t *mask)
{
	leowarp_pay_owed(regs->regs.fp);
	return leowarp_kernels_setup_signal_stack_si(stack_top, ksig, regs, mask);
}

/* Replaces a weak function of kernel/fork.c that does nothing: the task's memory is freed next */
void arch_release_task_struct(struct task_struct *task)
{
	leowarp_forget_owed(task, sizeof(*task));
}
