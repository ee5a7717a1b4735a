// SPDX-License-Identifier: GPL-2.0-only
/*
 * leolink: one direction of an emulated link, in the exact virtual time of User Mode Linux.
 *
 * Before working on this file read net/sched/sch_netem.c (what it replaces), net/sched/sch_generic.c (who calls
 * it) and arch/um/kernel/time.c (the clock).
 *
 *	queue -> serialiser -> delay line
 *
 * A packet of `bytes` (frame length plus the link's overhead) that is offered at `now`
 *
 *	starts  at	start  = max(now, end of the transmission before it)
 *	departs at	depart = start + 8 bytes / rate
 *	arrives at	arrive = max(depart + delay, arrival of the packet before it)
 *
 * so a link is FIFO whatever happens to its delay. The delay is the one in force when the last bit departs. Packets
 * with start > now wait, and only they count against the limit. A lost packet takes its place in the queue and on the
 * wire, and is discarded where it would have arrived.
 *
 * With tables (leolink_table.h) what the link does is known beforehand, to the nanosecond:
 *
 *	starts  at	the first instant from max(now, end of the transmission before it) on at which capacity is above 0
 *	departs at	depart = when the capacity since then has added up to 8 bytes
 *	arrives at	arrive = max(depart, depart - probe + delay(start), arrival of the packet before it)
 *
 * where probe is the time that probe_bytes would have taken: a delay that was measured holds the transmission of the
 * packet that measured it. Packets that overtake (leolink_overtake.h) do not wait for the one before; another queueing
 * discipline can stand in place of the FIFO (leolink_child.h).
 *
 * What netem does otherwise: its limit counts the delay line too, a rate or delay that changes does not reach packets
 * already queued, its counters do not say why a packet was dropped, and each packet costs a pass through the clock
 * event device, which is half of all the time of a run (design/leolink.md).
 *
 * User Mode Linux has one processor and no preemption here: what is shared between an interrupt and the rest is
 * guarded by local_irq_save, the rest by the qdisc's own lock.
 */
#include <linux/init.h>
#include <linux/rtnetlink.h>
#include "leolink.h"
#include "leolink_arrivals.h"
#include "leolink_child.h"
#include "leolink_overtake.h"
#include "leolink_proc.h"
#include "leolink_schedule.h"
#include "leolink_table.h"

/* ---- the model ---- */

/* Counts a packet that waits until `start`. */
static void count_waiting(struct leolink_sched *q, u32 bytes)
{
	q->r.waiting_bytes += bytes;
	q->r.waiting_pkts++;
	q->r.max_pkts = max(q->r.max_pkts, q->r.waiting_pkts);
	q->r.max_pkts_since_read = max(q->r.max_pkts_since_read, q->r.waiting_pkts);
}

/* Takes the last place in the queue and on the wire. */
static void append(struct leolink_sched *q, struct sk_buff *skb)
{
	struct leolink_cb *c = cb(skb);

	c->arrive_ns = max(c->arrive_ns, q->last_arrive_ns);
	q->last_arrive_ns = c->arrive_ns;
	__qdisc_enqueue_tail(skb, &q->sch->q);
}

/* Sends a packet over a link that is not plain, now or when the serialiser is free. */
static void transmit(struct leolink_sched *q, struct sk_buff *skb, u64 now)
{
	u64 start = max(now, q->busy_until_ns);
	struct Qdisc *sch = q->sch;

	if (has_table(q)) {
		if (q->capacity.count && start != U64_MAX)
			start = table_ready_ns(&q->capacity, start);
		schedule_by_table(q, skb, start);
	} else {
		schedule_by_rate(q, skb, start);
	}
	if (q->overtakes)
		insert_by_arrival(sch, skb);
	else
		append(q, skb);
	if (start > now) {
		if (q->overtakes)
			waiting_push(q, start, link_bytes(q, skb));
		else if (!q->first_waiting)
			q->first_waiting = skb;
		count_waiting(q, link_bytes(q, skb));
	}
}

static void arm_for_head(struct leolink_sched *q, u64 now)
{
	struct sk_buff *head = q->sch->q.head;

	if (head && cb(head)->arrive_ns != U64_MAX)
		arm(q, cb(head)->arrive_ns, now);
	else
		disarm(q);
}

