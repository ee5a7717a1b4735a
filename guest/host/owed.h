/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Floating-point registers that the kernel has asked for, but that shortcut.c has not read yet. Such registers are
 * "owed" to a buffer in a task. owed.c reads them when the kernel is about to use them.
 */
#ifndef LEOWARP_OWED_H
#define LEOWARP_OWED_H

/*
 * Defined in a kernel that is linked with owed.c. In any other kernel the address of this symbol is NULL, and no read
 * is postponed
 */
extern const char leowarp_owed_is_paid __attribute__((weak));

/* Reads the registers that are owed to this buffer */
void leowarp_pay_owed(const void *buffer);

/*
 * Called when the bytes from `from` on are about to be reused. From then on, no registers are owed to a buffer in these
 * bytes
 */
void leowarp_forget_owed(const void *from, unsigned long bytes);

#endif
