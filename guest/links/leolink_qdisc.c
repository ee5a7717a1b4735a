// SPDX-License-Identifier: GPL-2.0-only
/*
 * leolink: one direction of an emulated link, in the exact virtual time of User Mode Linux.
 *
 * Before working on this file, read net/sched/sch_netem.c (which leolink replaces), net/sched/sch_generic.c (which
 * calls leolink) and arch/um/kernel/time.c (the clock).
 *
 *	queue -> serialiser -> delay line
 *
 * If a packet of `bytes` (frame length plus the link's overhead) is offered at `now`, it
 *
 *	starts  at	start  = max(now, end of the transmission before it)
 *	departs at	depart = start + 8 bytes / rate
 *	arrives at	arrive = max(depart + delay, arrival of the packet before it)
 *
 * so a link is FIFO even if its delay changes. `delay` is the link's delay when the packet's last bit departs. A packet
 * waits until `start`, and only waiting packets count towards the limit. A lost packet first waits and is transmitted
 * like any other packet. It is discarded at its arrival time.
 *
 * With tables (leolink_table.c), the link's capacity or channel is known in advance, to the nanosecond. A packet then
 *
 *	starts  at	the first instant from max(now, end of the transmission before it) on at which capacity is above 0
 *	departs at	depart = when the capacity since then has added up to 8 bytes
 *	arrives at	arrive = max(depart, depart - probe + delay(start), arrival of the packet before it)
 *
 * where `probe` is the transmission time of probe_bytes. `probe` is subtracted because a measured delay includes the
 * transmission of the packet with which the delay was measured. Packets that overtake (leolink_overtake.c) do not wait
 * for the arrival of the packet before them. Another queueing discipline can replace the FIFO (leolink_child.c).
 *
 * netem differs from leolink in four points. netem's limit also counts packets in the delay line. A change of rate or
 * delay does not affect packets that netem has already queued. netem's counters do not show why a packet was dropped.
 * With netem, each packet passes through the clock event device, which takes half of a run's time (design/leolink.md).
 *
 * User Mode Linux has one processor, and no preemption in this code. local_irq_save guards data that interrupts also
 * use. The qdisc's own lock guards all other data.
 */
#include <linux/init.h>
#include <linux/netdevice.h>
#include <linux/time-internal.h>
#include "leolink.h"

static bool has_no_capacity(struct leolink_sched *q, u64 now)
{
	return q->capacity.count && !q->capacity.rows[leolink_table_find(&q->capacity, now)].value;
}

static int refuse(struct leolink_sched *q, struct sk_buff *skb, enum leolink_cause cause, u64 now,
		  struct sk_buff **to_free)
{
	if (q->order & LEOLINK_ORDER_NUMBER)
		leolink_order_forget(skb);
	leolink_record_drop(q, skb, cause, now);
	return qdisc_drop(skb, q->sch, to_free);
}

static int enqueue_special(struct leolink_sched *q, struct sk_buff *skb, struct sk_buff **to_free, u64 now)
{
	struct sk_buff *copy;
	int ret, ifindex;
	bool waits;

	if (q->child) {
		ret = leolink_child_enqueue(q, skb, to_free, now);
		leolink_child_rearm(q, now);
		return ret;
	}
	if (q->holds && leolink_hold_takes(q, skb, to_free, now, &ret))
		return ret;
	leolink_advance_any(q, now);
	waits = q->busy_until_ns > now || has_no_capacity(q, now);
	if (waits && leolink_has_no_room(q, link_bytes(q, skb)))
		return refuse(q, skb, CAUSE_QUEUE, now, to_free);
	copy = leolink_window_accept(q, skb, &ifindex, now);
	leolink_transmit(q, skb, now);
	if (!q->is_due || q->overtakes || q->holds)
		leolink_arm_next(q, now);
	if (copy)
		leolink_switch_send_copy(q, copy, ifindex);
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

	leolink_advance(q, now);
	start = max(now, q->busy_until_ns);
	if (start > now && leolink_has_no_room(q, bytes))
		return refuse(q, skb, CAUSE_QUEUE, now, to_free);
	leolink_transmit_plain(q, skb, start, now);
	if (!q->is_due)
		leolink_arm(q, cb(sch->q.head)->arrive_ns, now);
	return NET_XMIT_SUCCESS;
}

/* Same as leolink_advance, for links that are not plain. Must be called before the head leaves the list. */
static void before_dequeue(struct leolink_sched *q, struct sk_buff *head, u64 now)
{
	leolink_advance_any(q, now);
	if (q->overtakes)
		leolink_forget_neighbours(head);
}

/*
 * Removes the first packet from the list if it has arrived. Returns NULL if the packet has not arrived, or if the list
 * is empty. If the packet is lost, it is discarded here, and the next one is examined.
 */
static struct sk_buff *due(struct leolink_sched *q, u64 now)
{
	struct Qdisc *sch = q->sch;
	struct sk_buff *skb;

	while ((skb = sch->q.head) && cb(skb)->arrive_ns <= now) {
		bool lost = cb(skb)->lost;

		if (unlikely(!q->plain))
			before_dequeue(q, skb, now);
		else
			leolink_advance(q, now);
		__qdisc_dequeue_head(&sch->q);
		if (!lost) {
			q->r.delivered_pkts++;
			q->r.delivered_bytes += link_bytes(q, skb);
			return skb;
		}
		leolink_record_drop(q, skb, CAUSE_LOSS, now);
		dev_kfree_skb_any(skb);
	}
	return NULL;
}

