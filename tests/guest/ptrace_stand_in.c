// SPDX-License-Identifier: Apache-2.0
/*
 * A stand-in for the host's kernel, called as `ptrace_stand_in BYTES CASE` and compiled together with
 * guest/host/registers.c and shortcut.c.
 *
 * The stand-in answers requests for NT_X86_XSTATE like a Linux host whose XSAVE area has BYTES bytes. In Linux,
 * ptrace_regset() (kernel/ptrace.c) and xstateregs_set() (arch/x86/kernel/fpu/regset.c) answer these requests. The
 * stand-in also counts the requests. Exit status 0 means that the case passes. If the case fails, the last line of the
 * output names the failed condition.
 */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/syscall.h>
#include <sys/user.h>

/* HOST_FP_SIZE of arch/x86/um/user-offsets.c, Linux 6.12 */
#define GUEST_BYTES 2696
#define CHILD 4711

#include "../../guest/host/owed.h"

/* With this definition, the test behaves like a kernel that contains owed.c */
const char leowarp_owed_is_paid = 1;

long __wrap_ptrace(enum __ptrace_request request, ...);
long __real_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data);

static unsigned char registers[1 << 20];
static size_t area_bytes;
static struct user_regs_struct general;
static int reads, writes, others, general_reads, general_writes, pokes;
static int gone;
static struct { enum __ptrace_request request; pid_t pid; void *address, *data; } last;

static long fail(int error)
{
	errno = error;
	return -1;
}

long __real_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data)
{
	struct iovec *vector = data;

	last.request = request;
	last.pid = pid;
	last.address = address;
	last.data = data;
	if (request == PTRACE_GETREGS) {
		general_reads++;
		*(struct user_regs_struct *)data = general;
		return 0;
	}
	if (request == PTRACE_SETREGS) {
		general_writes++;
		general = *(struct user_regs_struct *)data;
		return 0;
	}
	if (request == PTRACE_POKEUSER && address == (void *)offsetof(struct user_regs_struct, rax)) {
		pokes++;
		general.rax = (unsigned long)data;
		return 0;
	}
	if ((request != PTRACE_GETREGSET && request != PTRACE_SETREGSET) || address != (void *)NT_X86_XSTATE) {
		others++;
		return 42;
	}
	if (gone || pid != CHILD)
		return fail(ESRCH);
	if (vector->iov_len % 8)
		return fail(EINVAL);
	if (vector->iov_len > area_bytes)
		vector->iov_len = area_bytes;
	if (request == PTRACE_GETREGSET) {
		reads++;
		memcpy(vector->iov_base, registers, vector->iov_len);
		return 0;
	}
	writes++;
	if (vector->iov_len != area_bytes)
		return fail(EFAULT);
	memcpy(registers, vector->iov_base, vector->iov_len);
	return 0;
}

static void check(int holds, const char *what)
{
	if (holds)
		return;
	printf("%zu bytes: %s (%d reads, %d writes, %d others)\n", area_bytes, what, reads, writes, others);
	exit(1);
}

static void fill(unsigned char *bytes, size_t count, unsigned int salt)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = (unsigned char)(i * 7 + i / 256 + salt);
}

/* Sets registers in the same manner as arch/x86/um/os-Linux/registers.c */
static long guest_sets(unsigned char *buffer)
{
	struct iovec vector = { .iov_base = buffer, .iov_len = GUEST_BYTES };

	return __wrap_ptrace(PTRACE_SETREGSET, CHILD, NT_X86_XSTATE, &vector);
}

static long guest_gets(unsigned char *buffer)
{
	struct iovec vector = { .iov_base = buffer, .iov_len = GUEST_BYTES };

	return __wrap_ptrace(PTRACE_GETREGSET, CHILD, NT_X86_XSTATE, &vector);
}

