/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Floating-point registers of guest processes that the kernel has asked for, but that shortcut.c has not read yet. Such
 * registers are "owed" to the kernel's buffer in a task. owed.c makes shortcut.c read them when the kernel is about to
 * use them.
 */
#ifndef LEOWARP_OWED_H
#define LEOWARP_OWED_H

/*
 * Defined only in a kernel that is linked with owed.c. In any other kernel, the address of this symbol is NULL, and
 * shortcut.c postpones no read
 */
extern const char leowarp_owed_is_paid __attribute__((weak));

/* Reads the registers that are owed to this buffer */
void leowarp_pay_owed(const void *buffer);

/*
 * Called before the `bytes` bytes from `from` on are freed. Forgets registers that are owed to a buffer within these
 * bytes
 */
void leowarp_forget_owed(const void *from, unsigned long bytes);

#endif
