// SPDX-License-Identifier: GPL-2.0-only
/*
 * When the kernel faults, this file prints where: the registers and the call stack.
 *
 * Before working on this file, read arch/um/kernel/trap.c. Without this file, the kernel reports an access to a bad
 * address at a log level that `quiet` hides. The report contains the registers, but not the stack. After a division by
 * zero (SIGFPE) or an invalid instruction (SIGILL), the kernel prints only the signal's number. On the host,
 * python/leowarp/guest/places.py replaces the printed addresses by names of functions.
 *
 * The kernel is linked with --wrap=show_regs and --wrap=relay_signal (guest/build.sh).
 */
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/sched/debug.h>
#include <linux/signal.h>
#include <asm/ptrace.h>
#include <asm/ucontext.h>
#include <kern_util.h>
#include "signal_context.h"

/* Declared by typeof, so that compiling fails on a kernel in which the function's signature differs */
typeof(show_regs) __real_show_regs, __wrap_show_regs;
typeof(relay_signal) __real_relay_signal, __wrap_relay_signal;
/* sysdep/mcontext.h declares this function with libc's type of the context */
void get_regs_from_mc(struct uml_pt_regs *regs, struct sigcontext *context);

void __wrap_show_regs(struct pt_regs *regs)
{
	static bool has_shown_stack;

	console_verbose();
	__real_show_regs(regs);
	/* After a fault, the stack pointer may have any value, so reading the stack may cause a second fault */
	if (has_shown_stack)
		return;
	has_shown_stack = true;
	current->thread.segv_regs = regs;
	show_stack(current, NULL, KERN_INFO);
}

/* The stack frame of a signal, as the host's kernel creates it (arch/x86/include/asm/sigframe.h) */
struct frame {
	void *restorer;
	struct ucontext context;
	struct siginfo info;
};

void __wrap_relay_signal(int sig, struct siginfo *info, struct uml_pt_regs *regs AND_CONTEXT)
{
	if (!UPT_IS_USER(regs)) {
		/*
		 * The kernel has already saved the registers only if the signal is SIGSEGV (sig_handler_common,
		 * arch/um/os-Linux/signal.c)
		 */
		get_regs_from_mc(regs, &container_of(info, struct frame, info)->context.uc_mcontext);
		show_regs(container_of(regs, struct pt_regs, regs));
	}
	__real_relay_signal(sig, info, regs WITH_CONTEXT);
}
