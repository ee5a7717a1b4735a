// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds: delayed sending of packets at a route change. The node has sent packets for a host over the old link. It holds
 * new packets for this host until the old packets will have arrived. When the hold ends, all held packets join the
 * link's queue at that instant, in order.
 */
#include <linux/math64.h>
#include <linux/slab.h>
#include "leolink_cures.h"

struct leolink_hold {
	struct leolink_hold *next;
	__be32 destination;
	u32 bytes;
	u64 until_ns;
	struct qdisc_skb_head pkts;
	struct leolink_switched *record;
	struct leolink_node *node;
};

/* Allocates a hold. May sleep. */
struct leolink_hold *leolink_hold_new(void)
{
	return kzalloc(sizeof(struct leolink_hold), GFP_KERNEL);
}

void leolink_hold_free(struct leolink_hold *hold)
{
	kfree(hold);
}

static void set_due(struct leolink_sched *q)
{
	struct leolink_hold *hold;

	q->hold_due_ns = U64_MAX;
	for (hold = q->holds; hold; hold = hold->next)
		q->hold_due_ns = min(q->hold_due_ns, hold->until_ns);
	leolink_set_plain(q);
}

/* Holds all packets for a host from now until `until_ns`. */
void leolink_hold_begin(struct leolink_sched *q, struct leolink_hold *hold, __be32 destination, u64 until_ns,
			struct leolink_switched *record)
{
	struct leolink_hold **last = &q->holds;

	hold->destination = destination;
	hold->until_ns = until_ns;
	hold->record = record;
	hold->node = leolink_node_of(dev_net(qdisc_dev(q->sch)), q->r.id, false);
	leolink_switched_open(record);
	/*
	 * if two holds exist for the same host, the first contains the older packets, and does not end later than the
	 * second
	 */
	while (*last)
		last = &(*last)->next;
	*last = hold;
	set_due(q);
}

static struct leolink_hold *last_hold_for(struct leolink_sched *q, __be32 destination)
{
	struct leolink_hold *hold, *found = NULL;

	for (hold = q->holds; hold; hold = hold->next)
		if (hold->destination == destination)
			found = hold;
	return found;
}

/* Removes the oldest packet from a hold. */
static struct sk_buff *take(struct leolink_sched *q, struct leolink_hold *hold, u64 now)
{
	struct sk_buff *skb = __qdisc_dequeue_head(&hold->pkts);
	u64 held_ns;

	if (!skb)
		return NULL;
	held_ns = now - cb(skb)->start_ns;
	hold->record->held_back_longest_ns = max(hold->record->held_back_longest_ns, held_ns);
	hold->bytes -= link_bytes(q, skb);
	q->hold_bytes -= link_bytes(q, skb);
	leolink_node_release(hold->node, link_bytes(q, skb), false);
	return skb;
}

/* Queues a held packet as if it had just arrived. */
static void send(struct leolink_sched *q, struct sk_buff *skb, u64 now)
{
	leolink_advance_any(q, now);
	if (q->busy_until_ns > now && leolink_has_no_room(q, link_bytes(q, skb))) {
		leolink_record_drop(q, skb, CAUSE_QUEUE, now);
		dev_kfree_skb_any(skb);
		return;
	}
	leolink_transmit(q, skb, now);
}

