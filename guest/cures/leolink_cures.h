/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cures of route changes, linked beside leolink: records that the agent reads, and what the parts have for each
 * other. Each part uses leolink's and those whose functions are declared above its own. leolink_cures.c comes last and
 * uses all. leolink.h declares the functions that links call; leolink_no_cures.c has them in a kernel without cures.
 */
#ifndef LEOLINK_CURES_H
#define LEOLINK_CURES_H

#include "leolink.h"

/* Bits of skb->hash of a packet that was numbered. */
#define NUMBER_NEW_WAY	0x80000000	/* it went over a new link just after a switch */
#define NUMBER_COPIED	0x40000000	/* there are two */
#define NUMBER_MASK	0x3fffffff

/* One record of /proc/leolink/orders: a stream of packets that were numbered. */
struct leolink_ordered {
	__be32 source, destination;
	u32 protocol, ports;	/* as in the packet; 0 = of all flows */
	u64 numbered_pkts;
	u64 waited_pkts;	/* came before their turn */
	u64 waiting_max_bytes;	/* most of them at once */
	u64 longest_ns;		/* longest that one waited */
	u64 given_up_pkts;	/* had not come when the wait of one behind them was over */
	u64 late_pkts;		/* came after all */
	u64 eliminated_pkts;	/* were second copies */
};

/* One record of /proc/leolink/merges. */
struct leolink_merged {
	u64 t_ns;
	u32 marker;
	u32 from, to;
	__be32 destination;
	u64 marker_ns;		/* when it arrived; 0 = it has not */
	u64 ended_ns;		/* since when nothing waits for it; 0 = not yet */
	u64 waited_pkts, waited_bytes;
	u64 waiting_max_bytes;
	u64 longest_ns;
	u64 full_pkts;
};

/* One record of /proc/leolink/notices. */
struct leolink_noticed {
	u64 t_ns;
	u32 number;
	u32 flags;
	u32 id;			/* of the direction */
	__be32 told, destination;
	u32 zero;
	u64 sent_ns;		/* 0 = it was not */
	s64 old_delay_ns, new_delay_ns;
	u64 wait_ns;
};

/* One record of /proc/leolink/nodes. */
struct leolink_node_record {
	u32 id;			/* of a direction of a link of the node */
	u32 receives;		/* whether the node receives over it, or sends */
	u64 held_pkts, held_bytes;	/* now, before and behind links together */
	u64 held_max_bytes, held_max_at_ns;
	u64 signals_pkts, signals_bytes;	/* frames without a link's overhead */
	u64 behind_pkts;	/* of those held now, behind links: links have delivered them */
};

/* One record of /proc/leolink/switches: a switch at which packets were moved or wait. */
struct leolink_switched {
	u64 t_ns;
	u32 from, to;
	__be32 destination;
	u32 marker;
	u32 refused;
	u32 zero;
	u64 moved_pkts, moved_bytes;
	u64 hold_ns;		/* how long the first packet would be held back; 0 = none is */
	u64 held_back_pkts, held_back_bytes;
	u64 held_back_max_bytes;	/* most of them at once */
	u64 held_back_longest_ns;
	u64 full_pkts;		/* packets that met a full hold buffer */
	u64 copied_pkts, copied_bytes;	/* whose copies went over the other direction */
};

/* Kinds of waits behind a link (on_arrival). */
#define ARRIVAL_ORDER	1	/* to a station, in the order of their numbers */
#define ARRIVAL_MARKER	2	/* one of them may be a marker */
#define ARRIVAL_MERGE	4	/* some wait for a marker */

static inline bool leolink_is_for(const struct sk_buff *skb, __be32 destination)
{
	return skb->protocol == htons(ETH_P_IP) && ip_hdr(skb)->daddr == destination;
}

/* leolink_record.c: a record for each switch */
struct leolink_switched *leolink_switched_new(void);
void leolink_switched_keep(struct leolink_switched *r);
void leolink_switched_free(struct leolink_switched *r);
void leolink_switched_open(struct leolink_switched *r);
void leolink_switched_close(struct leolink_switched *r);
ssize_t leolink_switches_read(struct file *f, char __user *to, size_t size, loff_t *pos);

/* leolink_node.c: an account for each node, of packets that wait and of its own */
struct leolink_node *leolink_node_of(const struct net *net, u32 id, bool receives);
void leolink_node_hold(struct leolink_node *node, u32 bytes, bool behind, u64 now);
void leolink_node_release(struct leolink_node *node, u32 bytes, bool behind);
void leolink_node_signal(struct leolink_node *node, u32 bytes);
ssize_t leolink_nodes_read(struct file *f, char __user *to, size_t size, loff_t *pos);

/* leolink_order.c: packets get numbers, and are put back into that order */
extern bool leolink_is_moving;
void leolink_order_set_by_flow(bool by_flow);
void leolink_order_number(struct leolink_sched *q, struct sk_buff *skb);
bool leolink_order_has_number(const struct sk_buff *skb);
void leolink_order_deliver(struct leolink_sched *q, struct net_device *peer, struct sk_buff *skb, u64 now);
ssize_t leolink_orders_read(struct file *f, char __user *to, size_t size, loff_t *pos);
void leolink_orders_register(void);

/* leolink_window.c: copies and marks of packets for a while after a switch */
int leolink_window_begin(struct leolink_sched *q, const struct leolink_switch *s, int copy_ifindex, bool marks,
			 struct leolink_switched *record);
void leolink_window_end_all(struct leolink_sched *q);

/* leolink_hold.c: new packets wait until the old way is empty */
struct leolink_hold *leolink_hold_new(void);
void leolink_hold_free(struct leolink_hold *hold);
void leolink_hold_begin(struct leolink_sched *q, struct leolink_hold *hold, __be32 destination, u64 until_ns,
			struct leolink_switched *record);
void leolink_hold_take(struct leolink_sched *q, __be32 destination, struct qdisc_skb_head *taken, u64 now);
u64 leolink_hold_last_arrival_ns(struct leolink_sched *q, __be32 destination);

/* leolink_signal.c: packets of the network's own */
#define SIGNAL_NOTICE	253	/* types of ICMP */
#define SIGNAL_MARKER	254
#define SIGNAL_MARKER_MAGIC	0x6c656f6d	/* "leom" */
struct sk_buff *leolink_signal_new(u8 type, __be32 destination, const __be32 *body, u32 body_bytes, gfp_t flags);
bool leolink_signal_is_marker(const struct sk_buff *skb, u32 *number);
void leolink_signal_frame(struct sk_buff *skb, struct net_device *dev);

/* leolink_merge.c: packets by a new way wait for the marker that ends the old one */
int leolink_merge_begin(struct leolink_sched *q, const struct leolink_merge *m);
bool leolink_merge_takes_marker(struct sk_buff *skb, u64 now);
bool leolink_merge_holds(struct leolink_sched *q, struct net_device *peer, struct sk_buff *skb, u64 now);
void leolink_merge_leave(struct leolink_sched *q, u64 now);
ssize_t leolink_merges_read(struct file *f, char __user *to, size_t size, loff_t *pos);
void leolink_merges_register(void);

/* leolink_notice.c: hosts learn of a route change */
int leolink_notice_begin(struct leolink_sched *q, const struct leolink_notice *n, struct netlink_ext_ack *extack);
ssize_t leolink_notices_read(struct file *f, char __user *to, size_t size, loff_t *pos);

/* leolink_switch.c: packets for a host go over another link from now on */
int leolink_switch_over(struct Qdisc *sch, const struct leolink_switch *s, struct netlink_ext_ack *extack);

#endif
