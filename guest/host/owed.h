/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Floating-point registers that the kernel has asked for and shortcut.c has not read yet: they are "owed" to a buffer
 * in a task. owed.c reads them where the kernel is about to use them.
 */
#ifndef LEOWARP_OWED_H
#define LEOWARP_OWED_H

/* Defined in a kernel that is linked with owed.c. In any other kernel its address is NULL, and no read is put off */
extern const char leowarp_owed_is_paid __attribute__((weak));

/* Reads the registers that are owed to this buffer, now */
void leowarp_pay_owed(const void *buffer);

/* These bytes are about to be reused: nothing is owed to a buffer in them any more */
void leowarp_forget_owed(const void *from, unsigned long bytes);

#endif
