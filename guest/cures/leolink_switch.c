// SPDX-License-Identifier: GPL-2.0-only
/*
 * When a node's route to a host changes from one of its links to another, the node sends new packets over the new link.
 * In addition, it can do the following:
 *
 *	move	packets that wait at the old link leave over the new link, before any newer packet. Packets that the old
 *		link is transmitting or has transmitted arrive on the old path.
 *	hold	the new link sends no packets for the host before the instant
 *
 *			last arrival over the old link + rest of the old path - delay of the new link - rest of the new path
 *
 *		so that the first packet on the new path arrives after the last packet on the old path. The agent knows
 *		the network and computes both rests (of the old and of the new path); the node knows the other terms. If
 *		this instant has passed, no packet is held.
 *
 *	end	a marker leaves over the old link as the last packet for the host. When it arrives at the node where the
 *		paths meet, that node knows that the old path is empty (leolink_merge.c).
 *
 *	copy	for some time, the node copies packets on the new link, and sends the copies over the old link.
 *	mark	for some time, the node marks packets on the new link. The station that restores the order then knows
 *		which packets may have overtaken others (leolink_window.c).
 *
 * The first three actions run in the order move, end, hold. If move and hold are combined, moved packets are therefore
 * held as well, and arrive after the packets in flight.
 */
#include <linux/etherdevice.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include "leolink_cures.h"

static bool is_fifo(const struct leolink_sched *q)
{
	return !leolink_has_table(q) && !q->overtakes && !q->child;
}

/*
 * Removes the waiting packets for a host from the queue, in order. Packets that were queued behind the removed packets
 * leave earlier.
 */
static void take_waiting(struct leolink_sched *q, __be32 destination, struct qdisc_skb_head *taken, u64 now)
{
	struct qdisc_skb_head *list = &q->sch->q;
	struct sk_buff **place = &list->head, *skb, *kept = NULL, *first = NULL;
	bool waits = false;

	leolink_advance(q, now);
	if (!q->first_waiting)
		return;
	while ((skb = *place)) {
		waits |= skb == q->first_waiting;
		if (!waits || !leolink_is_for(skb, destination)) {
			if (waits && !first)
				first = skb;
			kept = skb;
			place = &skb->next;
			continue;
		}
		*place = skb->next;
		list->qlen--;
		q->r.waiting_pkts--;
		q->r.waiting_bytes -= link_bytes(q, skb);
		q->r.busy_ns -= cb(skb)->serialise_ns;
		/*
		 * __qdisc_enqueue_tail does not clear the next pointer of the first packet in a list. Here, skb->next
		 * still points to a packet of this link
		 */
		skb->next = NULL;
		__qdisc_enqueue_tail(skb, taken);
	}
	list->tail = kept;
	q->first_waiting = first;
	leolink_reschedule(q->sch, now);
	leolink_advance(q, now);
}

/* Moves a packet from one link of a node to another. Consumes the packet, even on failure. */
static int hand_over(struct sk_buff *skb, struct net_device *dev)
{
	const struct net_device *peer = dev->netdev_ops->ndo_get_peer_dev(dev);
	struct ethhdr *eth;

	/* the packet is made writable, because a capture may share its bytes */
	if (!peer || skb_ensure_writable(skb, ETH_HLEN)) {
		kfree_skb(skb);
		return -ENOMEM;
	}
	eth = (struct ethhdr *)skb->data;
	ether_addr_copy(eth->h_dest, peer->dev_addr);
	ether_addr_copy(eth->h_source, dev->dev_addr);
	skb->dev = dev;
	/* if the link's queue is full, the link records the drop, as for any packet */
	dev_queue_xmit(skb);
	return 0;
}

/*
 * Sends a copy of a packet over another link. The original is queued at the link `q`, and the copy leaves over the
 * node's link `ifindex`.
 */
void leolink_switch_send_copy(struct leolink_sched *q, struct sk_buff *copy, int ifindex)
{
	bool was_moving = leolink_is_moving;
	struct net_device *dev;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(dev_net(qdisc_dev(q->sch)), ifindex);
	leolink_is_moving = true;
	if (dev)
		hand_over(copy, dev);
	else
		dev_kfree_skb_any(copy);
	leolink_is_moving = was_moving;
	rcu_read_unlock();
}

