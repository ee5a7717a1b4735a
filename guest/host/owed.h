/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Floating-point registers that shortcut.c has not read yet, although the kernel has asked for them: "owed" to a buffer in a
 * task. owed.c pays where the kernel is about to use them.
 */
#ifndef LEOWARP_OWED_H
#define LEOWARP_OWED_H

/* In a kernel that owed.c is linked into; where it is not, its address is NULL, and nothing is put off */
extern const char leowarp_owed_is_paid __attribute__((weak));

/* Reads what is owed to this buffer, now */
void leowarp_pay_owed(const void *buffer);

/* These bytes are about to be something else: nothing is owed to a buffer in them any more */
void leowarp_forget_owed(const void *from, unsigned long bytes);

#endif