/* Two threads alternate on the processor, and each must find its own register values */
static void threads(void)
{
	static unsigned char saved[2][GUEST_BYTES], beyond[sizeof(registers)], ran[GUEST_BYTES];
	size_t seen = area_bytes < GUEST_BYTES ? area_bytes : GUEST_BYTES;
	int turns = 10, more = area_bytes > GUEST_BYTES;

	fill(registers, area_bytes, 99);
	memcpy(beyond, registers, sizeof(beyond));
	for (int thread = 0; thread < 2; thread++)
		fill(saved[thread], GUEST_BYTES, thread);
	for (int turn = 0; turn < turns; turn++) {
		int thread = turn % 2;

		memcpy(ran, saved[thread], seen);
		check(guest_sets(saved[thread]) == 0, "setting the registers fails");
		check(!memcmp(registers, ran, seen), "the thread does not find its registers");
		check(!memcmp(registers + seen, beyond + seen, sizeof(registers) - seen),
		      "what the guest does not know of is changed");
		/* The process runs, and computes */
		__wrap_ptrace(PTRACE_SYSEMU, CHILD, 0, 0);
		fill(registers, seen, 100 + turn);
		check(guest_gets(saved[thread]) == 0, "reading the registers fails");
		check(!memcmp(saved[thread], registers, seen), "the registers are not what the thread left");
	}
	/*
	 * One read finds out the size of the area. If the host's area is not larger than the guest's, no further reads
	 * are needed.
	 */
	check(reads == turns + (more ? turns : 1), "the number of reads");
	check(writes == turns, "the number of writes");
}

/* All other requests reach the host unchanged */
static void others_pass(void)
{
	int word;
	struct iovec vector = { .iov_base = &word, .iov_len = sizeof(word) };

	check(__wrap_ptrace(PTRACE_SETREGSET, CHILD, NT_PRSTATUS, &vector) == 42, "the answer for NT_PRSTATUS");
	check(last.request == PTRACE_SETREGSET && last.address == (void *)NT_PRSTATUS && last.data == &vector,
	      "the arguments for NT_PRSTATUS");
	check(__wrap_ptrace(PTRACE_PEEKUSER, CHILD, 8 * 15, 0) == 42, "the answer for PEEKUSER");
	check(last.request == PTRACE_PEEKUSER && last.pid == CHILD && last.address == (void *)120, "those of PEEKUSER");
	check(__wrap_ptrace(PTRACE_KILL, 17) == 42 && last.pid == 17, "a request of two arguments");
	check(others == 3 && reads == 0 && writes == 0, "the number of requests");
}

/* The caller must notice that the process has died */
static void gone_process(void)
{
	unsigned char buffer[GUEST_BYTES] = { 0 };

	gone = 1;
	check(guest_sets(buffer) == -1 && errno == ESRCH, "the first request to a dead process");
	gone = 0;
	check(guest_sets(buffer) == 0, "the next one to a living one");
	gone = 1;
	check(guest_sets(buffer) == -1 && errno == ESRCH, "a later request to a dead process");
}

/* The process runs, computes, and stops at a system call */
static void runs_until(unsigned long number, unsigned int salt)
{
	struct user_regs_struct seen;

	__wrap_ptrace(PTRACE_SYSEMU, CHILD, 0, 0);
	fill(registers, area_bytes < GUEST_BYTES ? area_bytes : GUEST_BYTES, salt);
	memset(&general, 0, sizeof(general));
	general.orig_rax = number;
	general.rax = (unsigned long)-38;
	general.rip = salt;
	check(__wrap_ptrace(PTRACE_GETREGS, CHILD, 0, &seen) == 0 && seen.orig_rax == number, "reading the general registers");
}

/* The kernel stores the result of the system call and lets the process continue, as userspace() does before SYSEMU */
static void answers(unsigned char *buffer, long result)
{
	struct user_regs_struct given = general;

	given.orig_rax = -1UL;
	given.rax = (unsigned long)result;
	check(__wrap_ptrace(PTRACE_SETREGS, CHILD, 0, &given) == 0, "setting the general registers");
	check(guest_sets(buffer) == 0, "setting the registers");
}

/* If a process with one thread makes successive system calls, only the result has to be written */
static void system_calls(void)
{
	static unsigned char buffer[GUEST_BYTES];

	for (int call = 0; call < 10; call++) {
		runs_until(SYS_read, call);
		check(guest_gets(buffer) == 0, "reading the registers");
		answers(buffer, call);
		check(general.rax == (unsigned long)call, "the result does not arrive");
	}
	check(reads == 0 && writes == 0, "floating-point registers were read or written");
	check(pokes == 10 && general_writes == 0, "more than the result was written");
}

/*
 * All registers must be written in two cases: the result would make the host restart the system call, or anything else
 * has changed
 */
