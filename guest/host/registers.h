/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests by ptrace from the guest kernel to its host. */
#ifndef LEOWARP_REGISTERS_H
#define LEOWARP_REGISTERS_H
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>

/* Same as ptrace(2), but works on hosts with an XSAVE area of any size. */
long leowarp_ptrace(enum __ptrace_request request, pid_t pid, void *address, void *data);

/* Same as leowarp_ptrace, but with fewer requests to the host (shortcut.c). NULL in a kernel without shortcut.c */
long leowarp_shortcut(enum __ptrace_request request, pid_t pid, void *address, void *data) __attribute__((weak));

#endif
