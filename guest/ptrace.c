// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fewer requests to the host for each system call of a guest process; and hosts whose XSAVE area is larger than the guest
 * kernel expects, which is every processor with AMX.
 *
 * Before working on this file read userspace() in arch/um/os-Linux/skas/process.c, arch/x86/um/os-Linux/registers.c and,
 * of the host's kernel, ptrace_regset() in kernel/ptrace.c and xstateregs_set() in arch/x86/kernel/fpu/regset.c.
 *
 * The kernel is linked with --wrap=ptrace, so that its requests come here.
 *
 * Linux 6.12 asks the host six times for each system call of a guest process: SETREGS, SETREGSET (floating point), SYSEMU,
 * wait, GETREGS, GETREGSET. A process changes its registers only while it runs. So what was read last is kept, and
 *	SETREGSET	of the bytes that it has is left out (the host would allocate, copy and check 2,696 bytes);
 *	SETREGS		by which a system call returns, and only rax differs, becomes POKEUSER;
 *	GETREGSET	after a system call is put off until something needs the bytes (struct known, owed). What does, in
 *			6.12: another thread of the process is about to run; anything else is asked of the process; a signal
 *			frame is written (registers/owed.c). fork(), exec() and sigreturn() use the bytes too, and are read at
 *			once as everything is that is not in is_plain().
 * Measured: design/programs.md.
 *
 * Linux 6.12 keeps the floating-point registers of a guest process in 2,696 bytes (HOST_FP_SIZE in
 * arch/x86/um/user-offsets.c) and hands these to PTRACE_SETREGSET. The host cuts a buffer that is too long, but answers
 * EFAULT to one that is shorter than its own XSAVE area: 11,008 bytes with AMX. On such a host the whole area is read
 * first, what the guest gave is laid over its beginning, and all of it is written back. Linux 6.13 asks the host for the
 * size ("um: switch to regset API and depend on XSTATE"); its requests are long enough and pass through.
 *
 * What lies beyond the guest's bytes belongs to the host process, which all threads of a guest process share. Only AMX's
 * tiles lie there, and they stay in their initial state: a process must ask for them by arch_prctl(ARCH_REQ_XCOMP_PERM),
 * which the guest kernel answers with EINVAL (arch/x86/um/syscalls_64.c). AVX, AVX-512 and PKRU end at byte 2,696 at most.
 *
 * One area is enough: the guest has one processor, and nothing is scheduled between the calls below.
 */
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>

#include "registers/owed.h"

/* Six times what the largest host asks for today */
#define AREA_BYTES 65536
/* Of a request whose bytes are kept: 6.12's have 2,696; longer ones, of a later kernel on a host with AMX, pass through */
#define KEPT_BYTES 4096
/* Host processes whose registers are known; the process id chooses the place, and the last one there has it */
#define PLACES 64
/* What a host takes for "start the system call again": ERESTARTSYS to ERESTART_RESTARTBLOCK, include/linux/errno.h */
#define RESTART_FIRST (-512L)
#define RESTART_LAST (-516L)

long __real_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data);
long __wrap_ptrace(enum __ptrace_request request, ...);

/* How many of the last system calls are kept */
#define LAST_CALLS 8

/*
 * System calls of guest processes, for whoever looks at the guest from outside: what a program does that stops virtual
 * time. python/leowarp/guest/watch.py knows the layout.
 */
struct leowarp_calls {
	uint64_t count;
	/* The newest is last[(count - 1) % LAST_CALLS] */
	struct {
		uint32_t pid, number;
	} last[LAST_CALLS];
};

/* What a stopped host process has in its registers */
struct known {
	pid_t pid;
	bool has_general, has_floating;
	struct user_regs_struct general;
	/* The length of the request, and of the host's answer: the shorter of the request and its XSAVE area */
	size_t asked_bytes, floating_bytes;
	unsigned char floating[KEPT_BYTES];
	/* The kernel's buffer that was not filled as the kernel asked. NULL: none */
	void *owed;
};

extern struct leowarp_calls leowarp_calls;
struct leowarp_calls leowarp_calls;

static unsigned char area[AREA_BYTES];
/* Size of the host's XSAVE area; the same for each process, since the host never changes what it offers. 0: not asked */
static size_t host_bytes;
/*
 * Mapped at the first request: 280 kB more in the kernel's own data would move its memory, and with it what depends on
 * addresses (design/kernel-config.md).
 */
static struct known *places;

static long set_xstate(pid_t pid, struct iovec *given)
{
	struct iovec whole = { .iov_base = area, .iov_len = sizeof(area) };
	long result;

	if (!host_bytes || given->iov_len < host_bytes) {
		result = __real_ptrace(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &whole);
		if (result < 0)
			return result;
		if (whole.iov_len == sizeof(area)) {
			/* Perhaps cut short by the buffer */
			fprintf(stderr, "leowarp: the host's XSAVE area has %d bytes or more\n", AREA_BYTES);
			errno = E2BIG;
			return -1;
		}
		host_bytes = whole.iov_len;
	}
	if (given->iov_len >= host_bytes)
		return __real_ptrace(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, given);
	memcpy(area, given->iov_base, given->iov_len);
	return __real_ptrace(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, &whole);
}