/* Sends the marker that ends the old path. The marker can be lost or dropped like any other packet. */
static void send_marker(struct leolink_sched *from, const struct leolink_switch *s, struct sk_buff *marker)
{
	struct net_device *dev = qdisc_dev(from->sch);

	leolink_signal_frame(marker, dev);
	leolink_node_signal(leolink_node_of(dev_net(dev), s->from, false), marker->len);
	dev_queue_xmit(marker);
}

int leolink_switch_over(struct Qdisc *sch, const struct leolink_switch *s, struct netlink_ext_ack *extack)
{
	struct leolink_sched *to = qdisc_priv(sch), *from = leolink_links_find(s->from);
	struct qdisc_skb_head moved = { 0 };
	struct leolink_switched *r;
	struct leolink_hold *hold;
	struct sk_buff *skb, *marker = NULL;
	u64 now = now_ns(), last_ns, rest_ns;
	int err = 0;

	if (!from || from == to) {
		NL_SET_ERR_MSG_MOD(extack, "a switch from a link that this node does not have");
		return -ENOENT;
	}
	if (!is_fifo(from) || !is_fifo(to)) {
		NL_SET_ERR_MSG_MOD(extack, "a switch between links of which one is no FIFO of one rate");
		return -EOPNOTSUPP;
	}
	if (s->marker) {
		__be32 body[] = { htonl(SIGNAL_MARKER_MAGIC), htonl(s->marker) };

		marker = leolink_signal_new(SIGNAL_MARKER, s->destination, body, sizeof(body), GFP_KERNEL);
		if (!marker)
			return -ENOMEM;
	}
	r = leolink_switched_new();
	hold = leolink_hold_new();
	if (!r || !hold) {
		kfree_skb(marker);
		leolink_switched_free(r);
		leolink_hold_free(hold);
		return -ENOMEM;
	}

	sch_tree_lock(from->sch);
	leolink_hold_release(from, now);
	if (s->flags & LEOLINK_SWITCH_MOVE) {
		take_waiting(from, s->destination, &moved, now);
		leolink_hold_take(from, s->destination, &moved, now);
		leolink_arm_next(from, now);
	}
	for (skb = moved.head; skb; skb = skb->next) {
		r->moved_pkts++;
		r->moved_bytes += link_bytes(from, skb);
	}
	/* moved packets count as offered to the new link, and no longer as offered to the old link */
	from->r.offered_pkts -= r->moved_pkts;
	from->r.offered_bytes -= r->moved_bytes;
	sch_tree_unlock(from->sch);
	if (marker)
		send_marker(from, s, marker);
	last_ns = leolink_hold_last_arrival_ns(from, s->destination);

	r->t_ns = now;
	r->from = s->from;
	r->to = to->r.id;
	r->destination = s->destination;
	r->marker = s->marker;
	r->refused = s->refused;
	rest_ns = to->r.delay_ns + s->rest_to_ns;
	if (s->copy_ns || (s->new_way_ns && last_ns + s->rest_from_ns > now + rest_ns))
		err = leolink_window_begin(to, s, s->copy_ns ? qdisc_dev(from->sch)->ifindex : 0, s->new_way_ns, r);
	if ((s->flags & LEOLINK_SWITCH_HOLD) && last_ns + s->rest_from_ns > now + rest_ns) {
		u64 until_ns = last_ns + s->rest_from_ns - rest_ns;

		r->hold_ns = until_ns - now;
		sch_tree_lock(sch);
		to->hold_limit_bytes = s->hold_limit_bytes;
		to->full_hold_sends = s->flags & LEOLINK_SWITCH_SEND;
		leolink_hold_begin(to, hold, s->destination, until_ns, r);
		leolink_arm_next(to, now);
		sch_tree_unlock(sch);
	} else {
		leolink_hold_free(hold);
	}
	/*
	 * packets in flight cannot be moved, and arrive late if the new path is shorter; if `rest_from_ns` and
	 * `rest_to_ns` are both 0, packets in flight never arrive
	 */
	if (s->flags == LEOLINK_SWITCH_MOVE && !r->marker && !r->refused && !s->copy_ns &&
	    (s->rest_from_ns || s->rest_to_ns) && last_ns + s->rest_from_ns > now + rest_ns)
		r->refused = REFUSED_IN_FLIGHT;
	leolink_is_moving = true;
	while ((skb = __qdisc_dequeue_head(&moved)))
		err = hand_over(skb, qdisc_dev(sch)) ?: err;
	leolink_is_moving = false;
	if (r->hold_ns || r->moved_pkts || r->marker || r->refused || s->copy_ns)
		leolink_switched_keep(r);
	else
		leolink_switched_free(r);
	return err;
}
