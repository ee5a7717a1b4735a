// SPDX-License-Identifier: GPL-2.0-only
/*
 * The interface of the cures: functions for leolink, and files in /proc/leolink for the agent. The files are orders,
 * switches, merges, notices and nodes, in binary form. A netlink message does one of two things. It sets how a link
 * treats every packet, or it starts a node's actions at a route change.
 */
#include <linux/init.h>
#include <linux/netdevice.h>
#include <linux/proc_fs.h>
#include "leolink_cures.h"

bool leolink_cures_are_linked(void)
{
	return true;
}

/* Sets how a link treats all its packets from now on. */
void leolink_cures_set(struct leolink_sched *q, struct nlattr *tb[])
{
	if (tb[LEOLINK_ORDER]) {
		struct leolink_order order;

		/* the struct is copied, because netlink aligns an attribute only to 4 bytes */
		memcpy(&order, nla_data(tb[LEOLINK_ORDER]), sizeof(order));
		q->order = order.flags;
		q->order_delay_ns = order.delay_ns;
		leolink_order_set_by_flow(q->order & LEOLINK_ORDER_BY_FLOW);
		if (q->order & (LEOLINK_ORDER_RESTORE | LEOLINK_ORDER_ELIMINATE))
			q->on_arrival |= ARRIVAL_ORDER;
	}
	if (nla_get_flag(tb[LEOLINK_MARKERS]))
		q->on_arrival |= ARRIVAL_MARKER;
}

/* Starts the actions of a node at the route change that `tb` describes. May sleep. */
int leolink_cures_begin(struct Qdisc *sch, struct nlattr *tb[], struct netlink_ext_ack *extack)
{
	struct leolink_sched *q = qdisc_priv(sch);
	int err = 0;

	if (tb[LEOLINK_MERGE]) {
		struct leolink_merge m;

		/* the struct is copied, because netlink aligns an attribute only to 4 bytes */
		memcpy(&m, nla_data(tb[LEOLINK_MERGE]), sizeof(m));
		err = leolink_merge_begin(q, &m);
	}
	if (!err && tb[LEOLINK_SWITCH]) {
		struct leolink_switch s;

		memcpy(&s, nla_data(tb[LEOLINK_SWITCH]), sizeof(s));
		err = leolink_switch_over(sch, &s, extack);
	}
	if (!err && tb[LEOLINK_NOTICE]) {
		struct leolink_notice n;

		memcpy(&n, nla_data(tb[LEOLINK_NOTICE]), sizeof(n));
		err = leolink_notice_begin(q, &n, extack);
	}
	return err;
}

/* Called when a packet has arrived over a link. The packet may have to wait at the node, or may be a marker. */
void leolink_cures_arrive(struct leolink_sched *q, struct net_device *peer, struct sk_buff *skb, u64 now)
{
	if ((q->on_arrival & ARRIVAL_MARKER) && leolink_merge_takes_marker(skb, now))
		return;
	if ((q->on_arrival & ARRIVAL_MERGE) && leolink_merge_holds(q, peer, skb, now))
		return;
	if (q->on_arrival & ARRIVAL_ORDER)
		leolink_order_deliver(q, peer, skb, now);
	else
		dev_forward_skb(peer, skb);
}

/*
 * Called when a link is removed. Drops all packets that wait before the link, and all packets that wait at the node
 * after they arrived over the link.
 */
void leolink_cures_leave(struct leolink_sched *q, u64 now)
{
	leolink_hold_flush(q, now);
	leolink_merge_leave(q, now);
	leolink_window_end_all(q);
}

static const struct proc_ops orders_ops = { .proc_read = leolink_orders_read };
static const struct proc_ops switches_ops = { .proc_read = leolink_switches_read };
static const struct proc_ops merges_ops = { .proc_read = leolink_merges_read };
static const struct proc_ops notices_ops = { .proc_read = leolink_notices_read };
static const struct proc_ops nodes_ops = { .proc_read = leolink_nodes_read };

/* Called after leolink has created the directory /proc/leolink. */
static int __init leolink_cures_register(void)
{
	BUILD_BUG_ON(sizeof(struct leolink_order) != 16);
	BUILD_BUG_ON(sizeof(struct leolink_switch) != 56);
	BUILD_BUG_ON(sizeof(struct leolink_switched) != 112);
	BUILD_BUG_ON(sizeof(struct leolink_merge) != 32);
	BUILD_BUG_ON(sizeof(struct leolink_merged) != 80);
	BUILD_BUG_ON(sizeof(struct leolink_notice) != 72);
	BUILD_BUG_ON(sizeof(struct leolink_noticed) != 64);
	BUILD_BUG_ON(sizeof(struct leolink_node_record) != 64);
	BUILD_BUG_ON(sizeof(struct leolink_ordered) != 72);
	leolink_orders_register();
	leolink_merges_register();
	if (!proc_create("leolink/orders", 0400, NULL, &orders_ops) ||
	    !proc_create("leolink/switches", 0400, NULL, &switches_ops) ||
	    !proc_create("leolink/merges", 0400, NULL, &merges_ops) ||
	    !proc_create("leolink/notices", 0400, NULL, &notices_ops) ||
	    !proc_create("leolink/nodes", 0400, NULL, &nodes_ops))
		return -ENOMEM;
	return 0;
}
late_initcall(leolink_cures_register);
