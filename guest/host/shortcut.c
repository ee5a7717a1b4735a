// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes fewer requests to the host for each system call of a guest process.
 *
 * Before working on this file, read userspace() in arch/um/os-Linux/skas/process.c.
 *
 * For each system call of a guest process, Linux 6.12 makes six requests to the host: SETREGS, SETREGSET (floating
 * point), SYSEMU, wait, GETREGS and GETREGSET. A stopped process does not change its registers. This file therefore
 * remembers the registers of a process from the last request:
 *
 *	SETREGSET	is omitted if the bytes are unchanged (the host would allocate, copy and check 2,696 bytes);
 *	SETREGS		is replaced by the shorter POKEUSER if a system call returns and only rax has changed;
 *	GETREGSET	after a system call is postponed until the kernel needs the bytes (struct known, owed). Linux
 *			6.12 needs them when another thread of the process is about to run, when it makes any other
 *			request for the process, and when it writes a signal frame (owed.c). fork(), exec() and
 *			sigreturn() need the bytes immediately. After these three calls, and after all other calls that
 *			are not in is_plain(), GETREGSET is therefore not postponed.
 *
 * design/programs.md contains measurements.
 */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "owed.h"
#include "registers.h"

/*
 * Longest request whose bytes are remembered. Requests of Linux 6.12 have 2,696 bytes. Longer requests, which later
 * kernels make on a host with AMX, go to the host each time
 */
#define KEPT_BYTES 4096
/*
 * Number of slots for host processes whose registers are remembered. The process id, modulo this number, selects the
 * slot. A shared slot contains the registers of the process that used it last
 */
#define PLACES 64
/*
 * Results that the host understands as "restart the system call": ERESTARTSYS to ERESTART_RESTARTBLOCK of
 * include/linux/errno.h
 */
#define RESTART_FIRST (-512L)
#define RESTART_LAST (-516L)

/* Remembered registers of a stopped host process */
struct known {
	pid_t pid;
	bool has_general, has_floating;
	struct user_regs_struct general;
	/*
	 * Length of the request, and length of the host's answer. The answer has the length of the request or of the
	 * host's XSAVE area, whichever is shorter
	 */
	size_t asked_bytes, floating_bytes;
	unsigned char floating[KEPT_BYTES];
	/*
	 * Buffer that the kernel has asked shortcut.c to fill, and that is not filled yet. NULL = there is no such
	 * buffer
	 */
	void *owed;
};

/*
 * The array is mapped at the first request and is not static data. 280 kB more of static data would move the kernel's
 * memory, and would change everything that depends on addresses (design/kernel-config.md).
 */
static struct known *places;

/* Used because the kernel's memcmp takes a microsecond for an XSAVE area. The length must be a multiple of 8 */
static bool is_same(const void *a, const void *b, size_t bytes)
{
	const uint64_t *x = a, *y = b;
	uint64_t differs = 0;

	for (size_t i = 0; i < bytes / 8; i++)
		differs |= x[i] ^ y[i];
	return !differs;
}

static long read_floating(struct known *known, struct iovec *into)
{
	size_t asked_bytes = into->iov_len;
	long result = leowarp_ptrace(PTRACE_GETREGSET, known->pid, (void *)NT_X86_XSTATE, into);

	if (result < 0 || into->iov_len > KEPT_BYTES)
		return result;
	memcpy(known->floating, into->iov_base, into->iov_len);
	known->asked_bytes = asked_bytes;
	known->floating_bytes = into->iov_len;
	known->has_floating = true;
	return result;
}

/* If a buffer is still owed to the kernel, fills this buffer. The process must still be stopped */
static long pay(struct known *known)
{
	struct iovec into = { .iov_base = known->owed, .iov_len = known->asked_bytes };

	if (!known->owed)
		return 0;
	known->owed = NULL;
	if (read_floating(known, &into) == 0)
		return 0;
	/* If the process was killed, by the kernel or from outside, nobody needs its registers */
	if (errno == ESRCH)
		return 0;
	fprintf(stderr, "leowarp: the registers of process %d cannot be read: %s\n", known->pid, strerror(errno));
	return -1;
}

/* Slot with the registers of a process. NULL = no registers can be remembered, and errno is set */
static struct known *known_of(pid_t pid)
{
	struct known *known;

