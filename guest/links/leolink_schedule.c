// SPDX-License-Identifier: GPL-2.0-only
/*
 * Computes when a packet starts, departs and arrives, and whether it is lost. The comment at the top of leolink_qdisc.c
 * explains the rules.
 */
#include <linux/math64.h>
#include "leolink.h"

/* Serialisation time of a packet. */
u32 leolink_serialise_ns(struct leolink_sched *q, u32 bytes)
{
	if (!q->rate_bps)
		return 0;
	if (bytes != q->last_bytes) {
		q->last_bytes = bytes;
		q->last_serialise_ns = div64_u64((u64)bytes * 8 * NSEC_PER_SEC + q->rate_bps / 2, q->rate_bps);
	}
	return q->last_serialise_ns;
}

/* On any kind of link, removes packets whose transmission has begun from the count of waiting packets. */
void leolink_advance_any(struct leolink_sched *q, u64 now)
{
	if (q->overtakes)
		leolink_waiting_advance(q, now);
	else if (!q->child)
		leolink_advance(q, now);
}

/*
 * Determines whether packets can take the short path through the link's queue. On nearly all links, nearly all packets
 * take the short path.
 */
void leolink_set_plain(struct leolink_sched *q)
{
	bool asks = q->child || q->holds || q->windows;

	q->plain = !leolink_has_table(q) && !q->overtakes && !(q->order & LEOLINK_ORDER_NUMBER) && !asks;
	q->asks_nobody = !q->plain && !asks;
}

/*
 * Must not be called for a link with a child. Sets the link's event to the arrival of its first packet or to the end of
 * its first hold, whichever is earlier.
 */
void leolink_arm_next(struct leolink_sched *q, u64 now)
{
	struct sk_buff *head = q->sch->q.head;
	u64 at = q->hold_due_ns;

	if (head)
		at = min(at, cb(head)->arrive_ns);
	if (at == U64_MAX)
		leolink_disarm(q);
	else
		leolink_arm(q, at, now);
}

/* splitmix64: each link has its own random stream, so the traffic of other links does not affect its losses */
static u32 draw(struct leolink_sched *q)
{
	u64 z = (q->random += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) >> 32;
}

static bool is_lost(struct leolink_sched *q, u32 share)
{
	return share && (share == U32_MAX || draw(q) < share);
}

/* Computes when a packet departs and arrives, and whether it is lost, if its transmission begins at `start`. */
static void schedule_by_rate(struct leolink_sched *q, struct sk_buff *skb, u64 start)
{
	struct leolink_cb *c = cb(skb);
	u32 bytes = link_bytes(q, skb);

	c->start_ns = start;
	c->serialise_ns = leolink_serialise_ns(q, bytes);
	c->lost = is_lost(q, q->loss);
	q->busy_until_ns = start + c->serialise_ns;
	q->r.busy_ns += c->serialise_ns;
	c->arrive_ns = q->busy_until_ns + q->r.delay_ns;
}

/* Same as schedule_by_rate, for a link with tables. */
static void schedule_by_table(struct leolink_sched *q, struct sk_buff *skb, u64 start)
{
	u64 depart = start, probe = 0, delay = q->r.delay_ns, rest;
	struct leolink_cb *c = cb(skb);
	u32 bytes = link_bytes(q, skb), loss = q->loss;

	c->start_ns = start;
	c->serialise_ns = 0;	/* unused: it is needed only when the rate changes, and tables do not change */
	if (start == U64_MAX) {
		/* the table ends with capacity 0, so no packet is ever sent again */
		c->lost = 0;
		q->busy_until_ns = U64_MAX;
		c->arrive_ns = U64_MAX;
		return;
	}
	if (q->capacity.count) {
		u32 row = leolink_table_find(&q->capacity, start);
		u64 credit = start == q->sent_until_ns ? q->credit : 0;

		depart = leolink_table_sent_ns(&q->capacity, row, start, bytes, credit, &q->credit);
		q->sent_until_ns = depart;
		if (q->probe_bytes)
			probe = leolink_table_sent_ns(&q->capacity, row, start, q->probe_bytes, credit, &rest) - start;
	} else {
		depart += leolink_serialise_ns(q, bytes);
		probe = leolink_serialise_ns(q, q->probe_bytes);
	}
	if (q->channel.count) {
		const struct leolink_row *row = &q->channel.rows[leolink_table_find(&q->channel, start)];

		delay = row->value;
		loss = row->loss;
	}
	c->lost = is_lost(q, loss);
	q->busy_until_ns = depart;
	if (depart == U64_MAX) {
		c->arrive_ns = U64_MAX;
		return;
	}
	q->r.busy_ns += depart - start;
	c->arrive_ns = delay > probe ? depart + (delay - probe) : depart;
}