static bool has_no_room(const struct leolink_sched *q, u32 bytes)
{
	return q->r.waiting_pkts >= q->limit_pkts ||
	       (q->limit_bytes != U32_MAX && q->r.waiting_bytes + bytes > q->limit_bytes);
}

static int refuse(struct leolink_sched *q, struct sk_buff *skb, enum leolink_cause cause, u64 now,
		  struct sk_buff **to_free)
{
	record_drop(q, skb, cause, now);
	return qdisc_drop(skb, q->sch, to_free);
}

static int enqueue_special(struct leolink_sched *q, struct sk_buff *skb, struct sk_buff **to_free, u64 now)
{
	bool waits;
	int ret;

	if (q->child) {
		ret = enqueue_to_child(q, skb, to_free, now);
		rearm(q, now);
		return ret;
	}
	advance_any(q, now);
	waits = q->busy_until_ns > now || (q->capacity.count && !q->capacity.rows[table_find(&q->capacity, now)].value);
	if (waits && has_no_room(q, link_bytes(q, skb)))
		return refuse(q, skb, CAUSE_QUEUE, now, to_free);
	transmit(q, skb, now);
	if (!q->place || q->overtakes)
		arm_for_head(q, now);
	return NET_XMIT_SUCCESS;
}

static int leolink_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct leolink_sched *q = qdisc_priv(sch);
	u32 bytes = link_bytes(q, skb);
	u64 now = now_ns(), start;

	q->r.offered_pkts++;
	q->r.offered_bytes += bytes;
	if (unlikely(q->down))
		return refuse(q, skb, CAUSE_DOWN, now, to_free);
	if (unlikely(!q->plain))
		return enqueue_special(q, skb, to_free, now);

	advance(q, now);
	start = max(now, q->busy_until_ns);
	if (start > now && has_no_room(q, bytes))
		return refuse(q, skb, CAUSE_QUEUE, now, to_free);
	schedule_by_rate(q, skb, start);
	append(q, skb);
	if (start > now) {
		if (!q->first_waiting)
			q->first_waiting = skb;
		count_waiting(q, bytes);
	}
	if (!q->place)
		arm(q, cb(sch->q.head)->arrive_ns, now);
	return NET_XMIT_SUCCESS;
}

/* The next packet will be wanted in a few microseconds of real time, and has left the cache while it was under way. */
static void prefetch_packet(const struct sk_buff *skb)
{
	prefetch(skb);
	prefetch(skb->cb);
	prefetch(&skb->len);
	prefetch(&skb->head);
	prefetch(skb->data);
}

/* advance() for a link that is not plain; the head is to leave the list. */
static void before_dequeue(struct leolink_sched *q, struct sk_buff *head, u64 now)
{
	advance_any(q, now);
	if (q->overtakes)
		forget_neighbours(head);
}

/* Takes the head if it has arrived, NULL if it has not or there is none. Lost packets end here. */
static struct sk_buff *due(struct leolink_sched *q, u64 now)
{
	struct Qdisc *sch = q->sch;
	struct sk_buff *skb;

	while ((skb = sch->q.head) && cb(skb)->arrive_ns <= now) {
		bool lost = cb(skb)->lost;

		if (unlikely(!q->plain))
			before_dequeue(q, skb, now);
		else
			advance(q, now);
		__qdisc_dequeue_head(&sch->q);
		if (!lost) {
			q->r.delivered_pkts++;
			q->r.delivered_bytes += link_bytes(q, skb);
			if (sch->q.head)
				prefetch_packet(sch->q.head);
			return skb;
		}
		record_drop(q, skb, CAUSE_LOSS, now);
		dev_kfree_skb_any(skb);
	}
	return NULL;
}

/* The transmit path: only packets that are due at once (no delay, no rate) or that leolink_fire leaves to it. */
static struct sk_buff *leolink_dequeue(struct Qdisc *sch)
{
	struct leolink_sched *q = qdisc_priv(sch);
	u64 now = now_ns();
	struct sk_buff *skb;

	/* called after each enqueue too, when nothing has arrived: without a look at the head, which is out of the cache */
	if (q->place && heap[q->place].at_ns > now)
		return NULL;
	if (unlikely(!q->plain) && q->child) {
		pull(q, now);
		skb = due(q, now);
		rearm(q, now);
		return skb;
	}
	skb = due(q, now);
	if (sch->q.head)
		arm_for_head(q, now);
	else
		disarm(q);
	return skb;
}