static void restarts(void)
{
	static unsigned char buffer[GUEST_BYTES];
	struct user_regs_struct given;

	for (long result = -512; result >= -516; result--) {
		runs_until(SYS_read, 1);
		check(guest_gets(buffer) == 0, "reading the registers");
		answers(buffer, result);
	}
	check(pokes == 0 && general_writes == 5 && general.orig_rax == -1UL, "the host may start a system call again");
	runs_until(SYS_read, 1);
	given = general;
	given.orig_rax = -1UL;
	given.rip = 4711;
	check(__wrap_ptrace(PTRACE_SETREGS, CHILD, 0, &given) == 0 && general.rip == 4711 && general_writes == 6,
	      "a jump does not arrive");
	check(__wrap_ptrace(PTRACE_SETREGS, CHILD, 0, &given) == 0 && general_writes == 7, "the second of two writes");
}

/*
 * The reading of registers may be postponed. The reading must end before any thread of the process changes the
 * registers. It must also end before the kernel uses them
 */
static void owed(void)
{
	static unsigned char buffer[GUEST_BYTES], other[GUEST_BYTES], before[sizeof(registers)];
	static struct { long others[12]; unsigned char buffer[GUEST_BYTES]; } task;
	size_t seen = area_bytes < GUEST_BYTES ? area_bytes : GUEST_BYTES;
	static const unsigned long at_once[] = { SYS_clone, SYS_fork, SYS_vfork, SYS_clone3, SYS_execve, SYS_execveat,
						 SYS_rt_sigreturn, SYS_ptrace, -1UL };

	/* Another thread runs */
	runs_until(SYS_read, 1);
	memcpy(before, registers, seen);
	check(guest_gets(buffer) == 0 && reads == 0, "it was not put off");
	fill(other, GUEST_BYTES, 77);
	answers(other, 1);
	check(!memcmp(buffer, before, seen), "the first thread has lost its registers");
	check(!memcmp(registers, other, seen), "the second one does not have its own");
	/* In the first round, the kernel makes a system call in the process; in the second round, it sends a signal */
	for (int way = 0; way < 2; way++) {
		runs_until(SYS_futex, 20 + way);
		memcpy(before, registers, seen);
		check(guest_gets(buffer) == 0 && memcmp(buffer, before, seen), "it was not put off");
		if (way == 0)
			__wrap_ptrace(PTRACE_CONT, CHILD, 0, 0);
		else
			leowarp_pay_owed(buffer);
		check(!memcmp(buffer, before, seen), "it is not there when it is needed");
	}
	/* The cases are system calls in which the kernel uses the buffer, and a stop for another reason */
	for (size_t i = 0; i < sizeof(at_once) / sizeof(*at_once); i++) {
		runs_until(at_once[i], 30 + i);
		check(guest_gets(buffer) == 0 && !memcmp(buffer, registers, seen), "it was put off");
	}
	/* If the kernel has written registers itself, they must reach the process */
	buffer[0] ^= 255;
	check(guest_sets(buffer) == 0 && registers[0] == buffer[0], "what sigreturn wrote does not arrive");
	/* If memory no longer belongs to a task, nothing must be written to it */
	runs_until(SYS_read, 50);
	check(guest_gets(task.buffer) == 0, "reading the registers");
	leowarp_forget_owed(&task, sizeof(task));
	__wrap_ptrace(PTRACE_CONT, CHILD, 0, 0);
	for (size_t i = 0; i < sizeof(task.buffer); i++)
		check(!task.buffer[i], "the memory of a task that has ended was written");
}

/* If the register area is larger than any that the code knows, a message says so */
static void too_large(void)
{
	unsigned char buffer[GUEST_BYTES] = { 0 };

	check(guest_sets(buffer) == -1 && errno == E2BIG, "an area larger than the buffer is not refused");
	check(writes == 0, "something was written");
}

int main(int count, char **arguments)
{
	static const struct { const char *name; void (*run)(void); } cases[] = {
		{ "threads", threads }, { "others-pass", others_pass },
		{ "gone-process", gone_process }, { "system-calls", system_calls }, { "restarts", restarts }, { "owed", owed },
		{ "too-large", too_large },
	};

	if (count != 3)
		return 2;
	area_bytes = strtoul(arguments[1], NULL, 10);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (!strcmp(cases[i].name, arguments[2])) {
			cases[i].run();
			return 0;
		}
	}
	return 2;
}
