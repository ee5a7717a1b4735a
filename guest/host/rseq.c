// SPDX-License-Identifier: GPL-2.0-only
/*
 * For each thread, glibc 2.35 and later registers an area for restartable sequences with the host kernel. User Mode
 * Linux creates its guest processes by fork, and then unmaps all of their memory, including the area for restartable
 * sequences. Without this file, the host kernel could not write to the area, and would kill the guest processes with
 * SIGSEGV ("wait_stub_done: failed to wait for SIGTRAP"). This file therefore undoes the registration before main.
 * References: glibc manual, "Restartable Sequences"; rseq(2).
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <unistd.h>

static void __attribute__((constructor)) unregister_rseq(void)
{
	char *area = (char *)__builtin_thread_pointer() + __rseq_offset;

	if (__rseq_size == 0)
		return;
	/*
	 * the registered length is always the size of struct rseq, 32 bytes; __rseq_size counts only the bytes in use
	 */
	if (syscall(SYS_rseq, area, 32, RSEQ_FLAG_UNREGISTER, RSEQ_SIG)) {
		perror("leowarp: cannot unregister rseq; start with GLIBC_TUNABLES=glibc.pthread.rseq=0");
		exit(1);
	}
}