/*
 * Interrupt: what has arrived goes straight into the receive queue of the device at the other end, as veth_xmit would
 * put it, but without a pass through the transmit softirq (a tenth of all the time of a run). No lock is needed: the
 * clock moves only when the processor is idle or a process reads it with softirqs on, so that this never interrupts
 * the qdisc. A packet that a socket still owns takes the usual way, because its release must not happen here.
 */
static void leolink_fire(struct time_travel_event *e)
{
	u64 now = now_ns();

	while (heap_count && heap[1].at_ns <= now) {
		struct leolink_sched *q = heap[1].q;
		struct net_device *dev = qdisc_dev(q->sch), *peer;
		struct sk_buff *skb;

		if (unlikely(!q->plain) && q->child) {
			/* disciplines of the kernel's are not made for interrupts */
			leave(q);
			__netif_schedule(q->sch);
			continue;
		}
		rcu_read_lock();
		peer = dev->netdev_ops->ndo_get_peer_dev ? dev->netdev_ops->ndo_get_peer_dev(dev) : NULL;
		while (peer && q->sch->q.head && !q->sch->q.head->sk && (skb = due(q, now)))
			dev_forward_skb(peer, skb);
		rcu_read_unlock();
		skb = q->sch->q.head;
		if (skb && cb(skb)->arrive_ns > now && cb(skb)->arrive_ns != U64_MAX) {
			enter(q, cb(skb)->arrive_ns);
			continue;
		}
		leave(q);
		if (skb && cb(skb)->arrive_ns <= now)
			__netif_schedule(q->sch);
	}
	set_next_arrival(now);
}

/* A new rate or delay reaches every packet that has not departed; one in transmission keeps the rate it began with. */
static void reschedule(struct Qdisc *sch, u64 now)
{
	struct leolink_sched *q = qdisc_priv(sch);
	u64 depart = 0, arrive = 0;
	struct sk_buff *skb;

	/* tables know beforehand; a single value beside one holds for what is sent from now on */
	if (has_table(q) || q->overtakes)
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
			c->serialise_ns = serialise_ns(q, link_bytes(q, skb));
			q->r.busy_ns += c->serialise_ns;
		}
		depart = c->start_ns + c->serialise_ns;
		if (depart > now)
			c->arrive_ns = max(depart + q->r.delay_ns, arrive);
		arrive = c->arrive_ns;
	}
	q->busy_until_ns = depart;
	q->last_arrive_ns = arrive;
	arm(q, cb(sch->q.head)->arrive_ns, now);
}

static void flush(struct Qdisc *sch, u64 now)
{
	struct leolink_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;

	disarm(q);
	while ((skb = __qdisc_dequeue_head(&sch->q))) {
		skb->prev = NULL;
		record_drop(q, skb, CAUSE_DOWN, now);
		rtnl_kfree_skbs(skb, skb);
	}
	if (q->child)
		flush_child(q, now);
	q->first_waiting = NULL;
	q->waiting_count = 0;
	q->r.waiting_pkts = 0;
	q->r.waiting_bytes = 0;
	q->busy_until_ns = now;
	q->last_arrive_ns = now;
}

/* ---- netlink ---- */

static const struct nla_policy policy[LEOLINK_MAX + 1] = {
	[LEOLINK_ID] = { .type = NLA_U32 },
	[LEOLINK_RATE_BPS] = { .type = NLA_U64 },
	[LEOLINK_DELAY_NS] = { .type = NLA_U64 },
	[LEOLINK_LIMIT_PKTS] = { .type = NLA_U32 },
	[LEOLINK_LIMIT_BYTES] = { .type = NLA_U32 },
	[LEOLINK_OVERHEAD_BYTES] = { .type = NLA_S32 },
	[LEOLINK_LOSS] = { .type = NLA_U32 },
	[LEOLINK_SEED] = { .type = NLA_U64 },
	[LEOLINK_DOWN] = { .type = NLA_U32 },
	[LEOLINK_FLUSH] = { .type = NLA_FLAG },
	[LEOLINK_CAPACITY] = { .type = NLA_BINARY },
	[LEOLINK_CHANNEL] = { .type = NLA_BINARY },
	[LEOLINK_ORIGIN] = { .type = NLA_U64 },
	[LEOLINK_IN_ORDER] = { .type = NLA_U32 },
	[LEOLINK_PROBE_BYTES] = { .type = NLA_U32 },
};