/* The kernel's memcmp takes a microsecond for an XSAVE area; its length is a multiple of 8 */
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
	long result = __real_ptrace(PTRACE_GETREGSET, known->pid, (void *)NT_X86_XSTATE, into);

	if (result < 0 || into->iov_len > KEPT_BYTES)
		return result;
	memcpy(known->floating, into->iov_base, into->iov_len);
	known->asked_bytes = asked_bytes;
	known->floating_bytes = into->iov_len;
	known->has_floating = true;
	return result;
}

/* Fills the kernel's buffer that was left unfilled, while the process still is as it stopped */
static long pay(struct known *known)
{
	struct iovec into = { .iov_base = known->owed, .iov_len = known->asked_bytes };

	if (!known->owed)
		return 0;
	known->owed = NULL;
	if (read_floating(known, &into) == 0)
		return 0;
	/* Killed by the kernel, or from outside: nothing of it runs again */
	if (errno == ESRCH)
		return 0;
	fprintf(stderr, "leowarp: the registers of process %d cannot be read: %s\n", known->pid, strerror(errno));
	return -1;
}

/* What is known of a process; NULL: nothing may be kept, and errno says why */
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
 * System calls in which the kernel neither reads nor writes the caller's floating-point registers, unless a signal frame
 * is written as they end: those that programs make by the thousand.
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
	/* orig_rax is that of a system call only where the process has stopped for one; else it is negative */
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

	/* It has not run since it stopped, and the kernel has not touched the buffer */
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
	return set_xstate(known->pid, given);
}

static long get_general(struct known *known, struct user_regs_struct *into)
{
	long result = __real_ptrace(PTRACE_GETREGS, known->pid, NULL, into);

	known->has_general = result == 0;
	if (result < 0)
		return result;
	known->general = *into;
	/* Negative where it has stopped for something else */
	if ((long)into->orig_rax >= 0) {
		leowarp_calls.last[leowarp_calls.count % LAST_CALLS].pid = (uint32_t)known->pid;
		leowarp_calls.last[leowarp_calls.count % LAST_CALLS].number = (uint32_t)into->orig_rax;
		leowarp_calls.count++;
	}
	return result;
}

static long set_general(struct known *known, const struct user_regs_struct *given)
{
	struct user_regs_struct but_result = *given;
	long value = (long)given->rax;

	but_result.rax = known->general.rax;
	/* The kernel gives -1 for "no system call", so that the host starts none again; that looks at rax, too */
	but_result.orig_rax = known->general.orig_rax;
	if (known->has_general && given->orig_rax == -1UL && !(value <= RESTART_FIRST && value >= RESTART_LAST) &&
	    is_same(&but_result, &known->general, sizeof(but_result))) {
		known->has_general = false;
		return __real_ptrace(PTRACE_POKEUSER, known->pid, (void *)offsetof(struct user_regs_struct, rax), (void *)value);
	}
	known->has_general = false;
	return __real_ptrace(PTRACE_SETREGS, known->pid, NULL, (void *)given);
}

static void owed_in(const void *from, size_t bytes, bool is_wanted)
{
	for (struct known *known = places; known && known < places + PLACES; known++) {
		if (!known->owed || (uintptr_t)known->owed - (uintptr_t)from >= bytes)
			continue;
		/* The kernel would go on with registers of another moment */
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

long __wrap_ptrace(enum __ptrace_request request, ...)
{
	bool is_floating;
	struct known *known;
	va_list arguments;
	pid_t pid;
	void *address, *data;

	/* As glibc's ptrace does, although some callers give fewer */
	va_start(arguments, request);
	pid = va_arg(arguments, pid_t);
	address = va_arg(arguments, void *);
	data = va_arg(arguments, void *);
	va_end(arguments);
	/* Asked by a process that is to be traced, of itself */
	if (request == PTRACE_TRACEME)
		return __real_ptrace(request, pid, address, data);
	known = known_of(pid);
	if (!known)
		return -1;
	is_floating = address == (void *)NT_X86_XSTATE;
	if (request == PTRACE_GETREGSET && is_floating)
		return get_floating(known, data);
	if (request == PTRACE_SETREGSET && is_floating)
		return set_floating(known, data);
	if (request == PTRACE_GETREGS)
		return get_general(known, data);
	if (request == PTRACE_SETREGS)
		return set_general(known, data);
	if (request == PTRACE_GETSIGINFO)
		return __real_ptrace(request, pid, address, data);
	/* Anything else may change its registers, or let it run */
	if (pay(known) < 0)
		return -1;
	known->has_general = known->has_floating = false;
	return __real_ptrace(request, pid, address, data);
}
