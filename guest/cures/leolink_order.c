// SPDX-License-Identifier: GPL-2.0-only
/*
 * Restores the order of packets at the receiving station, by the algorithms of RFC 9550. When a link of the sending
 * station accepts a packet, it gives the packet the stream's next number. The links to the receiving station deliver
 * packets in the order of their numbers. A packet that arrives before a lower number waits for the missing packets. It
 * waits at most for the delay_ns of the link that delivered it. After delay_ns, the station gives up waiting for the
 * missing packets. If a missing packet arrives later, it is passed on at once. In the advanced algorithm, a packet
 * waits only if it is marked as sent over a new path shortly after a route change. An unmarked packet need not wait:
 * every path is a FIFO, so any earlier packet that is still missing is lost. If a packet was copied, the station
 * delivers the copy that arrives first, and discards the second one (packet elimination, RFC 8655, 3.2.2.3). The
 * station recognises second copies only among the last HISTORY_PKTS numbers. The number of a packet is not stored in
 * the packet, but in the socket buffer, in skb->hash. veth does not change skb->hash. The number therefore does not
 * make a packet longer. A real header with the number would need some bytes. The agent adds these bytes when it reads
 * the records.
 */
#include <linux/hashtable.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <linux/time-internal.h>
#include "leolink_cures.h"

#define HISTORY_PKTS 65536

/*
 * The highest number that was entered so far, and a bitmap of the last HISTORY_PKTS numbers: 1 = the number was
 * entered.
 */
struct history {
	u32 latest;
	DECLARE_BITMAP(entered, HISTORY_PKTS);
};

/*
 * Histories of copied packets. `came` contains the numbers of which a copy has arrived. `lost` contains the numbers of
 * which a copy was lost.
 */
struct copies {
	struct history came, lost;
};

struct stream {
	struct leolink_ordered r;
	struct hlist_node by_key;
	struct list_head all;
	u32 numbered, last_sent;
	struct qdisc_skb_head waiting;	/* waiting packets, in the order of their numbers */
	u64 waiting_bytes;
	struct leolink_node *node;	/* the node at which the packets wait */
	struct copies *copies;		/* NULL = no packet of the stream was copied yet */
};

/*
 * State of a packet that waits here, stored in the packet's cb. The packet's dev is the receiving end of the link over
 * which it arrived.
 */
struct order_cb {
	u64 since_ns, until_ns;
	u32 bytes;
} __packed __aligned(4);

/* True while a node moves packets from one link to another. The moved packets may already have numbers. */
bool leolink_is_moving;

static DEFINE_HASHTABLE(streams, 8);
static LIST_HEAD(all_streams);
static bool by_flow;	/* the run's setting: one stream per flow, or one per pair of hosts */
static struct time_travel_event next_end;

static struct order_cb *order_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct order_cb) > sizeof(skb->cb));
	return (struct order_cb *)skb->cb;
}

static u32 ports_of(const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);
	__be32 ports = 0;

	if (ip->protocol == IPPROTO_TCP || ip->protocol == IPPROTO_UDP)
		skb_copy_bits(skb, skb_network_offset(skb) + 4 * ip->ihl, &ports, sizeof(ports));
	return (__force u32)ports;
}

/* The stream of a packet. NULL = the packet has no stream, or there is no memory. */
static struct stream *stream_of(const struct sk_buff *skb, bool make)
{
	const struct iphdr *ip = ip_hdr(skb);
	u32 protocol = 0, ports = 0;
	struct stream *s;

	if (skb->protocol != htons(ETH_P_IP))
		return NULL;
	if (by_flow) {
		protocol = ip->protocol;
		ports = ports_of(skb);
	}
	hash_for_each_possible(streams, s, by_key, (__force u32)(ip->saddr ^ ip->daddr) ^ protocol ^ ports)
		if (s->r.source == ip->saddr && s->r.destination == ip->daddr && s->r.protocol == protocol &&
		    s->r.ports == ports)
			return s;
	if (!make)
		return NULL;
	s = kzalloc(sizeof(*s), GFP_ATOMIC);
	if (!s)
		return NULL;
	s->r.source = ip->saddr;
	s->r.destination = ip->daddr;
	s->r.protocol = protocol;
	s->r.ports = ports;
	hash_add(streams, &s->by_key, (__force u32)(ip->saddr ^ ip->daddr) ^ protocol ^ ports);
	list_add_tail(&s->all, &all_streams);
	return s;
}

