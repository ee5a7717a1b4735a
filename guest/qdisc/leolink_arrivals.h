/* SPDX-License-Identifier: GPL-2.0-only */
/* The clock of leolink: one time-travel event for the earliest arrival of all links. */
#ifndef LEOLINK_ARRIVALS_H
#define LEOLINK_ARRIVALS_H

#include "leolink.h"

static void leolink_fire(struct time_travel_event *e);

static struct time_travel_event next_arrival = { .fn = leolink_fire };

/*
 * Arrivals that are due, one for each link that holds packets: a binary heap in an array, with room for every link.
 * Equal instants come in the order in which they were entered, so that runs repeat.
 */
struct arrival {
	u64 at_ns;
	u64 order;
	struct leolink_sched *q;
};

static struct arrival *heap;	/* from 1 on */
static u32 heap_count, heap_room;
static u64 arrivals_entered;

static bool before(const struct arrival *a, const struct arrival *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->order < b->order);
}

static void put(u32 place, struct arrival a)
{
	heap[place] = a;
	a.q->place = place;
}

/* Puts `a` where it belongs, from the hole at `place`. */
static void settle(u32 place, struct arrival a)
{
	while (place > 1 && before(&a, &heap[place / 2])) {
		put(place, heap[place / 2]);
		place /= 2;
	}
	for (;;) {
		u32 child = 2 * place;

		if (child > heap_count)
			break;
		if (child < heap_count && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &a))
			break;
		put(place, heap[child]);
		place = child;
	}
	put(place, a);
}

static void set_next_arrival(u64 now)
{
	if (heap_count && next_arrival.pending && next_arrival.time == heap[1].at_ns)
		return;
	time_travel_del_event(&next_arrival);
	if (heap_count)
		time_travel_add_event_rel(&next_arrival, heap[1].at_ns > now ? heap[1].at_ns - now : 0);
}

static void enter(struct leolink_sched *q, u64 at_ns)
{
	if (!q->place)
		q->place = ++heap_count;
	settle(q->place, (struct arrival){ at_ns, ++arrivals_entered, q });
}

static void leave(struct leolink_sched *q)
{
	u32 place = q->place;
	struct arrival last = heap[heap_count--];

	q->place = 0;
	if (last.q != q)
		settle(place, last);
}

static void arm(struct leolink_sched *q, u64 at_ns, u64 now)
{
	unsigned long flags;

	if (q->place && heap[q->place].at_ns == at_ns)
		return;
	local_irq_save(flags);
	enter(q, at_ns);
	set_next_arrival(now);
	local_irq_restore(flags);
}

static void disarm(struct leolink_sched *q)
{
	unsigned long flags;

	if (!q->place)
		return;
	local_irq_save(flags);
	leave(q);
	set_next_arrival(now_ns());
	local_irq_restore(flags);
}

#endif
