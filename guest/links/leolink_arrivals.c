// SPDX-License-Identifier: GPL-2.0-only
/* The clock of leolink: a single time-travel event, which is set to the earliest arrival of all links. */
#include <linux/interrupt.h>
#include <linux/irqflags.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/time-internal.h>
#include "leolink.h"

/*
 * The heap of arrivals contains the next arrival of each link that holds packets. The heap is an array that is long
 * enough for every link. Each entry of the heap has up to four children. Arrivals at the same instant stay in the order
 * in which they were entered. If arrivals at the same instant had no fixed order, the same run would not always give
 * the same result.
 *
 * Most of the heap's cost is memory accesses. When an entry moves, its new index is therefore written to a table with 4
 * bytes per link (`places`), and not to the link's own memory. With four children per entry, a heap of a thousand links
 * has five levels; with two children, it would have ten.
 */
struct arrival {
	u64 at_ns;
	u64 order;
	struct leolink_sched *q;
	const struct sk_buff *skb;	/* the link's first packet at `at_ns`, only prefetched and never read */
	u32 slot;		/* index of the link in `places` */
};

#define BELOW	4

static struct arrival *heap;	/* the first entry has the index 1 */
static u32 *places;		/* for each slot: index in the heap; 0 = no arrival is due */
static u32 heap_count, room, links;
static u32 *free_slots;		/* the `room - links` slots that are not used */
static u64 arrivals_entered;
static struct time_travel_event next_arrival;
static u64 (*deliver)(struct leolink_sched *q, u64 now);
static void (*forward)(const struct leolink_sched *next);
static bool is_forwarding;	/* while this is true, a new arrival in `heap` does not change next_arrival's time */

static bool before(const struct arrival *a, const struct arrival *b)
{
	return a->at_ns < b->at_ns || (a->at_ns == b->at_ns && a->order < b->order);
}

/*
 * When an arrival is due, its link and packet are usually no longer in the cache. Each hop needs about ten cache lines,
 * and a single load from memory takes longer than all other work of the hop. While earlier arrivals are delivered, the
 * data of an arrival are therefore prefetched in several steps (design/direct.md). First, when the arrival moves to one
 * of the places just below the earliest arrival, its link and packet are prefetched. Second, while the preceding
 * arrival is delivered, the packet's headers and the link's next packet are prefetched (prefetch_next). Third, the IP
 * header is in the cache and shows over which link the packet leaves, so the data of this link are prefetched
 * (leolink_direct_forward).
 */
static void prefetch_arrival(const struct arrival *a)
{
	leolink_prefetch(&leolink_qdisc_of(a->q)->q);
	leolink_prefetch(a->q);
	leolink_prefetch(&a->q->first_waiting);
	leolink_prefetch_packet(a->skb);
}

/* Called before the earliest arrival is delivered. Prefetches the memory that the second-earliest arrival will need. */
static void prefetch_next(void)
{
	u32 end = min(2 + BELOW, heap_count + 1), least = 2, i;
	const struct sk_buff *skb;

	if (heap_count < 2)
		return;
	for (i = 3; i < end; i++)
		if (before(&heap[i], &heap[least]))
			least = i;
	leolink_prefetch(heap[least].q->ways);
	skb = leolink_qdisc_of(heap[least].q)->q.head;
	if (skb) {
		leolink_prefetch_headers(skb);
		leolink_prefetch_packet(skb->next);
	}
}

static void put(u32 place, const struct arrival *a)
{
	heap[place] = *a;
	places[a->slot] = place;
	if (place < 2 + BELOW)
		prefetch_arrival(a);
}