/* What cannot be while packets are held, or at all. */
static int refused(const struct leolink_sched *q, struct nlattr *tb[], struct netlink_ext_ack *extack)
{
	bool holds = q->sch->q.qlen;
	u64 rate = tb[LEOLINK_RATE_BPS] ? nla_get_u64(tb[LEOLINK_RATE_BPS]) : 0;

	if (rate && rate < MIN_RATE_BPS) {
		NL_SET_ERR_MSG_MOD(extack, "rate below 8 kbit/s");
		return -EINVAL;
	}
	if (rate && q->capacity.count) {
		NL_SET_ERR_MSG_MOD(extack, "a rate, and there is a table of capacities");
		return -EINVAL;
	}
	if (q->channel.count && ((tb[LEOLINK_DELAY_NS] && nla_get_u64(tb[LEOLINK_DELAY_NS])) ||
				 (tb[LEOLINK_LOSS] && nla_get_u32(tb[LEOLINK_LOSS])))) {
		NL_SET_ERR_MSG_MOD(extack, "a delay or a loss, and there is a table of them");
		return -EINVAL;
	}
	if (holds && (tb[LEOLINK_OVERHEAD_BYTES] || tb[LEOLINK_CAPACITY] || tb[LEOLINK_CHANNEL] || tb[LEOLINK_IN_ORDER])) {
		NL_SET_ERR_MSG_MOD(extack, "overhead, tables and order cannot change while packets are held");
		return -EBUSY;
	}
	return 0;
}

/* What may sleep, and so comes before the lock is taken. */
static int leolink_change_tables(struct leolink_sched *q, struct nlattr *tb[], struct netlink_ext_ack *extack)
{
	int err = 0;

	if (tb[LEOLINK_LIMIT_PKTS] && !q->overtakes)
		q->limit_pkts = nla_get_u32(tb[LEOLINK_LIMIT_PKTS]);
	if (tb[LEOLINK_ORIGIN])
		q->origin_ns = nla_get_u64(tb[LEOLINK_ORIGIN]);
	if (tb[LEOLINK_CAPACITY])
		err = table_append(&q->capacity, q->origin_ns, tb[LEOLINK_CAPACITY], true);
	if (!err && tb[LEOLINK_CHANNEL])
		err = table_append(&q->channel, q->origin_ns, tb[LEOLINK_CHANNEL], false);
	if (err)
		NL_SET_ERR_MSG_MOD(extack, "a table's rows are not in order of time, too many, or out of range");
	else if (tb[LEOLINK_IN_ORDER] && !nla_get_u32(tb[LEOLINK_IN_ORDER])) {
		err = overtake_begin(q);
		if (err)
			NL_SET_ERR_MSG_MOD(extack, "packets that overtake need a limit of 1 to 65536 packets");
	}
	return err;
}

static int leolink_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct leolink_sched *q = qdisc_priv(sch);
	struct nlattr *tb[LEOLINK_MAX + 1];
	u64 now;
	int err;

	if (!opt)
		return 0;
	err = nla_parse_nested(tb, LEOLINK_MAX, opt, policy, extack);
	if (!err)
		err = refused(q, tb, extack);
	if (!err)
		err = leolink_change_tables(q, tb, extack);
	if (err)
		return err;

	sch_tree_lock(sch);
	now = now_ns();
	advance_any(q, now);
	q->plain = !has_table(q) && !q->overtakes && !q->child;
	if (tb[LEOLINK_RATE_BPS])
		q->rate_bps = nla_get_u64(tb[LEOLINK_RATE_BPS]);
	q->last_bytes = 0;
	if (tb[LEOLINK_ID])
		q->r.id = nla_get_u32(tb[LEOLINK_ID]);
	if (tb[LEOLINK_DELAY_NS])
		q->r.delay_ns = nla_get_u64(tb[LEOLINK_DELAY_NS]);
	if (tb[LEOLINK_LIMIT_BYTES])
		q->limit_bytes = nla_get_u32(tb[LEOLINK_LIMIT_BYTES]);
	if (tb[LEOLINK_OVERHEAD_BYTES])
		q->overhead_bytes = nla_get_s32(tb[LEOLINK_OVERHEAD_BYTES]);
	if (tb[LEOLINK_LOSS])
		q->loss = nla_get_u32(tb[LEOLINK_LOSS]);
	if (tb[LEOLINK_SEED])
		q->random = nla_get_u64(tb[LEOLINK_SEED]);
	if (tb[LEOLINK_PROBE_BYTES])
		q->probe_bytes = nla_get_u32(tb[LEOLINK_PROBE_BYTES]);
	if (tb[LEOLINK_DOWN])
		q->down = nla_get_u32(tb[LEOLINK_DOWN]);
	if (nla_get_flag(tb[LEOLINK_FLUSH]))
		flush(sch, now);
	else if (tb[LEOLINK_RATE_BPS] || tb[LEOLINK_DELAY_NS])
		reschedule(sch, now);
	advance_any(q, now);
	sch_tree_unlock(sch);
	return 0;
}

