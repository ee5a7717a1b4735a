// SPDX-License-Identifier: GPL-2.0-only
/*
 * Empty versions of the functions of guest/cures, for a kernel without cures. All functions here are weak, so that the
 * functions with the same names in guest/cures can replace them. In a kernel without cures, leolink_change.c refuses
 * each message that asks for a cure, so no cure ever applies to a packet.
 */
#include <linux/netdevice.h>
#include "leolink.h"

__weak bool leolink_cures_are_linked(void)
{
	return false;
}

__weak void leolink_cures_set(struct leolink_sched *q, struct nlattr *tb[])
{
}

__weak int leolink_cures_begin(struct Qdisc *sch, struct nlattr *tb[], struct netlink_ext_ack *extack)
{
	return 0;
}

__weak void leolink_cures_arrive(struct leolink_sched *q, struct net_device *peer, struct sk_buff *skb, u64 now)
{
	dev_forward_skb(peer, skb);
}

__weak void leolink_cures_leave(struct leolink_sched *q, u64 now)
{
}

__weak bool leolink_order_spares(const struct sk_buff *skb)
{
	return false;
}

__weak void leolink_order_forget(struct sk_buff *skb)
{
}

__weak struct sk_buff *leolink_window_accept(struct leolink_sched *q, struct sk_buff *skb, int *copy_ifindex, u64 now)
{
	return NULL;
}

__weak bool leolink_hold_takes(struct leolink_sched *q, struct sk_buff *skb, struct sk_buff **to_free, u64 now,
			       int *ret)
{
	return false;
}

__weak void leolink_hold_release(struct leolink_sched *q, u64 now)
{
}

__weak void leolink_hold_flush(struct leolink_sched *q, u64 now)
{
}

__weak void leolink_switch_send_copy(struct leolink_sched *q, struct sk_buff *copy, int ifindex)
{
	dev_kfree_skb_any(copy);
}