/* Moves the arrival `a` to its place in the heap. The search begins at the index `place`, which must be free. */
static void settle(u32 place, const struct arrival *a)
{
	while (place > 1 && before(a, &heap[(place + BELOW - 2) / BELOW])) {
		put(place, &heap[(place + BELOW - 2) / BELOW]);
		place = (place + BELOW - 2) / BELOW;
	}
	for (;;) {
		u32 first = BELOW * (place - 1) + 2, end = min(first + BELOW, heap_count + 1), least = first, i;

		if (first > heap_count)
			break;
		for (i = first + 1; i < end; i++)
			if (before(&heap[i], &heap[least]))
				least = i;
		if (!before(&heap[least], a))
			break;
		put(place, &heap[least]);
		place = least;
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
	const struct arrival a = { at_ns, ++arrivals_entered, q, q->sch->q.head, q->slot };

	if (!q->is_due) {
		q->is_due = true;
		places[q->slot] = ++heap_count;
	}
	q->due_ns = at_ns;
	settle(places[q->slot], &a);
}

static void leave(struct leolink_sched *q)
{
	const struct arrival last = heap[heap_count--];
	u32 place = places[q->slot];

	q->is_due = false;
	if (last.q != q)
		settle(place, &last);
}

/*
 * Whether the earliest arrival is the kernel's next event: the processor is idle, no task or softirq has work at this
 * instant, and no other event is due earlier. If another event has the same time, the function returns false, so the
 * kernel decides which of the two is first.
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
 * Called in an interrupt, when the earliest arrival is due. The function also delivers the later arrivals that are due
 * before any other event. For each of these arrivals, it sets the clock itself. If each arrival had its own interrupt,
 * the kernel would return to its idle loop and call this function again.
 */
static void fire(struct time_travel_event *event)
{
	u64 now = now_ns();

	for (;;) {
		while (heap_count && heap[1].at_ns <= now) {
			struct leolink_sched *q = heap[1].q;
			u64 next_ns;

			prefetch_next();
			next_ns = deliver(q, now);
			if (next_ns == U64_MAX)
				leave(q);
			else
				enter(q, next_ns);
		}
		is_forwarding = true;
		forward(heap_count ? heap[1].q : NULL);
		is_forwarding = false;
		if (!heap_count || !is_next(heap[1].at_ns))
			break;
		time_travel_time = now = heap[1].at_ns;
	}
	set_next_arrival(now);
}

/* Sets or changes the time at which a link delivers its next packet. */
void leolink_arm(struct leolink_sched *q, u64 at_ns, u64 now)
{
	unsigned long flags;

	if (q->is_due && q->due_ns == at_ns)
		return;
	local_irq_save(flags);
	enter(q, at_ns);
	set_next_arrival(now);
	local_irq_restore(flags);
}

void leolink_disarm(struct leolink_sched *q)
{
	unsigned long flags;

	if (!q->is_due)
		return;
	local_irq_save(flags);
	leave(q);
	set_next_arrival(now_ns());
	local_irq_restore(flags);
}

/* Allocates memory for `wanted` links. May sleep. */
static int make_room(u32 wanted)
{
	struct arrival *more = kvmalloc_array(wanted + 1, sizeof(*more), GFP_KERNEL), *old = heap;
	u32 *more_places = kvmalloc_array(wanted, sizeof(*places), GFP_KERNEL), *old_places = places;
	u32 *more_slots = kvmalloc_array(wanted, sizeof(*free_slots), GFP_KERNEL), *old_slots = free_slots, i;
	unsigned long flags;

	if (!more || !more_places || !more_slots) {
		kvfree(more);
		kvfree(more_places);
		kvfree(more_slots);
		return -ENOMEM;
	}
	local_irq_save(flags);
	if (old) {
		memcpy(more, old, (heap_count + 1) * sizeof(*more));
		memcpy(more_places, old_places, room * sizeof(*places));
	}
	/* all old slots are in use, so only the new slots are free. The first new slot is used first */
	for (i = 0; i < wanted - room; i++)
		more_slots[i] = wanted - 1 - i;
	heap = more;
	places = more_places;
	free_slots = more_slots;
	room = wanted;
	local_irq_restore(flags);
	kvfree(old);
	kvfree(old_places);
	kvfree(old_slots);
	return 0;
}

/* Reserves memory in the heap for the arrivals of one more link. May sleep. Called under RTNL. */
int leolink_arrivals_join(struct leolink_sched *q)
{
	int err = links == room ? make_room(max(64u, 2 * room)) : 0;

	if (err)
		return err;
	links++;
	q->slot = free_slots[room - links];
	return 0;
}

void leolink_arrivals_leave(struct leolink_sched *q)
{
	free_slots[room - links] = q->slot;
	links--;
}

/*
 * Sets the two functions that interrupts call to deliver and to forward packets. `deliver_function` delivers all
 * packets that have arrived over a link. `deliver_function` returns the time at which the link next has something to
 * deliver, or U64_MAX if this time is not known yet. `forward_function` is called in the same interrupt after all
 * arrivals of an instant are delivered. The argument of `forward_function` is the link that delivers next, or NULL.
 */
void __init leolink_arrivals_register(u64 (*deliver_function)(struct leolink_sched *q, u64 now),
				      void (*forward_function)(const struct leolink_sched *next))
{
	deliver = deliver_function;
	forward = forward_function;
	next_arrival.fn = fire;
}
