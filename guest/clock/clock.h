/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's virtual time, the list of its future events in order of time, and the events that are due. These symbols
 * are static in arch/um/kernel/time.c. build.sh makes them global in the object.
 */
extern unsigned long long time_travel_time;
extern struct list_head time_travel_events, time_travel_irqs;
