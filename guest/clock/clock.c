// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's clock to the nanosecond.
 *
 * Before working on this file read arch/um/kernel/time.c and kernel/time/clockevents.c.
 *
 * User Mode Linux keeps its virtual time in nanoseconds, but its clock source gives it in steps of 256, and its clock
 * event device is set as a distance from the step before and takes no distance below 500: a timer fires up to 756 ns
 * late, by an amount that hangs on every timer before it, a stray one of the kernel's own included. So the kernel's
 * housekeeping would move packets by nanoseconds, and nanoseconds part two congestion windows. Here is a clock source of one step a nanosecond; and the event device, whose
 * distances are then exact, takes the shortest and adds nothing.
 *
 * Reading the clock goes on costing a process 256 ns, as in time.c and for its reason: a program that waits by looking
 * at the clock must see it move.
 */
#include <linux/clockchips.h>
#include <linux/clocksource.h>
#include <linux/hardirq.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/time-internal.h>
#include "clock.h"

/* static in time.c; build.sh makes the symbol global in the object, so that the source stays as it is */
extern struct clock_event_device timer_clockevent;

static int (*after_at_least)(unsigned long delta, struct clock_event_device *device);

static u64 exact_read(struct clocksource *source)
{
	if (!irqs_disabled() && !in_interrupt() && !in_softirq())
		time_travel_ndelay(TIMER_MULTIPLIER);
	return time_travel_time;
}

static struct clocksource exact = {
	.name	= "time-travel",
	.rating	= 400,
	.read	= exact_read,
	.mask	= CLOCKSOURCE_MASK(64),
	.flags	= CLOCK_SOURCE_IS_CONTINUOUS,
};

/* time.c adds one so as never to be early on its coarse clock; delta is at least min_delta, which is one here */
static int exact_next_event(unsigned long delta, struct clock_event_device *device)
{
	return after_at_least(delta - 1, device);
}

static int __init clock_register(void)
{
	if (time_travel_mode != TT_MODE_INFCPU)
		return 0;
	after_at_least = timer_clockevent.set_next_event;
	timer_clockevent.set_next_event = exact_next_event;
	timer_clockevent.min_delta_ns = 1;
	timer_clockevent.min_delta_ticks = 1;
	return clocksource_register_hz(&exact, NSEC_PER_SEC);
}
device_initcall(clock_register);
