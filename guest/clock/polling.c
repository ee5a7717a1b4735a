// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds virtual time to some system calls of programs. Computing takes no virtual time, so a program that only polls in
 * a loop would poll at the same instant for ever. User Mode Linux makes a failing call take 1 us
 * (arch/um/kernel/skas/syscall.c). This file makes two more kinds of calls take 1 us as well:
 *
 * - Calls that check whether something has happened, without waiting for it: sched_yield; poll, select and epoll_wait
 *   with a timeout of 0; wait4 and waitid with WNOHANG.
 * - Calls that return a time: the time of a clock, the CPU time of a process, or the time until a timer expires.
 *   Reading the clock source already takes 256 ns (clock.c), so calls that read it take no additional time. Calls that
 *   return a time take 1 us if they do not read the clock source, or read it with interrupts masked. Examples are the
 *   calls times, time and getrusage, and calls for coarse clocks, processor time or a timer's remaining time.
 *
 * The kernel is linked with --wrap=handle_syscall (guest/build.sh). The agent's calls take no time, because the agent
 * never polls.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/time-internal.h>
#include <linux/uaccess.h>
#include <uapi/linux/wait.h>
#include <asm/delay.h>
#include <asm/unistd.h>
#include <sysdep/ptrace.h>
#if __has_include(<sysdep/syscalls.h>) /* in kernels up to 6.15 */
#include <sysdep/syscalls.h>
#endif
#include "clock.h"
#define DRAWS_WITHOUT_FILE
#include "draws.h"

void __real_handle_syscall(struct uml_pt_regs *regs);
void __wrap_handle_syscall(struct uml_pt_regs *regs);

/*
 * Whether a timeval or timespec contains two zeros. A null pointer is not zero: it means that the call waits for ever
 */
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
	case __NR_wait4:
		return UPT_SYSCALL_ARG3(regs) & WNOHANG;
	case __NR_waitid:
		return UPT_SYSCALL_ARG4(regs) & WNOHANG;
	}
	return false;
}

static bool asks_for_a_time(struct uml_pt_regs *regs)
{
	switch (PT_SYSCALL_NR(regs->gp)) {
	case __NR_adjtimex:
	case __NR_clock_adjtime:
	case __NR_clock_gettime:
	case __NR_getitimer:
	case __NR_getrusage:
	case __NR_gettimeofday:
	case __NR_sysinfo:
	case __NR_time:
	case __NR_timer_gettime:
	case __NR_timerfd_gettime:
	case __NR_times:
		return true;
	}
	return false;
}

void __wrap_handle_syscall(struct uml_pt_regs *regs)
{
	/* The function looks at the call's arguments before the call, because select overwrites its timeout */
	bool is_programs = time_travel_mode == TT_MODE_INFCPU && !current_is_agent();
	bool polls = is_programs && asks_without_waiting(regs), asks_time = is_programs && asks_for_a_time(regs);
	unsigned long long asked_ns = time_travel_time;

	__real_handle_syscall(regs);
	/* User Mode Linux has already added 1 us to a call that failed */
	if ((polls || (asks_time && time_travel_time == asked_ns)) && !IS_ERR_VALUE(UPT_AX(regs))) {
		um_udelay(1);
		schedule();
	}
}