void leolink_order_set_by_flow(bool yes)
{
	by_flow = yes;
}

/* a - b, for numbers that wrap around */
static s32 ahead(u32 a, u32 b)
{
	return (s32)((a - b) << 2) >> 2;
}

static u32 number_of(const struct sk_buff *skb)
{
	return skb->hash & NUMBER_MASK;
}

/*
 * Enters a number in the history. Returns whether the history already contained the number. A number that is too old
 * for the history counts as not entered.
 */
static bool enter(struct history *h, u32 number)
{
	s32 steps = ahead(number, h->latest);

	if (steps <= -HISTORY_PKTS)
		return false;
	if (steps >= HISTORY_PKTS)
		bitmap_zero(h->entered, HISTORY_PKTS);
	for (; steps > 0 && steps < HISTORY_PKTS; steps--)
		__clear_bit((number - steps + 1) % HISTORY_PKTS, h->entered);
	if (ahead(number, h->latest) > 0)
		h->latest = number;
	return __test_and_set_bit(number % HISTORY_PKTS, h->entered);
}

/* The histories of a stream's copies; NULL = out of memory. */
static struct copies *copies_of(struct stream *s, u32 number)
{
	if (!s->copies) {
		s->copies = kzalloc(sizeof(*s->copies), GFP_ATOMIC);
		if (s->copies)
			s->copies->came.latest = s->copies->lost.latest = number;
	}
	return s->copies;
}

/* Whether a packet belongs to a numbered stream. */
bool leolink_order_has_number(const struct sk_buff *skb)
{
	return stream_of(skb, false);
}

/* Returns true if the packet's loss is not recorded, because its other copy has arrived or may still arrive. */
bool leolink_order_spares(const struct sk_buff *skb)
{
	struct copies *copies;
	struct stream *s;

	if (list_empty(&all_streams) || !(skb->hash & NUMBER_COPIED))
		return false;
	s = stream_of(skb, false);
	copies = s ? copies_of(s, number_of(skb)) : NULL;
	return copies && !enter(&copies->lost, number_of(skb));
}

/*
 * Gives a number to a packet that a station's link has accepted. If the packet was moved from another of the station's
 * links, it keeps its number.
 */
void leolink_order_number(struct leolink_sched *q, struct sk_buff *skb)
{
	struct stream *s;

	if (leolink_is_moving)
		return;
	s = stream_of(skb, true);
	if (!s)
		return;
	s->r.numbered_pkts++;
	__skb_set_hash(skb, ++s->numbered & NUMBER_MASK, true, false);
}

/* Called when a station's link refuses a packet. */
void leolink_order_forget(struct sk_buff *skb)
{
	if (!leolink_is_moving)
		skb_clear_hash(skb);
}

/* Passes the stream's first waiting packet on to the station. */
static void pass_first(struct stream *s, u64 now)
{
	struct sk_buff *skb = __qdisc_dequeue_head(&s->waiting);
	struct net_device *dev = skb->dev;

	s->waiting_bytes -= order_cb(skb)->bytes;
	leolink_node_release(s->node, order_cb(skb)->bytes, true);
	s->r.longest_ns = max(s->r.longest_ns, now - order_cb(skb)->since_ns);
	s->last_sent = number_of(skb);
	dev_forward_skb(dev, skb);
	dev_put(dev);
}

static void pass_what_follows(struct stream *s, u64 now)
{
	while (s->waiting.head && ahead(number_of(s->waiting.head), s->last_sent) == 1)
		pass_first(s, now);
}

/*
 * Passes on all waiting packets of the stream with numbers up to `number`. Missing packets with smaller numbers are
 * given up.
 */
static void pass_up_to(struct stream *s, u32 number, u64 now)
{
	while (s->waiting.head && ahead(number_of(s->waiting.head), number) <= 0) {
		s->r.given_up_pkts += ahead(number_of(s->waiting.head), s->last_sent) - 1;
		pass_first(s, now);
	}
}

static void set_next_end(u64 now)
{
	u64 next_ns = U64_MAX;
	struct sk_buff *skb;
	struct stream *s;

	list_for_each_entry(s, &all_streams, all)
		for (skb = s->waiting.head; skb; skb = skb->next)
			next_ns = min(next_ns, order_cb(skb)->until_ns);
	if (next_end.pending && next_end.time == next_ns)
		return;
	time_travel_del_event(&next_end);
	if (next_ns != U64_MAX)
		time_travel_add_event_rel(&next_end, next_ns - now);
}

