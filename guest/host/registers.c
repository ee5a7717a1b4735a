// SPDX-License-Identifier: GPL-2.0-only
/*
 * Supports hosts whose XSAVE area is larger than the guest kernel expects, as on every processor with AMX. This file
 * also records the last system calls of guest processes, for error messages.
 *
 * Before working on this file, read arch/x86/um/os-Linux/registers.c. In the host's kernel, read ptrace_regset() in
 * kernel/ptrace.c and xstateregs_set() in arch/x86/kernel/fpu/regset.c.
 *
 * The kernel is linked with --wrap=ptrace, so this file gets the kernel's ptrace requests. If shortcut.c is linked, the
 * requests pass through shortcut.c first.
 *
 * Linux 6.12 keeps the floating-point registers of a guest process in a buffer of 2,696 bytes (HOST_FP_SIZE in
 * arch/x86/um/user-offsets.c), and passes this buffer to PTRACE_SETREGSET. If the buffer is longer than the host's own
 * XSAVE area, the host ignores the rest. If the buffer is shorter, the host answers EFAULT. On a host with AMX, the
 * area has 11,008 bytes. On a host with a longer area, this file first reads the host's area, then replaces its
 * beginning by the guest's bytes, and writes the area back. Linux 6.13 and later ask the host for the size of its area
 * ("um: switch to regset API and depend on XSTATE"). Requests of Linux 6.13 and later are long enough, and pass through
 * unchanged.
 *
 * The rest of the area, after the guest's bytes, belongs to the host process. All threads of a guest process share this
 * host process. The rest of the area contains only the tiles of AMX. The tiles stay in their initial state, because
 * guest processes cannot use them. A guest process would have to request the tiles by arch_prctl(ARCH_REQ_XCOMP_PERM),
 * and the guest kernel answers this call with EINVAL (arch/x86/um/syscalls_64.c). The registers of AVX, AVX-512 and
 * PKRU end at byte 2,696 or before.
 *
 * One array `area` for all processes is enough, because the guest has one processor and nothing is scheduled between
 * the calls below.
 */
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "registers.h"

/* Six times the size of the largest XSAVE area of present hosts */
#define AREA_BYTES 65536
/* Number of system calls that are remembered */
#define LAST_CALLS 8

long __real_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data);
long __wrap_ptrace(enum __ptrace_request request, ...);

/*
 * The latest system calls of guest processes. A program outside the guest reads these records, to report what a guest
 * program does while virtual time does not advance. python/leowarp/guest/watch.py depends on this layout.
 */
struct leowarp_calls {
	uint64_t count;
	/* The newest call is last[(count - 1) % LAST_CALLS] */
	struct {
		uint32_t pid, number;
	} last[LAST_CALLS];
};

extern struct leowarp_calls leowarp_calls;
struct leowarp_calls leowarp_calls;

static unsigned char area[AREA_BYTES];
/*
 * Size of the host's XSAVE area. The size is the same for all processes. 0 = not known yet
 */
static size_t host_bytes;

static long set_xstate(pid_t pid, struct iovec *given)
{
	struct iovec whole = { .iov_base = area, .iov_len = sizeof(area) };
	long result;

	if (!host_bytes || given->iov_len < host_bytes) {
		result = __real_ptrace(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &whole);
		if (result < 0)
			return result;
		if (whole.iov_len == sizeof(area)) {
			/* The host has filled the whole buffer, so the host's area may be longer than the buffer */
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

static void note_call(pid_t pid, long number)
{
	leowarp_calls.last[leowarp_calls.count % LAST_CALLS].pid = (uint32_t)pid;
	leowarp_calls.last[leowarp_calls.count % LAST_CALLS].number = (uint32_t)number;
	leowarp_calls.count++;
}

long leowarp_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data)
{
	const struct user_regs_struct *general = data;
	long result;

	if (request == PTRACE_SETREGSET && address == (void *)NT_X86_XSTATE)
		return set_xstate(pid, data);
	result = __real_ptrace(request, pid, address, data);
	/* orig_rax is negative if the process stopped for a reason other than a system call */
	if (request == PTRACE_GETREGS && !result && (long)general->orig_rax >= 0)
		note_call(pid, (long)general->orig_rax);
	return result;
}

long __wrap_ptrace(enum __ptrace_request request, ...)
{
	va_list arguments;
	pid_t pid;
	void *address, *data;

	/* Reads three arguments, as glibc's ptrace does, although some callers pass fewer */
	va_start(arguments, request);
	pid = va_arg(arguments, pid_t);
	address = va_arg(arguments, void *);
	data = va_arg(arguments, void *);
	va_end(arguments);
	return (leowarp_shortcut ? leowarp_shortcut : leowarp_ptrace)(request, pid, address, data);
}