	if (!places) {
		void *mapped = mmap(NULL, PLACES * sizeof(*places), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (mapped == MAP_FAILED)
			return NULL;
		places = mapped;
	}
	known = &places[(unsigned int)pid % PLACES];
	if (known->pid == pid)
		return known;
	if (pay(known) < 0)
		return NULL;
	known->pid = pid;
	known->has_general = known->has_floating = false;
	return known;
}

/*
 * Returns true if the kernel neither reads nor writes the caller's floating-point registers during this system call.
 * The only exception is a signal frame at the end of the call. The list contains the calls that programs make thousands
 * of times.
 */
static bool is_plain(unsigned long number)
{
	switch (number) {
	case SYS_read: case SYS_write: case SYS_readv: case SYS_writev: case SYS_poll: case SYS_ppoll: case SYS_select:
	case SYS_pselect6: case SYS_epoll_wait: case SYS_epoll_pwait: case SYS_epoll_ctl: case SYS_sendto: case SYS_recvfrom:
	case SYS_sendmsg: case SYS_recvmsg: case SYS_sendmmsg: case SYS_recvmmsg: case SYS_clock_gettime:
	case SYS_gettimeofday: case SYS_time: case SYS_nanosleep: case SYS_clock_nanosleep: case SYS_futex: case SYS_getpid:
	case SYS_gettid: case SYS_getsockopt: case SYS_setsockopt: case SYS_ioctl: case SYS_lseek: case SYS_sched_yield:
		return true;
	}
	return false;
}

static long get_floating(struct known *known, struct iovec *into)
{
	if (known->owed && pay(known) < 0)
		return -1;
	if (known->has_floating && known->asked_bytes == into->iov_len) {
		memcpy(into->iov_base, known->floating, known->floating_bytes);
		into->iov_len = known->floating_bytes;
		return 0;
	}
	/*
	 * orig_rax is the number of a system call if the process has stopped for one. If the process has stopped for
	 * another reason, orig_rax is negative, so is_plain() is false
	 */
	if (&leowarp_owed_is_paid && into->iov_len <= KEPT_BYTES && known->has_general && is_plain(known->general.orig_rax)) {
		known->owed = into->iov_base;
		known->asked_bytes = into->iov_len;
		return 0;
	}
	return read_floating(known, into);
}

static long set_floating(struct known *known, struct iovec *given)
{
	size_t asked_bytes = given->iov_len;

	/*
	 * If the kernel passes a buffer that is still owed, the kernel has not changed the registers. The process still
	 * has its own values
	 */
	if (known->owed == given->iov_base && known->asked_bytes == asked_bytes) {
		known->owed = NULL;
		return 0;
	}
	if (known->owed && pay(known) < 0)
		return -1;
	if (known->has_floating && known->asked_bytes == asked_bytes &&
	    is_same(known->floating, given->iov_base, known->floating_bytes))
		return 0;
	known->has_floating = false;
	return leowarp_ptrace(PTRACE_SETREGSET, known->pid, (void *)NT_X86_XSTATE, given);
}

static long get_general(struct known *known, struct user_regs_struct *into)
{
	long result = leowarp_ptrace(PTRACE_GETREGS, known->pid, NULL, into);

	known->has_general = result == 0;
	if (result < 0)
		return result;
	known->general = *into;
	return result;
}

static long set_general(struct known *known, const struct user_regs_struct *given)
{
	struct user_regs_struct but_result = *given;
	long value = (long)given->rax;

	but_result.rax = known->general.rax;
	/*
	 * The kernel sets orig_rax to -1 ("no system call"), so that the host does not restart a system call. With
	 * POKEUSER, orig_rax keeps its old value, so the host restarts a call for some values of rax. For these values,
	 * the condition below does not allow POKEUSER
	 */
	but_result.orig_rax = known->general.orig_rax;
	if (known->has_general && given->orig_rax == -1UL && !(value <= RESTART_FIRST && value >= RESTART_LAST) &&
	    is_same(&but_result, &known->general, sizeof(but_result))) {
		known->has_general = false;
		return leowarp_ptrace(PTRACE_POKEUSER, known->pid, (void *)offsetof(struct user_regs_struct, rax), (void *)value);
	}
	known->has_general = false;
	return leowarp_ptrace(PTRACE_SETREGS, known->pid, NULL, (void *)given);
}

static void owed_in(const void *from, size_t bytes, bool is_wanted)
{
	for (struct known *known = places; known && known < places + PLACES; known++) {
		if (!known->owed || (uintptr_t)known->owed - (uintptr_t)from >= bytes)
			continue;
		/* If this read fails, the kernel must not continue with registers of an earlier moment */
		if (is_wanted && pay(known) < 0)
			__builtin_trap();
		known->owed = NULL;
	}
}

void leowarp_pay_owed(const void *buffer)
{
	owed_in(buffer, 1, true);
}

void leowarp_forget_owed(const void *from, unsigned long bytes)
{
	owed_in(from, bytes, false);
}

long leowarp_shortcut(enum __ptrace_request request, pid_t pid, void *address, void *data)
{
	bool is_floating = address == (void *)NT_X86_XSTATE;
	struct known *known;

	/* With PTRACE_TRACEME, the calling process asks to be traced */
	if (request == PTRACE_TRACEME)
		return leowarp_ptrace(request, pid, address, data);
	known = known_of(pid);
	if (!known)
		return -1;
	if (request == PTRACE_GETREGSET && is_floating)
		return get_floating(known, data);
	if (request == PTRACE_SETREGSET && is_floating)
		return set_floating(known, data);
	if (request == PTRACE_GETREGS)
		return get_general(known, data);
	if (request == PTRACE_SETREGS)
		return set_general(known, data);
	if (request == PTRACE_GETSIGINFO)
		return leowarp_ptrace(request, pid, address, data);
	/* All other requests may change the registers or make the process run */
	if (pay(known) < 0)
		return -1;
	known->has_general = known->has_floating = false;
	return leowarp_ptrace(request, pid, address, data);
}
