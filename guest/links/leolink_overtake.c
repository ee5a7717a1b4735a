// SPDX-License-Identifier: GPL-2.0-only
/*
 * Links on which packets overtake each other (hybrid ARQ without a buffer that restores the order). The packet list of
 * a link with overtaking is doubly linked, and is in order of arrival. Packets whose transmission has not begun are
 * also in a ring, in order of transmission.
 */
#include "leolink.h"

void leolink_insert_by_arrival(struct Qdisc *sch, struct sk_buff *skb)
{
	struct sk_buff *after, *ahead = sch->q.tail;

	while (ahead && cb(ahead)->arrive_ns > cb(skb)->arrive_ns)
		ahead = ahead->prev;
	after = ahead ? ahead->next : sch->q.head;
	skb->prev = ahead;
	skb->next = after;
	if (ahead)
		ahead->next = skb;
	else
		sch->q.head = skb;
	if (after)
		after->prev = skb;
	else
		sch->q.tail = skb;
	sch->q.qlen++;
}

/* Must be called before the head leaves the list: the second packet must not point back to the head afterwards. */
void leolink_forget_neighbours(struct sk_buff *head)
{
	head->prev = NULL;
	if (head->next)
		head->next->prev = NULL;
}

/* The ring cannot be full: at most limit_pkts packets may wait, and the ring can store all of them. */
void leolink_waiting_push(struct leolink_sched *q, u64 start_ns, u32 bytes)
{
	q->waiting[(q->waiting_head + q->waiting_count++) % q->waiting_room] =
		(struct leolink_waiting){ start_ns, bytes };
}

void leolink_waiting_advance(struct leolink_sched *q, u64 now)
{
	while (q->waiting_count && q->waiting[q->waiting_head].start_ns <= now) {
		q->r.waiting_pkts--;
		q->r.waiting_bytes -= q->waiting[q->waiting_head].bytes;
		q->waiting_head = (q->waiting_head + 1) % q->waiting_room;
		q->waiting_count--;
	}
}

/* Copies the waiting packets into a larger ring. Returns the old ring, which the caller must free. */
struct leolink_waiting *leolink_waiting_replace(struct leolink_sched *q, struct leolink_waiting *ring, u32 room)
{
	struct leolink_waiting *before = q->waiting;
	u32 i;

	for (i = 0; i < q->waiting_count; i++)
		ring[i] = before[(q->waiting_head + i) % q->waiting_room];
	q->waiting = ring;
	q->waiting_head = 0;
	q->waiting_room = room;
	return before;
}