/* Counts a packet as waiting. */
static void count_waiting(struct leolink_sched *q, u32 bytes, u64 now)
{
	q->r.waiting_bytes += bytes;
	q->r.waiting_pkts++;
	leolink_note_maxima(q, now);
}

/* Appends a packet to the queue. */
static void append(struct leolink_sched *q, struct sk_buff *skb, u64 now)
{
	struct leolink_cb *c = cb(skb);

	c->arrive_ns = max(c->arrive_ns, q->last_arrive_ns);
	q->last_arrive_ns = c->arrive_ns;
	__qdisc_enqueue_tail(skb, &q->sch->q);
	if (c->start_ns > now) {
		if (!q->first_waiting)
			q->first_waiting = skb;
		count_waiting(q, link_bytes(q, skb), now);
	}
}

/* Sends a packet over a plain link, from `start` on. */
void leolink_transmit_plain(struct leolink_sched *q, struct sk_buff *skb, u64 start, u64 now)
{
	schedule_by_rate(q, skb, start);
	append(q, skb, now);
}

/* Sends a packet over any link, now or when the serialiser becomes free. */
void leolink_transmit(struct leolink_sched *q, struct sk_buff *skb, u64 now)
{
	u64 start = max(now, q->busy_until_ns);

	if (leolink_has_table(q)) {
		if (q->capacity.count && start != U64_MAX)
			start = leolink_table_ready_ns(&q->capacity, start);
		schedule_by_table(q, skb, start);
	} else {
		schedule_by_rate(q, skb, start);
	}
	if (!q->overtakes) {
		append(q, skb, now);
		return;
	}
	leolink_insert_by_arrival(q->sch, skb);
	if (start > now) {
		leolink_waiting_push(q, start, link_bytes(q, skb));
		count_waiting(q, link_bytes(q, skb), now);
	}
}

/*
 * Applies a new rate or delay to every packet that has not departed. A packet that is being transmitted keeps its rate,
 * but gets the new delay.
 */
void leolink_reschedule(struct Qdisc *sch, u64 now)
{
	struct leolink_sched *q = qdisc_priv(sch);
	u64 depart = 0, arrive = 0;
	struct sk_buff *skb;

	/*
	 * if a link has a table, its packets keep their times, because tables are fixed in advance. A new rate or delay
	 * beside the table applies only to packets that are sent from now on
	 */
	if (leolink_has_table(q) || q->overtakes)
		return;
	if (!sch->q.head) {
		q->busy_until_ns = min(q->busy_until_ns, now);
		return;
	}
	for (skb = sch->q.head; skb; skb = skb->next) {
		struct leolink_cb *c = cb(skb);

		if (c->start_ns > now) {
			c->start_ns = max(depart, now);
			q->r.busy_ns -= c->serialise_ns;
			c->serialise_ns = leolink_serialise_ns(q, link_bytes(q, skb));
			q->r.busy_ns += c->serialise_ns;
		}
		depart = c->start_ns + c->serialise_ns;
		if (depart > now)
			c->arrive_ns = max(depart + q->r.delay_ns, arrive);
		arrive = c->arrive_ns;
	}
	q->busy_until_ns = depart;
	q->last_arrive_ns = arrive;
	leolink_arm_next(q, now);
}
