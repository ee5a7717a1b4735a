/* SPDX-License-Identifier: GPL-2.0-only */
/* ptrace requests from the guest kernel to its host. */
#ifndef LEOWARP_REGISTERS_H
#define LEOWARP_REGISTERS_H
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>

/* Same as ptrace(2), but also works on hosts whose XSAVE area is larger than the guest kernel expects. */
long leowarp_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data);

/* Same as leowarp_ptrace, but makes fewer requests to the host (shortcut.c). NULL in a kernel without shortcut.c */
long leowarp_shortcut(enum __ptrace_request request, pid_t pid, void *address, void *data) __attribute__((weak));

#endif
