// SPDX-License-Identifier: GPL-2.0-only
/*
 * A queueing discipline (the child: codel, fq_codel, pie, red, cake, ...) that replaces leolink's FIFO. The child is
 * attached to leolink's only class, 1:1. Packets wait in the child. When the serialiser becomes free, it takes the next
 * packet from the child. The child therefore queues packets as on a real link.
 */
#include <linux/rtnetlink.h>
#include "leolink.h"

/*
 * Destructor of each packet that waits in the child. If the child frees a packet, the child has dropped it, on arrival
 * or later. Every discipline frees dropped packets, so the destructor detects all drops. A router's packets belong to
 * no socket, so nothing else uses their destructor.
 */
static void refused_by_child(struct sk_buff *skb)
{
	struct Qdisc *sch = rcu_dereference_raw(skb->dev->qdisc);

	/* if the interface is being removed, it no longer has this discipline */
	if (sch->ops->cl_ops == &leolink_class_ops)
		leolink_record_drop(qdisc_priv(sch), skb, CAUSE_QUEUE, now_ns());
}

static void note_waiting(struct leolink_sched *q, u64 now)
{
	u32 bytes = q->child->qstats.backlog + q->child->q.qlen * q->overhead_bytes;

	q->r.waiting_pkts = q->child->q.qlen;
	q->r.waiting_bytes = bytes;
	leolink_note_maxima(q, now);
}

/* The time at which the serialiser takes the next packet. */
static u64 free_ns(struct leolink_sched *q, u64 now)
{
	u64 from = max(now, q->busy_until_ns);

	return q->capacity.count && from != U64_MAX ? leolink_table_ready_ns(&q->capacity, from) : from;
}

void leolink_child_pull(struct leolink_sched *q, u64 now)
{
	struct Qdisc *sch = q->sch;
	struct sk_buff *skb;

	q->child_has_nothing_due = false;
	while (q->child->q.qlen && free_ns(q, now) <= now) {
		skb = q->child->dequeue(q->child);
		if (!skb) {
			/* the child shapes packets by itself, and will call the link when a packet may leave */
			q->child_has_nothing_due = true;
			break;
		}
		skb->destructor = NULL;
		sch->q.qlen--;	/* leolink_transmit adds the packet to qlen again */
		sch->qstats.backlog -= qdisc_pkt_len(skb);
		leolink_transmit(q, skb, now);
	}
	note_waiting(q, now);
}

int leolink_child_enqueue(struct leolink_sched *q, struct sk_buff *skb, struct sk_buff **to_free, u64 now)
{
	struct Qdisc *sch = q->sch;
	unsigned int bytes = qdisc_pkt_len(skb);
	int ret;

	skb_orphan(skb);
	skb->destructor = refused_by_child;
	ret = qdisc_enqueue(skb, q->child, to_free);
	if (ret != NET_XMIT_SUCCESS) {
		if (net_xmit_drop_count(ret))
			qdisc_qstats_drop(sch);
	} else {
		sch->q.qlen++;
		sch->qstats.backlog += bytes;
	}
	leolink_child_pull(q, now);
	return ret;
}

/*
 * Sets the next instant at which this link has something to do: a packet arrives, or the serialiser becomes free while
 * a packet waits.
 */
void leolink_child_rearm(struct leolink_sched *q, u64 now)
{
	struct sk_buff *head = q->sch->q.head;
	u64 at = head ? cb(head)->arrive_ns : U64_MAX;

	if (q->child->q.qlen && !q->child_has_nothing_due)
		at = min(at, free_ns(q, now));
	if (at == U64_MAX)
		leolink_disarm(q);
	else
		leolink_arm(q, at, now);
}

void leolink_child_flush(struct leolink_sched *q, u64 now)
{
	struct Qdisc *sch = q->sch;
	struct sk_buff *skb;

	while ((skb = q->child->dequeue(q->child))) {
		skb->destructor = NULL;
		sch->q.qlen--;
		sch->qstats.backlog -= qdisc_pkt_len(skb);
		leolink_record_drop(q, skb, CAUSE_DOWN, now);
		rtnl_kfree_skbs(skb, skb);
	}
	note_waiting(q, now);
}

/* ---- one class, 1:1, as in sch_tbf.c ---- */

static int leolink_graft(struct Qdisc *sch, unsigned long arg, struct Qdisc *new, struct Qdisc **old,
			 struct netlink_ext_ack *extack)
{
	struct leolink_sched *q = qdisc_priv(sch);

	if (sch->q.qlen) {
		NL_SET_ERR_MSG_MOD(extack, "the queue cannot change while packets are held");
		return -EBUSY;
	}
	*old = qdisc_replace(sch, new, &q->child);
	q->asks_nobody = false;
	q->plain = false;	/* after the child is removed, the link keeps the slow path, which any link can use */
	return 0;
}

static struct Qdisc *leolink_leaf(struct Qdisc *sch, unsigned long arg)
{
	return ((struct leolink_sched *)qdisc_priv(sch))->child;
}

static unsigned long leolink_find(struct Qdisc *sch, u32 classid)
{
	return 1;
}

static void leolink_walk(struct Qdisc *sch, struct qdisc_walker *walker)
{
	if (!walker->stop)
		tc_qdisc_stats_dump(sch, 1, walker);
}

static int leolink_dump_class(struct Qdisc *sch, unsigned long cl, struct sk_buff *skb, struct tcmsg *tcm)
{
	struct leolink_sched *q = qdisc_priv(sch);

	tcm->tcm_handle |= TC_H_MIN(1);
	tcm->tcm_info = q->child ? q->child->handle : 0;
	return 0;
}

const struct Qdisc_class_ops leolink_class_ops = {
	.graft = leolink_graft,
	.leaf = leolink_leaf,
	.find = leolink_find,
	.walk = leolink_walk,
	.dump = leolink_dump_class,
};
