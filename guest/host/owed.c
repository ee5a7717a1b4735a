// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads postponed floating-point registers (shortcut.c) before Linux 6.12 uses them.
 *
 * The following functions use thread.regs.regs.fp (grep -rnE 'regs(\.|->)fp' arch/um arch/x86/um), and so does fork():
 *	userspace()			by ptrace; handled in shortcut.c
 *	copy_sc_to_user()		writes a signal frame; handled below
 *	copy_sc_from_user()		system call sigreturn; its reads are not postponed
 *	flush_thread()			system call exec; its reads are not postponed
 *	arch_dup_task_struct()		system calls fork and clone; their reads are not postponed
 * shortcut.c postpones reads only after the system calls in its is_plain(). A signal may end a task during such a
 * system call, while registers are owed to the task. The function arch_release_task_struct below handles this case.
 *
 * Other versions of Linux may use these registers in other places, so their kernels are linked without this file
 * (build.sh).
 */
#include <linux/sched.h>
#include <linux/signal.h>
#include <linux/thread_info.h>
#include <asm/ptrace.h>
#include <frame_kern.h>

#include "owed.h"

const char leowarp_owed_is_paid = 1;

/*
 * The kernel's setup_signal_stack_si(). build.sh gives the kernel's function the additional name
 * leowarp_kernels_setup_signal_stack_si, and makes the function's original name weak
 */
int leowarp_kernels_setup_signal_stack_si(unsigned long stack_top, struct ksignal *ksig, struct pt_regs *regs,
					  sigset_t *mask);

int setup_signal_stack_si(unsigned long stack_top, struct ksignal *ksig, struct pt_regs *regs, sigset_t *mask)
{
	leowarp_pay_owed(regs->regs.fp);
	return leowarp_kernels_setup_signal_stack_si(stack_top, ksig, regs, mask);
}

/*
 * Replaces the empty weak function of kernel/fork.c. The kernel calls the function just before it frees the task's
 * memory
 */
void arch_release_task_struct(struct task_struct *task)
{
	leowarp_forget_owed(task, sizeof(*task));
}