/* Interrupt: the wait of at least one packet has reached its limit. */
static void end_waits(struct time_travel_event *e)
{
	u64 now = now_ns();
	struct sk_buff *skb;
	struct stream *s;

	rcu_read_lock();
	list_for_each_entry(s, &all_streams, all) {
		struct sk_buff *reach = NULL;

		for (skb = s->waiting.head; skb; skb = skb->next)
			if (order_cb(skb)->until_ns <= now)
				reach = skb;
		if (!reach)
			continue;
		pass_up_to(s, number_of(reach), now);
		pass_what_follows(s, now);
	}
	rcu_read_unlock();
	set_next_end(now);
}

/*
 * Handles a packet that has arrived at the station over a link. Passes it on now, or after the missing packets.
 */
void leolink_order_deliver(struct leolink_sched *q, struct net_device *peer, struct sk_buff *skb, u64 now)
{
	u32 bytes = link_bytes(q, skb);
	struct stream *s = stream_of(skb, false);
	u32 number = number_of(skb);
	struct copies *copies;
	struct sk_buff **place;
	struct order_cb *c;

	if (!s) {
		dev_forward_skb(peer, skb);
		return;
	}
	copies = skb->hash & NUMBER_COPIED ? copies_of(s, number) : NULL;
	if (copies && enter(&copies->came, number)) {
		s->r.eliminated_pkts++;
		dev_kfree_skb_any(skb);
		return;
	}
	if (!(q->order & LEOLINK_ORDER_RESTORE)) {
		dev_forward_skb(peer, skb);
		return;
	}
	if ((q->order & LEOLINK_ORDER_ADVANCED) && !(skb->hash & NUMBER_NEW_WAY) && ahead(number, s->last_sent) > 1) {
		pass_up_to(s, number, now);
		s->r.given_up_pkts += ahead(number, s->last_sent) - 1;
		s->last_sent = number;
		dev_forward_skb(peer, skb);
		pass_what_follows(s, now);
		return;
	}
	if (ahead(number, s->last_sent) <= 1) {
		if (ahead(number, s->last_sent) != 1)
			s->r.late_pkts++;
		else
			s->last_sent = number;
		dev_forward_skb(peer, skb);
		pass_what_follows(s, now);
		return;
	}
	dev_hold(peer);
	skb->dev = peer;
	c = order_cb(skb);
	c->since_ns = now;
	c->until_ns = now + q->order_delay_ns;
	c->bytes = bytes;
	for (place = &s->waiting.head; *place && ahead(number_of(*place), number) < 0; place = &(*place)->next)
		;
	skb->next = *place;
	*place = skb;
	if (!skb->next)
		s->waiting.tail = skb;
	s->waiting.qlen++;
	s->waiting_bytes += bytes;
	if (!s->node)
		s->node = leolink_node_of(dev_net(peer), q->r.id, true);
	leolink_node_hold(s->node, bytes, true, now);
	s->r.waited_pkts++;
	s->r.waiting_max_bytes = max(s->r.waiting_max_bytes, s->waiting_bytes);
	/*
	 * an event that is already set belongs to an earlier wait. The earlier wait also ends earlier, so this event is
	 * never too late. If the earlier wait is already over, the event finds nothing to do
	 */
	if (!next_end.pending)
		set_next_end(now);
}

static bool take_ordered(void *record)
{
	struct stream *s = list_first_entry_or_null(&all_streams, struct stream, all);
	struct sk_buff *skb;
	unsigned long flags;

	if (!s)
		return false;
	*(struct leolink_ordered *)record = s->r;
	local_irq_save(flags);
	list_del(&s->all);
	hash_del(&s->by_key);
	while ((skb = __qdisc_dequeue_head(&s->waiting))) {
		leolink_node_release(s->node, order_cb(skb)->bytes, true);
		dev_put(skb->dev);
		dev_kfree_skb_any(skb);
	}
	kfree(s->copies);
	kfree(s);
	set_next_end(now_ns());
	local_irq_restore(flags);
	return true;
}

/* The agent reads the records once, at the end of a run. Reading deletes the records and their streams. */
ssize_t leolink_orders_read(struct file *f, char __user *to, size_t size, loff_t *pos)
{
	struct leolink_ordered r;

	return leolink_records_read(to, size, &r, sizeof(r), take_ordered);
}

void __init leolink_orders_register(void)
{
	next_end.fn = end_waits;
}
