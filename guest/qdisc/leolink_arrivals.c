// SPDX-License-Identifier: GPL-2.0-only
/* The clock of leolink: one time-travel event for the earliest arrival of all links. */
#include <linux/interrupt.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/time-internal.h>
#include "leolink.h"

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
static u32 heap_count, heap_room, links;
static u64 arrivals_entered;
static struct time_travel_event next_arrival;
static u64 (*deliver)(struct leolink_sched *q, u64 now);
static void (*forward)(void);
static bool is_forwarding;	/* who enters an arrival leaves the event to fire */

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
	if (is_forwarding || (heap_count && next_arrival.pending && next_arrival.time == heap[1].at_ns))
		return;
	time_travel_del_event(&next_arrival);
	if (heap_count)
		time_travel_add_event_rel(&next_arrival, heap[1].at_ns > now ? heap[1].at_ns - now : 0);
}

static void enter(struct leolink_sched *q, u64 at_ns)
{
	if (!q->place)
		q->place = ++heap_count;
	q->due_ns = at_ns;
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

/*
 * Whether the earliest arrival is the next thing that happens at all: the processor is idle, nobody has anything to do
 * at this instant, and no event comes before it. Of an event at that very instant the kernel knows which is first.
 */
static bool is_next(u64 at_ns)
{
	const struct time_travel_event *e;

	if (!is_idle_task(current) || need_resched() || local_softirq_pending() || !list_empty(&time_travel_irqs))
		return false;
	e = list_first_entry_or_null(&time_travel_events, struct time_travel_event, list);
	return at_ns > now_ns() && (!e || at_ns < e->time);
}

/*
 * Interrupt: the earliest arrival is due. Those after it, up to the next event of anybody else's, need no interrupts of
 * their own: where the kernel would go back to its idle loop only to be called here again, the clock is set from here.
 */
static void fire(struct time_travel_event *event)
{
	u64 now = now_ns();

	for (;;) {
		while (heap_count && heap[1].at_ns <= now) {
			struct leolink_sched *q = heap[1].q;
			u64 next_ns = deliver(q, now);

			if (next_ns == U64_MAX)
				leave(q);
			else
				enter(q, next_ns);
		}
		is_forwarding = true;
		forward();
		is_forwarding = false;
		if (!heap_count || !is_next(heap[1].at_ns))
			break;
		time_travel_time = now = heap[1].at_ns;
	}
	set_next_arrival(now);
}

/* Has a link delivered at an instant, which takes the place of the one before. */
void leolink_arm(struct leolink_sched *q, u64 at_ns, u64 now)
{
	unsigned long flags;

	if (q->place && q->due_ns == at_ns)
		return;
	local_irq_save(flags);
	enter(q, at_ns);
	set_next_arrival(now);
	local_irq_restore(flags);
}

void leolink_disarm(struct leolink_sched *q)
{
	unsigned long flags;

	if (!q->place)
		return;
	local_irq_save(flags);
	leave(q);
	set_next_arrival(now_ns());
	local_irq_restore(flags);
}

/* Room for the arrival of one more link. May sleep. */
int leolink_arrivals_join(void)
{
	if (links == heap_room) {
		u32 room = max(64u, 2 * heap_room);
		struct arrival *more = kvmalloc_array(room + 1, sizeof(*more), GFP_KERNEL), *old = heap;
		unsigned long flags;

		if (!more)
			return -ENOMEM;
		local_irq_save(flags);
		if (old)
			memcpy(more, old, (heap_count + 1) * sizeof(*more));
		heap = more;
		heap_room = room;
		local_irq_restore(flags);
		kvfree(old);
	}
	links++;
	return 0;
}

void leolink_arrivals_leave(void)
{
	links--;
}

/*
 * Names what delivers what has arrived, in an interrupt, and returns when that link is due again; U64_MAX = not by now.
 * And what is called in it once all that arrives at an instant is delivered.
 */
void __init leolink_arrivals_register(u64 (*deliver_function)(struct leolink_sched *q, u64 now),
				      void (*forward_function)(void))
{
	deliver = deliver_function;
	forward = forward_function;
	next_arrival.fn = fire;
}
