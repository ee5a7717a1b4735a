// SPDX-License-Identifier: GPL-2.0-only
/*
 * Handles the places where Linux 6.12 needs floating-point registers that shortcut.c has not read yet.
 *
 * The following functions use thread.regs.regs.fp (grep -rnE 'regs(\.|->)fp' arch/um arch/x86/um), and so does fork():
 *	userspace()			ptrace
 *	copy_sc_to_user()		writes a signal frame: handled below
 *	copy_sc_from_user()		sigreturn    \
 *flush_thread()			exec	 } after these system calls, reads are not postponed (is_plain() in
 *shortcut.c) arch_dup_task_struct()		fork, clone / In addition, a signal in a system call may end a task
 *while registers are owed to it. The function arch_release_task_struct below handles this case.
 *
 * Kernels other than 6.12 may use these registers in other places. Other kernels are linked without this file
 * (build.sh).
 */
#include <linux/sched.h>
#include <linux/signal.h>
#include <linux/thread_info.h>
#include <asm/ptrace.h>
#include <frame_kern.h>

#include "owed.h"

const char leowarp_owed_is_paid = 1;

/* The kernel's own function. build.sh gives it a second name, and makes the original name weak */
int leowarp_kernels_setup_signal_stack_si(unsigned long stack_top, struct ksignal *ksig, struct pt_regs *regs,
					  sigset_t *mask);

int setup_signal_stack_si(unsigned long stack_top, struct ksignal *ksig, struct pt_regs *regs, sigset_t *mask)
{
	leowarp_pay_owed(regs->regs.fp);
	return leowarp_kernels_setup_signal_stack_si(stack_top, ksig, regs, mask);
}

/*
 * Replaces a weak function of kernel/fork.c that does nothing. After a call of this function, the task's memory is
 * freed
 */
void arch_release_task_struct(struct task_struct *task)
{
	leowarp_forget_owed(task, sizeof(*task));
}
