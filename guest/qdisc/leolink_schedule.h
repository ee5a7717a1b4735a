/* SPDX-License-Identifier: GPL-2.0-only */
/* When a packet starts, departs and arrives, and whether it gets lost: leolink.c's head has the rules. */
#ifndef LEOLINK_SCHEDULE_H
#define LEOLINK_SCHEDULE_H

#include "leolink.h"
#include "leolink_overtake.h"
#include "leolink_table.h"

static u32 serialise_ns(struct leolink_sched *q, u32 bytes)
{
	if (!q->rate_bps)
		return 0;
	if (bytes != q->last_bytes) {
		q->last_bytes = bytes;
		q->last_serialise_ns = div64_u64((u64)bytes * 8 * NSEC_PER_SEC + q->rate_bps / 2, q->rate_bps);
	}
	return q->last_serialise_ns;
}

/* Packets whose transmission has begun by now no longer wait. */
static void advance(struct leolink_sched *q, u64 now)
{
	while (q->first_waiting && cb(q->first_waiting)->start_ns <= now) {
		q->r.waiting_pkts--;
		q->r.waiting_bytes -= link_bytes(q, q->first_waiting);
		q->first_waiting = q->first_waiting->next;
	}
}

/* The same for any link. */
static void advance_any(struct leolink_sched *q, u64 now)
{
	if (q->overtakes)
		waiting_advance(q, now);
	else if (!q->child)
		advance(q, now);
}

/* splitmix64: the link's own stream, so that another link's traffic does not change it */
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

/* Fills in when a packet that is sent next starts, departs and arrives, and whether it gets lost. */
static void schedule_by_rate(struct leolink_sched *q, struct sk_buff *skb, u64 start)
{
	struct leolink_cb *c = cb(skb);
	u32 bytes = link_bytes(q, skb);

	c->start_ns = start;
	c->serialise_ns = serialise_ns(q, bytes);
	c->lost = is_lost(q, q->loss);
	q->busy_until_ns = start + c->serialise_ns;
	q->r.busy_ns += c->serialise_ns;
	c->arrive_ns = q->busy_until_ns + q->r.delay_ns;
}

/* The same by the tables. */
static void schedule_by_table(struct leolink_sched *q, struct sk_buff *skb, u64 start)
{
	u64 depart = start, probe = 0, delay = q->r.delay_ns, rest;
	struct leolink_cb *c = cb(skb);
	u32 bytes = link_bytes(q, skb), loss = q->loss;

	c->start_ns = start;
	c->serialise_ns = 0;	/* tables do not change: nothing is worked out again */
	if (start == U64_MAX) {
		/* nothing is ever sent again */
		c->lost = 0;
		q->busy_until_ns = U64_MAX;
		c->arrive_ns = U64_MAX;
		return;
	}
	if (q->capacity.count) {
		u32 row = table_find(&q->capacity, start);
		u64 credit = start == q->sent_until_ns ? q->credit : 0;

		depart = table_sent_ns(&q->capacity, row, start, bytes, credit, &q->credit);
		q->sent_until_ns = depart;
		if (q->probe_bytes)
			probe = table_sent_ns(&q->capacity, row, start, q->probe_bytes, credit, &rest) - start;
	} else {
		depart += serialise_ns(q, bytes);
		probe = serialise_ns(q, q->probe_bytes);
	}
	if (q->channel.count) {
		const struct leolink_row *row = &q->channel.rows[table_find(&q->channel, start)];

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

static bool has_table(const struct leolink_sched *q)
{
	return q->capacity.count || q->channel.count;
}

#endif
