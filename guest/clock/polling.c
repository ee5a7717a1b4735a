// SPDX-License-Identifier: GPL-2.0-only
/*
 * What time a program's system call takes: none, but 1 us for a call that fails, which is User Mode Linux's own rule
 * (arch/um/kernel/skas/syscall.c), and, by what follows, 1 us for a call that asks without waiting: sched_yield, and poll,
 * select and epoll_wait with a timeout of 0. Computing takes no time either, so a loop of such calls would ask the same
 * instant for ever.
 *
 * Linked with --wrap=handle_syscall (guest/build.sh). Not for the agent, which knows better than to poll.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/time-internal.h>
#include <linux/uaccess.h>
#include <asm/delay.h>
#include <asm/unistd.h>
#include <sysdep/ptrace.h>
#include <sysdep/syscalls.h>
#define DRAWS_WITHOUT_FILE
#include "draws.h"

void __real_handle_syscall(struct uml_pt_regs *regs);
void __wrap_handle_syscall(struct uml_pt_regs *regs);

/* A timeval or timespec of two zeros; none at all means to wait for ever */
static bool is_zero(unsigned long address)
{
	long parts[2];

	return address && !copy_from_user(parts, (const void __user *)address, sizeof(parts)) && !parts[0] && !parts[1];
}

static bool asks_without_waiting(struct uml_pt_regs *regs)
{
	switch (PT_SYSCALL_NR(regs->gp)) {
	case __NR_sched_yield:
		return true;
	case __NR_poll:
		return !(int)UPT_SYSCALL_ARG3(regs);
	case __NR_epoll_wait:
	case __NR_epoll_pwait:
		return !(int)UPT_SYSCALL_ARG4(regs);
	case __NR_select:
	case __NR_pselect6:
		return is_zero(UPT_SYSCALL_ARG5(regs));
	case __NR_ppoll:
		return is_zero(UPT_SYSCALL_ARG3(regs));
	case __NR_epoll_pwait2:
		return is_zero(UPT_SYSCALL_ARG4(regs));
	}
	return false;
}

void __wrap_handle_syscall(struct uml_pt_regs *regs)
{
	/* Before the call: select writes into its timeout */
	bool polls = time_travel_mode == TT_MODE_INFCPU && !current_is_agent() && asks_without_waiting(regs);

	__real_handle_syscall(regs);
	/* A call that failed has taken its 1 us */
	if (polls && !IS_ERR_VALUE(UPT_AX(regs))) {
		um_udelay(1);
		schedule();
	}
}
