// SPDX-License-Identifier: GPL-2.0-only
/*
 * Delivers the packets of a link in a kernel without leolink_direct.c. A packet enters the backlog of the device at the
 * link's other end, and Linux forwards it. All functions here are weak, so that functions with the same names in
 * leolink_direct.c can replace them.
 */
#include <linux/netdevice.h>
#include "leolink.h"

__weak void leolink_direct_arrive(struct leolink_sched *q, struct net_device *peer, struct sk_buff *skb)
{
	dev_forward_skb(peer, skb);
}

__weak void leolink_direct_give_way(void)
{
}

__weak void leolink_direct_forward(const struct leolink_sched *next)
{
}

__weak void leolink_direct_links_changed(void)
{
}

__weak struct net_device *leolink_direct_peer(struct leolink_sched *q)
{
	struct net_device *dev = qdisc_dev(q->sch);

	return dev->netdev_ops->ndo_get_peer_dev ? dev->netdev_ops->ndo_get_peer_dev(dev) : NULL;
}

__weak int leolink_direct_register(int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free))
{
	return 0;
}
