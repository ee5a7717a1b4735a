// SPDX-License-Identifier: GPL-2.0-only
/*
 * Merges: an old and a new path meet at a node, and this node restores the order of packets. Packets for the host that
 * arrive on the new path wait until the marker has arrived on the old path. The wait ends at the latest `wait_ns` after
 * the arrival of the first waiting packet. When the wait ends, all waiting packets move on, in order. 3GPP TS 23.401,
 * 5.5.1.1 defines such an end marker, but does not say how the receiver restores the order. The agent reads the records
 * of merges from /proc/leolink/merges, in binary form.
 */
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/time-internal.h>
#include "leolink_cures.h"

struct merge {
	struct leolink_merged r;
	struct list_head all;
	struct leolink_sched *q;	/* link of the new path, over which packets arrive; NULL = the merge is over */
	struct leolink_node *node;
	u64 wait_ns;
	u64 until_ns;			/* U64_MAX = no packet waits */
	struct qdisc_skb_head pkts;
	bool came;
};

/* State of a packet that waits, stored in the packet's cb. */
struct merge_cb {
	u64 since_ns;
	u32 bytes;
} __packed __aligned(4);

/* Merges that are not over yet, in the order of their switches. */
static LIST_HEAD(open_merges);
static LIST_HEAD(ended_merges);
static struct time_travel_event next_end;

static struct merge_cb *merge_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct merge_cb) > sizeof(skb->cb));
	return (struct merge_cb *)skb->cb;
}

/* Removes the oldest packet that waits. */
static struct sk_buff *take(struct merge *m, u64 now)
{
	struct sk_buff *skb = __qdisc_dequeue_head(&m->pkts);

	if (!skb)
		return NULL;
	m->r.longest_ns = max(m->r.longest_ns, now - merge_cb(skb)->since_ns);
	m->q->merge_bytes -= merge_cb(skb)->bytes;
	leolink_node_release(m->node, merge_cb(skb)->bytes, true);
	return skb;
}

static void pass(struct sk_buff *skb)
{
	struct net_device *dev = skb->dev;

	dev_forward_skb(dev, skb);
	dev_put(dev);
}

static void end(struct merge *m, u64 now)
{
	struct leolink_sched *q = m->q;
	struct merge *other;

	m->r.ended_ns = now;
	list_move_tail(&m->all, &ended_merges);
	m->q = NULL;
	q->on_arrival &= ~ARRIVAL_MERGE;
	list_for_each_entry(other, &open_merges, all)
		if (other->q == q)
			q->on_arrival |= ARRIVAL_MERGE;
	m->node = NULL;
}

static bool is_behind_another(const struct merge *m)
{
	struct merge *older;

	list_for_each_entry(older, &open_merges, all) {
		if (older == m)
			return false;
		if (older->q == m->q && older->r.destination == m->r.destination && older->pkts.head)
			return true;
	}
	return false;
}

/*
 * Ends each merge whose marker has arrived or whose wait is over. A merge cannot end while another merge holds older
 * packets for the same host.
 */
static void end_what_is_over(u64 now)
{
	struct merge *m, *next;
	struct sk_buff *skb;

	list_for_each_entry_safe(m, next, &open_merges, all) {
		if ((!m->came && m->until_ns > now) || is_behind_another(m))
			continue;
		while ((skb = take(m, now)))
			pass(skb);
		end(m, now);
	}
}

static void set_next_end(u64 now)
{
	u64 next_ns = U64_MAX;
	struct merge *m;

	list_for_each_entry(m, &open_merges, all)
		next_ns = min(next_ns, m->until_ns);
	if (next_end.pending && next_end.time == next_ns)
		return;
	time_travel_del_event(&next_end);
	if (next_ns != U64_MAX)
		time_travel_add_event_rel(&next_end, next_ns > now ? next_ns - now : 0);
}

/* Interrupt: the wait of at least one merge has reached its limit. */
static void end_waits(struct time_travel_event *e)
{
	u64 now = now_ns();

	rcu_read_lock();
	end_what_is_over(now);
	rcu_read_unlock();
	set_next_end(now);
}

/* After this call, packets that arrive over this link for the given host wait for the old path's marker. May sleep. */
int leolink_merge_begin(struct leolink_sched *q, const struct leolink_merge *given)
{
	struct net_device *dev = qdisc_dev(q->sch);
	struct net_device *peer = dev->netdev_ops->ndo_get_peer_dev ? dev->netdev_ops->ndo_get_peer_dev(dev) : NULL;
	struct merge *m = kzalloc(sizeof(*m), GFP_KERNEL);
	unsigned long flags;

	if (!m || !peer) {
		kfree(m);
		return m ? -ENODEV : -ENOMEM;
	}
	m->r.t_ns = now_ns();
	m->r.marker = given->marker;
	m->r.from = given->from;
	m->r.to = q->r.id;
	m->r.destination = given->destination;
	m->wait_ns = given->wait_ns;
	m->until_ns = U64_MAX;
	m->q = q;
	local_irq_save(flags);
	m->node = leolink_node_of(dev_net(peer), q->r.id, true);
	q->merge_limit_bytes = given->limit_bytes;
	q->full_merge_sends = given->flags & LEOLINK_SWITCH_SEND;
	q->on_arrival |= ARRIVAL_MERGE;
	list_add_tail(&m->all, &open_merges);
	local_irq_restore(flags);
	return 0;
}

