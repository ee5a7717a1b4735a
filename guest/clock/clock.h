/* SPDX-License-Identifier: GPL-2.0-only */
/* The guest's virtual time. Static in arch/um/kernel/time.c; build.sh makes the symbol global in the object. */
extern unsigned long long time_travel_time;
