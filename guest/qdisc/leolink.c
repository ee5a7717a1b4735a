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
 * What netem does otherwise: its limit counts the delay line too, a rate or delay that changes does not reach packets already queued, its counters do not say why a packet was
 * dropped, and each packet costs a pass through the clock event device, which is half of all the time of a run
 * (design/leolink.md).
 *
 * User Mode Linux has one processor and no preemption here: what is shared between an interrupt and the rest is
 * guarded by local_irq_save, the rest by the qdisc's own lock.
 */
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/prefetch.h>
#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/time-internal.h>
#include <linux/vmalloc.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include "clock.h"

enum {
	LEOLINK_UNSPEC,
	LEOLINK_ID,		/* u32: the direction's number in the scenario */
	LEOLINK_RATE_BPS,	/* u64: 0 = unshaped */
	LEOLINK_DELAY_NS,	/* u64 */
	LEOLINK_LIMIT_PKTS,	/* u32: U32_MAX = none */
	LEOLINK_LIMIT_BYTES,	/* u32: U32_MAX = none */
	LEOLINK_OVERHEAD_BYTES,	/* s32: on top of the frame's length */
	LEOLINK_LOSS,		/* u32: share of 2^32 */
	LEOLINK_SEED,		/* u64 */
	LEOLINK_DOWN,		/* u32: 1 = refuse what is offered */
	LEOLINK_FLUSH,		/* flag: lose what is held */
	__LEOLINK_MAX,
};
#define LEOLINK_MAX (__LEOLINK_MAX - 1)

enum leolink_cause { CAUSE_QUEUE, CAUSE_LOSS, CAUSE_DOWN, CAUSES };

/* 31 bits hold the serialisation time in ns: 1,514 bytes at 8 kbit/s take 1.5 s */
#define MIN_RATE_BPS	8000

struct leolink_cb {
	u64 start_ns;
	u64 arrive_ns;
	u32 serialise_ns : 31;
	u32 lost : 1;
} __packed __aligned(4);	/* 20 bytes are all that a qdisc has in an skb */

/* One record of /proc/leolink/links. crates/agent reads it by these offsets. */
struct leolink_record {
	u32 id;
	u32 waiting_pkts;
	u64 waiting_bytes;
	u32 max_pkts_since_read;
	u32 max_pkts;
	u64 offered_pkts, offered_bytes;
	u64 delivered_pkts, delivered_bytes;
	u64 dropped_pkts[CAUSES], dropped_bytes[CAUSES];
	u64 held_pkts, held_bytes;
	u64 busy_ns;		/* transmitting, all that was accepted */
	u64 delay_ns;
};

/* One record of /proc/leolink/drops: which packet was lost, where, when, why. */
struct leolink_drop {
	u64 t_ns;
	u32 id;
	u32 cause;		/* 1 queue, 2 loss, 3 link down */
	u32 frame_bytes;
	u32 captured;
	u8 data[40];		/* from the IP header on */
};

struct leolink_sched {
	/* what every packet touches, together */
	u32 place;		/* in the heap of arrivals, from 1; 0 = no arrival is due */
	bool down;
	s32 overhead_bytes;
	u32 last_bytes, last_serialise_ns;
	u32 loss;
	u64 rate_bps;
	u64 busy_until_ns, last_arrive_ns;
	struct sk_buff *first_waiting;
	struct Qdisc *sch;

	u32 limit_pkts, limit_bytes;
	struct leolink_record r;	/* held_* are worked out when it is read */
	u64 random;
	struct list_head all;
};

static LIST_HEAD(links);
static u32 links_count;

#define DROPS_MAX 65536
static struct leolink_drop *drops;
static u32 drops_head, drops_count;
static u64 drops_overrun;

static struct leolink_cb *cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct leolink_cb));
	return (struct leolink_cb *)qdisc_skb_cb(skb)->data;
}

/* ---- the clock: one time-travel event for the earliest arrival of all links ---- */

static void leolink_fire(struct time_travel_event *e);

static struct time_travel_event next_arrival = { .fn = leolink_fire };

static u64 now_ns(void)
{
	return time_travel_time;
}

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

/* ---- the model ---- */

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