/*
 * Whether a packet that has arrived is a marker. A marker ends the merge that waits for it, unless this merge is
 * already over. The node does not forward the marker.
 */
bool leolink_merge_takes_marker(struct sk_buff *skb, u64 now)
{
	struct merge *m;
	u32 number;

	if (!leolink_signal_is_marker(skb, &number))
		return false;
	dev_kfree_skb_any(skb);
	list_for_each_entry(m, &ended_merges, all)
		if (m->r.marker == number)
			m->r.marker_ns = now;
	list_for_each_entry(m, &open_merges, all)
		if (m->r.marker == number) {
			m->came = true;
			m->r.marker_ns = now;
		}
	end_what_is_over(now);
	set_next_end(now);
	return true;
}

/*
 * Whether a packet that has arrived must wait. This function stores a packet that must wait. If the buffer is full,
 * this function drops the packet, or passes on the oldest packets early.
 */
bool leolink_merge_holds(struct leolink_sched *q, struct net_device *peer, struct sk_buff *skb, u64 now)
{
	struct merge *other, *m = NULL;
	u32 bytes = link_bytes(q, skb);

	list_for_each_entry(other, &open_merges, all)
		if (other->q == q && leolink_is_for(skb, other->r.destination))
			m = other;
	if (!m)
		return false;
	if (q->merge_bytes + bytes > q->merge_limit_bytes) {
		m->r.full_pkts++;
		if (!q->full_merge_sends) {
			/* the link has counted this packet as delivered; it is now counted as dropped instead */
			q->r.delivered_pkts--;
			q->r.delivered_bytes -= bytes;
			leolink_record_drop(q, skb, CAUSE_QUEUE, now);
			dev_kfree_skb_any(skb);
			return true;
		}
		while (m->pkts.head && q->merge_bytes + bytes > q->merge_limit_bytes)
			pass(take(m, now));
		if (q->merge_bytes + bytes > q->merge_limit_bytes)
			return false;
	}
	dev_hold(peer);
	skb->dev = peer;
	merge_cb(skb)->since_ns = now;
	merge_cb(skb)->bytes = bytes;
	if (m->until_ns == U64_MAX)
		m->until_ns = now + m->wait_ns;
	__qdisc_enqueue_tail(skb, &m->pkts);
	q->merge_bytes += bytes;
	leolink_node_hold(m->node, bytes, true, now);
	m->r.waited_pkts++;
	m->r.waited_bytes += bytes;
	m->r.waiting_max_bytes = max_t(u64, m->r.waiting_max_bytes, q->merge_bytes);
	set_next_end(now);
	return true;
}

static void lose(struct merge *m, u64 now)
{
	struct sk_buff *skb;

	while ((skb = take(m, now))) {
		dev_put(skb->dev);
		dev_kfree_skb_any(skb);
	}
	end(m, now);
}

/* Called when a link is removed. Drops the packets that arrived over this link and still wait. */
void leolink_merge_leave(struct leolink_sched *q, u64 now)
{
	struct merge *m, *next;
	unsigned long flags;

	local_irq_save(flags);
	list_for_each_entry_safe(m, next, &open_merges, all)
		if (m->q == q)
			lose(m, now);
	set_next_end(now);
	local_irq_restore(flags);
}

static bool take_merged(void *record)
{
	struct merge *m = list_first_entry_or_null(&ended_merges, struct merge, all);

	if (!m)
		return false;
	*(struct leolink_merged *)record = m->r;
	list_del(&m->all);
	kfree(m);
	return true;
}

/*
 * The agent reads the records once, at the end of a run. Reading deletes the records, and drops the packets that still
 * wait.
 */
ssize_t leolink_merges_read(struct file *f, char __user *to, size_t size, loff_t *pos)
{
	struct leolink_merged r;
	struct merge *m, *next;
	unsigned long flags;

	local_irq_save(flags);
	list_for_each_entry_safe(m, next, &open_merges, all) {
		lose(m, now_ns());
		m->r.ended_ns = 0;
	}
	set_next_end(now_ns());
	local_irq_restore(flags);
	return leolink_records_read(to, size, &r, sizeof(r), take_merged);
}

void __init leolink_merges_register(void)
{
	next_end.fn = end_waits;
}