/*
 * The transmit path of the kernel. Only two kinds of packets leave the link by this function: packets that are due at
 * once (no delay, no rate), and packets that deliver() does not handle. The kernel also calls this function after each
 * enqueue. In this call, the function does not remove a packet with a delay or a transmission time, even if the packet
 * is due. Such a packet waits for the link's interrupt. If this function removed the packet at its arrival time, the
 * packet would overtake arrivals over other links at the same instant. A packet that this function removed at its
 * arrival time would also skip leolink_cures_arrive, which restores the order of packets.
 */
static struct sk_buff *leolink_dequeue(struct Qdisc *sch)
{
	struct leolink_sched *q = qdisc_priv(sch);
	u64 now = now_ns();
	struct sk_buff *skb;

	/*
	 * usually no packet has arrived, so q->due_ns is compared first. The head of the queue is not read, because it
	 * is usually not in the cache
	 */
	if (q->is_due && q->due_ns > now)
		return NULL;
	if (unlikely(!q->plain) && q->child) {
		leolink_child_pull(q, now);
		skb = due(q, now);
		leolink_child_rearm(q, now);
		return skb;
	}
	skb = sch->q.head;
	if (q->is_due && skb && cb(skb)->start_ns < now)
		return NULL;
	if (unlikely(q->holds))
		leolink_hold_release(q, now);
	skb = due(q, now);
	if (!sch->q.head || cb(sch->q.head)->arrive_ns > now)
		leolink_arm_next(q, now);
	return skb;
}

/*
 * Interrupt: packets that have arrived go directly to the receive queue of the device at the other end, as from
 * veth_xmit. The packets skip the transmit softirq, because it would take a tenth of a run's time. This function needs
 * no lock, because it never interrupts other functions of the qdisc. An interrupt comes only when the clock advances:
 * while the processor is idle, or while a process reads the clock with softirqs enabled. If a socket still owns a
 * packet, the packet takes the transmit path, because an interrupt must not release it.
 */
static u64 deliver(struct leolink_sched *q, u64 now)
{
	struct net_device *peer;
	struct sk_buff *skb;

	if (unlikely(!q->plain) && q->child) {
		/* the kernel's queueing disciplines cannot run in an interrupt */
		__netif_schedule(q->sch);
		return U64_MAX;
	}
	if (unlikely(q->holds))
		leolink_hold_release(q, now);
	rcu_read_lock();
	peer = leolink_direct_peer(q);
	while (peer && q->sch->q.head && !q->sch->q.head->sk && (skb = due(q, now)))
		if (unlikely(q->on_arrival)) {
			leolink_direct_give_way();
			leolink_cures_arrive(q, peer, skb, now);
		} else {
			leolink_direct_arrive(q, peer, skb);
		}
	rcu_read_unlock();
	skb = q->sch->q.head;
	if (!skb || cb(skb)->arrive_ns > now)
		return min(skb ? cb(skb)->arrive_ns : U64_MAX, q->hold_due_ns);
	/* leolink_dequeue will set the time at which the link is due next */
	__netif_schedule(q->sch);
	return U64_MAX;
}

static int leolink_init(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct leolink_sched *q = qdisc_priv(sch);
	int err;

	if (time_travel_mode != TT_MODE_INFCPU) {
		NL_SET_ERR_MSG_MOD(extack, "needs time-travel=inf-cpu");
		return -EOPNOTSUPP;
	}
	err = leolink_arrivals_join(q);
	if (err)
		return err;
	q->sch = sch;
	q->limit_pkts = U32_MAX;
	q->limit_bytes = U32_MAX;
	q->r.id = U32_MAX;
	q->hold_due_ns = U64_MAX;
	leolink_direct_links_changed();
	leolink_links_join(q);
	return leolink_change(sch, opt, extack);
}

static void leolink_reset(struct Qdisc *sch)
{
	struct leolink_sched *q = qdisc_priv(sch);

	leolink_flush(sch, now_ns());
	if (q->child)
		qdisc_reset(q->child);
}

static void leolink_destroy(struct Qdisc *sch)
{
	struct leolink_sched *q = qdisc_priv(sch);

	leolink_cures_leave(q, now_ns());
	leolink_disarm(q);
	if (q->child)
		qdisc_put(q->child);
	leolink_table_free(&q->capacity);
	leolink_table_free(&q->channel);
	kvfree(q->waiting);
	leolink_direct_links_changed();
	/* the kernel calls destroy even if init has failed, and init may have failed before the link joined the list */
	if (q->sch) {
		leolink_links_leave(q);
		leolink_arrivals_leave(q);
	}
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
	int err = leolink_drops_register();

	if (!err)
		err = leolink_proc_register();
	if (err)
		return err;
	err = leolink_direct_register(leolink_enqueue);
	if (err)
		return err;
	leolink_arrivals_register(deliver, leolink_direct_forward);
	return register_qdisc(&leolink_ops);
}
device_initcall(leolink_register);