static u32 link_bytes(const struct leolink_sched *q, const struct sk_buff *skb)
{
	return qdisc_pkt_len(skb) + q->overhead_bytes;
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

/* splitmix64: the link's own stream, so that another link's traffic does not change it */
static u32 draw(struct leolink_sched *q)
{
	u64 z = (q->random += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return (z ^ (z >> 31)) >> 32;
}

static void record_drop(struct leolink_sched *q, struct sk_buff *skb, enum leolink_cause cause, u64 now)
{
	u32 bytes = link_bytes(q, skb);
	struct leolink_drop *d;
	int offset = skb_network_offset(skb), length;

	q->r.dropped_pkts[cause]++;
	q->r.dropped_bytes[cause] += bytes;
	if (drops_count == DROPS_MAX) {
		drops_overrun++;
		return;
	}
	d = &drops[(drops_head + drops_count++) % DROPS_MAX];
	length = min_t(int, sizeof(d->data), (int)skb->len - offset);
	d->t_ns = now;
	d->id = q->r.id;
	d->cause = cause + 1;
	d->frame_bytes = qdisc_pkt_len(skb);
	memset(d->data, 0, sizeof(d->data));
	d->captured = length > 0 && !skb_copy_bits(skb, offset, d->data, length) ? length : 0;
}

static int leolink_enqueue(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free)
{
	struct leolink_sched *q = qdisc_priv(sch);
	u32 bytes = link_bytes(q, skb);
	u64 now = now_ns(), start;
	struct leolink_cb *c;

	q->r.offered_pkts++;
	q->r.offered_bytes += bytes;
	if (unlikely(q->down)) {
		record_drop(q, skb, CAUSE_DOWN, now);
		return qdisc_drop(skb, sch, to_free);
	}

	advance(q, now);
	start = max(now, q->busy_until_ns);
	if (start > now && (q->r.waiting_pkts >= q->limit_pkts ||
			    (q->limit_bytes != U32_MAX && q->r.waiting_bytes + bytes > q->limit_bytes))) {
		record_drop(q, skb, CAUSE_QUEUE, now);
		return qdisc_drop(skb, sch, to_free);
	}

	c = cb(skb);
	c->start_ns = start;
	c->serialise_ns = serialise_ns(q, bytes);
	c->lost = q->loss && draw(q) < q->loss;
	q->busy_until_ns = start + c->serialise_ns;
	q->r.busy_ns += c->serialise_ns;
	c->arrive_ns = max(q->busy_until_ns + q->r.delay_ns, q->last_arrive_ns);
	q->last_arrive_ns = c->arrive_ns;

	__qdisc_enqueue_tail(skb, &sch->q);
	if (start > now) {
		if (!q->first_waiting)
			q->first_waiting = skb;
		q->r.waiting_bytes += bytes;
		q->r.waiting_pkts++;
		q->r.max_pkts = max(q->r.max_pkts, q->r.waiting_pkts);
		q->r.max_pkts_since_read = max(q->r.max_pkts_since_read, q->r.waiting_pkts);
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

/* Takes the head if it has arrived, NULL if it has not or there is none. Lost packets end here. */
static struct sk_buff *due(struct leolink_sched *q, u64 now)
{
	struct Qdisc *sch = q->sch;
	struct sk_buff *skb;

	while ((skb = sch->q.head) && cb(skb)->arrive_ns <= now) {
		bool lost = cb(skb)->lost;

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
	skb = due(q, now);
	if (sch->q.head)
		arm(q, cb(sch->q.head)->arrive_ns, now);
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

		rcu_read_lock();
		peer = dev->netdev_ops->ndo_get_peer_dev ? dev->netdev_ops->ndo_get_peer_dev(dev) : NULL;
		while (peer && q->sch->q.head && !q->sch->q.head->sk && (skb = due(q, now)))
			dev_forward_skb(peer, skb);
		rcu_read_unlock();
		if (q->sch->q.head && cb(q->sch->q.head)->arrive_ns > now) {
			enter(q, cb(q->sch->q.head)->arrive_ns);
			continue;
		}
		leave(q);
		if (q->sch->q.head)
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
		record_drop(q, skb, CAUSE_DOWN, now);
		rtnl_kfree_skbs(skb, skb);
	}
	q->first_waiting = NULL;
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
};

static int leolink_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct leolink_sched *q = qdisc_priv(sch);
	struct nlattr *tb[LEOLINK_MAX + 1];
	u64 now, rate = q->rate_bps;
	int err;

	if (!opt)
		return 0;
	err = nla_parse_nested(tb, LEOLINK_MAX, opt, policy, extack);
	if (err)
		return err;
	if (tb[LEOLINK_RATE_BPS])
		rate = nla_get_u64(tb[LEOLINK_RATE_BPS]);
	if (rate && rate < MIN_RATE_BPS) {
		NL_SET_ERR_MSG_MOD(extack, "rate below 8 kbit/s");
		return -EINVAL;
	}
	if (tb[LEOLINK_OVERHEAD_BYTES] && sch->q.qlen) {
		NL_SET_ERR_MSG_MOD(extack, "overhead cannot change while packets are held");
		return -EBUSY;
	}

	sch_tree_lock(sch);
	now = now_ns();
	advance(q, now);
	q->rate_bps = rate;
	q->last_bytes = 0;
	if (tb[LEOLINK_ID])
		q->r.id = nla_get_u32(tb[LEOLINK_ID]);
	if (tb[LEOLINK_DELAY_NS])
		q->r.delay_ns = nla_get_u64(tb[LEOLINK_DELAY_NS]);
	if (tb[LEOLINK_LIMIT_PKTS])
		q->limit_pkts = nla_get_u32(tb[LEOLINK_LIMIT_PKTS]);
	if (tb[LEOLINK_LIMIT_BYTES])
		q->limit_bytes = nla_get_u32(tb[LEOLINK_LIMIT_BYTES]);
	if (tb[LEOLINK_OVERHEAD_BYTES])
		q->overhead_bytes = nla_get_s32(tb[LEOLINK_OVERHEAD_BYTES]);
	if (tb[LEOLINK_LOSS])
		q->loss = nla_get_u32(tb[LEOLINK_LOSS]);
	if (tb[LEOLINK_SEED])
		q->random = nla_get_u64(tb[LEOLINK_SEED]);
	if (tb[LEOLINK_DOWN])
		q->down = nla_get_u32(tb[LEOLINK_DOWN]);
	if (nla_get_flag(tb[LEOLINK_FLUSH]))
		flush(sch, now);
	else if (tb[LEOLINK_RATE_BPS] || tb[LEOLINK_DELAY_NS])
		reschedule(sch, now);
	advance(q, now);
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
	flush(sch, now_ns());
}

static void leolink_destroy(struct Qdisc *sch)
{
	struct leolink_sched *q = qdisc_priv(sch);

	disarm(q);
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

/* ---- /proc/leolink ---- */

static ssize_t links_read(struct file *f, char __user *to, size_t size, loff_t *pos)
{
	struct leolink_sched *q;
	size_t done = 0;
	loff_t at = 0;
	u64 now;
	int cause;

	if (*pos % sizeof(q->r))
		return -EINVAL;
	rtnl_lock();
	now = now_ns();
	list_for_each_entry(q, &links, all) {
		struct leolink_record r;

		if (at < *pos) {
			at += sizeof(r);
			continue;
		}
		if (done + sizeof(r) > size)
			break;
		local_bh_disable();
		advance(q, now);
		r = q->r;
		r.held_pkts = r.offered_pkts - r.delivered_pkts;
		r.held_bytes = r.offered_bytes - r.delivered_bytes;
		for (cause = 0; cause < CAUSES; cause++) {
			r.held_pkts -= r.dropped_pkts[cause];
			r.held_bytes -= r.dropped_bytes[cause];
		}
		q->r.max_pkts_since_read = q->r.waiting_pkts;
		local_bh_enable();
		if (copy_to_user(to + done, &r, sizeof(r))) {
			rtnl_unlock();
			return -EFAULT;
		}
		done += sizeof(r);
	}
	rtnl_unlock();
	*pos += done;
	return done;
}

/* What has been read is gone; a full ring is an error of the reader's, said once it reads. */
static ssize_t drops_read(struct file *f, char __user *to, size_t size, loff_t *pos)
{
	size_t done = 0;

	if (drops_overrun)
		return -EOVERFLOW;
	while (drops_count && done + sizeof(*drops) <= size) {
		struct leolink_drop d;

		local_bh_disable();
		d = drops[drops_head];
		drops_head = (drops_head + 1) % DROPS_MAX;
		drops_count--;
		local_bh_enable();
		if (copy_to_user(to + done, &d, sizeof(d)))
			return -EFAULT;
		done += sizeof(d);
	}
	return done;
}

static const struct proc_ops links_ops = { .proc_read = links_read };
static const struct proc_ops drops_ops = { .proc_read = drops_read };

static int __init leolink_register(void)
{
	struct proc_dir_entry *dir;

	BUILD_BUG_ON(sizeof(struct leolink_record) != 136);
	BUILD_BUG_ON(sizeof(struct leolink_drop) != 64);
	drops = vzalloc(DROPS_MAX * sizeof(*drops));
	if (!drops)
		return -ENOMEM;
	dir = proc_mkdir("leolink", NULL);
	if (!dir || !proc_create("links", 0400, dir, &links_ops) || !proc_create("drops", 0400, dir, &drops_ops))
		return -ENOMEM;
	return register_qdisc(&leolink_ops);
}
device_initcall(leolink_register);