static int leolink_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct leolink_sched *q = qdisc_priv(sch);

	if (time_travel_mode != TT_MODE_INFCPU) {
		NL_SET_ERR_MSG_MOD(extack, "needs time-travel=inf-cpu");
		return -EOPNOTSUPP;
	}
	if (links_count == heap_room) {
		u32 room = max(64u, 2 * heap_room);
		struct arrival *more = kvmalloc_array(room + 1, sizeof(*more), GFP_KERNEL), *old = heap;

		if (!more)
			return -ENOMEM;
		if (old)
			memcpy(more, old, (heap_count + 1) * sizeof(*more));
		heap = more;
		heap_room = room;
		kvfree(old);
	}
	links_count++;
	q->sch = sch;
	q->limit_pkts = U32_MAX;
	q->limit_bytes = U32_MAX;
	q->r.id = U32_MAX;
	list_add_tail(&q->all, &links);
	return leolink_change(sch, opt, extack);
}

static void leolink_reset(struct Qdisc *sch)
{
	struct leolink_sched *q = qdisc_priv(sch);

	flush(sch, now_ns());
	if (q->child)
		qdisc_reset(q->child);
}

static void leolink_destroy(struct Qdisc *sch)
{
	struct leolink_sched *q = qdisc_priv(sch);

	disarm(q);
	if (q->child)
		qdisc_put(q->child);
	table_free(&q->capacity);
	table_free(&q->channel);
	kvfree(q->waiting);
	/* core calls destroy after a failed init too, and init may have failed before the list was joined */
	if (q->sch) {
		list_del(&q->all);
		links_count--;
	}
}

static int leolink_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct leolink_sched *q = qdisc_priv(sch);
	struct nlattr *opts = nla_nest_start(skb, TCA_OPTIONS);

	if (!opts ||
	    nla_put_u32(skb, LEOLINK_ID, q->r.id) ||
	    nla_put_u64_64bit(skb, LEOLINK_RATE_BPS, q->rate_bps, LEOLINK_UNSPEC) ||
	    nla_put_u64_64bit(skb, LEOLINK_DELAY_NS, q->r.delay_ns, LEOLINK_UNSPEC) ||
	    nla_put_u32(skb, LEOLINK_LIMIT_PKTS, q->limit_pkts) ||
	    nla_put_u32(skb, LEOLINK_LIMIT_BYTES, q->limit_bytes) ||
	    nla_put_s32(skb, LEOLINK_OVERHEAD_BYTES, q->overhead_bytes) ||
	    nla_put_u32(skb, LEOLINK_LOSS, q->loss) ||
	    nla_put_u32(skb, LEOLINK_DOWN, q->down)) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}

static struct Qdisc_ops leolink_ops __read_mostly = {
	.id = "leolink",
	.cl_ops = &leolink_class_ops,
	.priv_size = sizeof(struct leolink_sched),
	.enqueue = leolink_enqueue,
	.dequeue = leolink_dequeue,
	.peek = qdisc_peek_dequeued,
	.init = leolink_init,
	.reset = leolink_reset,
	.destroy = leolink_destroy,
	.change = leolink_change,
	.dump = leolink_dump,
};

static int __init leolink_register(void)
{
	int err = leolink_proc_register();

	return err ? err : register_qdisc(&leolink_ops);
}
device_initcall(leolink_register);