/* Holds a packet. If the buffer is full, refuses the packet, or sends the oldest held packets early. */
static int hold_back(struct leolink_sched *q, struct leolink_hold *hold, struct sk_buff *skb, struct sk_buff **to_free,
		     u64 now)
{
	struct leolink_switched *r = hold->record;
	u32 bytes = link_bytes(q, skb);

	if (q->hold_bytes + bytes > q->hold_limit_bytes) {
		r->full_pkts++;
		if (!q->full_hold_sends) {
			leolink_record_drop(q, skb, CAUSE_QUEUE, now);
			return qdisc_drop(skb, q->sch, to_free);
		}
		while (hold->pkts.head && q->hold_bytes + bytes > q->hold_limit_bytes)
			send(q, take(q, hold, now), now);
		if (q->hold_bytes + bytes > q->hold_limit_bytes) {
			leolink_window_accept(q, skb, NULL, now);
			send(q, skb, now);
			return NET_XMIT_SUCCESS;
		}
	}
	leolink_window_accept(q, skb, NULL, now);
	cb(skb)->start_ns = now;
	__qdisc_enqueue_tail(skb, &hold->pkts);
	hold->bytes += bytes;
	q->hold_bytes += bytes;
	leolink_node_hold(hold->node, bytes, false, now);
	r->held_back_pkts++;
	r->held_back_bytes += bytes;
	r->held_back_max_bytes = max_t(u64, r->held_back_max_bytes, hold->bytes);
	return NET_XMIT_SUCCESS;
}

/* Removes an empty hold. */
static void end(struct leolink_hold **place)
{
	struct leolink_hold *hold = *place;

	*place = hold->next;
	leolink_switched_close(hold->record);
	kfree(hold);
}

/* Ends the holds whose time has come, and queues their packets. */
void leolink_hold_release(struct leolink_sched *q, u64 now)
{
	struct leolink_hold **place = &q->holds;
	struct sk_buff *skb;

	if (q->hold_due_ns > now)
		return;
	while (*place) {
		if ((*place)->until_ns > now) {
			place = &(*place)->next;
			continue;
		}
		while ((skb = take(q, *place, now)))
			send(q, skb, now);
		end(place);
	}
	set_due(q);
}

/*
 * Returns true if a hold takes the packet that is offered to the link. `ret` is then the result for the packet's
 * sender.
 */
bool leolink_hold_takes(struct leolink_sched *q, struct sk_buff *skb, struct sk_buff **to_free, u64 now, int *ret)
{
	struct leolink_hold *hold;

	leolink_hold_release(q, now);
	hold = skb->protocol == htons(ETH_P_IP) ? last_hold_for(q, ip_hdr(skb)->daddr) : NULL;
	if (!hold)
		return false;
	*ret = hold_back(q, hold, skb, to_free, now);
	leolink_arm_next(q, now);
	return true;
}

/* Drops all packets that are held. */
void leolink_hold_flush(struct leolink_sched *q, u64 now)
{
	struct sk_buff *skb;

	if (!q->holds)
		return;
	while (q->holds) {
		while ((skb = take(q, q->holds, now))) {
			leolink_record_drop(q, skb, CAUSE_DOWN, now);
			dev_kfree_skb_any(skb);
		}
		end(&q->holds);
	}
	set_due(q);
}

/* Removes all held packets for a host, the oldest first, and ends the host's holds. */
void leolink_hold_take(struct leolink_sched *q, __be32 destination, struct qdisc_skb_head *taken, u64 now)
{
	struct leolink_hold **place = &q->holds;
	struct sk_buff *skb;

	while (*place) {
		if ((*place)->destination != destination) {
			place = &(*place)->next;
			continue;
		}
		while ((skb = take(q, *place, now)))
			__qdisc_enqueue_tail(skb, taken);
		end(place);
	}
	set_due(q);
}

/*
 * Time at which the last packet for a host on this link (held, queued or in flight) arrives at the link's other end.
 * Cross traffic counts as traffic for the host.
 */
u64 leolink_hold_last_arrival_ns(struct leolink_sched *q, __be32 destination)
{
	struct leolink_hold *hold = last_hold_for(q, destination);
	u64 depart;

	if (!hold)
		return q->last_arrive_ns;
	depart = max(q->busy_until_ns, hold->until_ns);
	if (q->rate_bps)
		depart += div64_u64((u64)q->hold_bytes * 8 * NSEC_PER_SEC + q->rate_bps - 1, q->rate_bps);
	return max(depart + q->r.delay_ns, q->last_arrive_ns);
}
