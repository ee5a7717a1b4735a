/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A link on which packets overtake each other (hybrid ARQ without a resequencing buffer): its list is in order of
 * arrival, linked both ways, and who waits is kept in a ring, in order of transmission.
 */
#ifndef LEOLINK_OVERTAKE_H
#define LEOLINK_OVERTAKE_H

#include "leolink.h"

#define WAITING_MAX 65536

static void insert_by_arrival(struct Qdisc *sch, struct sk_buff *skb)
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

/* The list's head is to leave it, and must not point back into it. */
static void forget_neighbours(struct sk_buff *head)
{
	head->prev = NULL;
	if (head->next)
		head->next->prev = NULL;
}

static void waiting_push(struct leolink_sched *q, u64 start_ns, u32 bytes)
{
	q->waiting[(q->waiting_head + q->waiting_count++) % q->waiting_room] =
		(struct leolink_waiting){ start_ns, bytes };
}

static void waiting_advance(struct leolink_sched *q, u64 now)
{
	while (q->waiting_count && q->waiting[q->waiting_head].start_ns <= now) {
		q->r.waiting_pkts--;
		q->r.waiting_bytes -= q->waiting[q->waiting_head].bytes;
		q->waiting_head = (q->waiting_head + 1) % q->waiting_room;
		q->waiting_count--;
	}
}

/* The ring holds as many as may wait. */
static int overtake_begin(struct leolink_sched *q)
{
	if (q->overtakes)
		return 0;
	if (!q->limit_pkts || q->limit_pkts > WAITING_MAX)
		return -EINVAL;
	q->waiting = kvmalloc_array(q->limit_pkts, sizeof(*q->waiting), GFP_KERNEL);
	if (!q->waiting)
		return -ENOMEM;
	q->waiting_room = q->limit_pkts;
	q->overtakes = true;
	return 0;
}

#endif
