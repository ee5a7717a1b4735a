// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's clock, which is exact to the nanosecond.
 *
 * Before working on this file, read arch/um/kernel/time.c and kernel/time/clockevents.c.
 *
 * User Mode Linux keeps virtual time in nanoseconds, but its clock source reports the time in steps of 256 ns. The
 * clock event device of User Mode Linux counts from the latest step, and cannot be set to less than 500 ns after this
 * step. A timer therefore fires up to 756 ns late. The delay of a timer depends on all earlier timers, including
 * unrelated timers of the kernel itself. The kernel's own housekeeping would therefore shift packets by nanoseconds,
 * and such shifts are enough to change a congestion window. This file provides a clock source with a step of 1 ns.
 * Timers then fire exactly. The event device accepts any time from 1 ns after the present, and adds nothing to it.
 *
 * Reading the clock still costs a process 256 ns, as in time.c. Otherwise, a program that polls the clock in a loop
 * would never see it advance.
 */
#include <linux/clockchips.h>
#include <linux/clocksource.h>
#include <linux/hardirq.h>
#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/time-internal.h>
#include "clock.h"

/* timer_clockevent is static in time.c. build.sh makes it global in the object, so the source stays unchanged */
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

/*
 * time.c adds 1 ns to every distance, because its coarse clock must never be early. exact_next_event subtracts 1 ns
 * from delta, because the clock of this file is exact. delta is at least min_delta_ticks, which is 1 here
 */
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
