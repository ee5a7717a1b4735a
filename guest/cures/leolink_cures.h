/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cures of route changes, linked in addition to leolink: records that the agent reads, and the functions that the
 * parts share. Each part uses leolink's functions and those of parts declared above it. leolink_cures.c comes last and
 * uses all. leolink.h declares the functions that links call; leolink_no_cures.c provides them in a kernel without
 * cures.
 */
#ifndef LEOLINK_CURES_H
#define LEOLINK_CURES_H

#include "leolink.h"

/* Bits of skb->hash of a numbered packet. */
#define NUMBER_NEW_WAY	0x80000000	/* it took a new link just after a switch */
#define NUMBER_COPIED	0x40000000	/* a copy of it was sent */
#define NUMBER_MASK	0x3fffffff

/* One record of /proc/leolink/orders: a stream of numbered packets. */
struct leolink_ordered {
	__be32 source, destination;
	u32 protocol, ports;	/* as in the packet; 0 = all flows */
	u64 numbered_pkts;
	u64 waited_pkts;	/* arrived before their turn */
	u64 waiting_max_bytes;	/* maximum at one time */
	u64 longest_ns;		/* longest wait of a packet */
	u64 given_up_pkts;	/* still missing when the wait of a later packet ended */
	u64 late_pkts;		/* arrived after later packets had been passed on */
	u64 eliminated_pkts;	/* second copies, discarded */
};

/* One record of /proc/leolink/merges. */
struct leolink_merged {
	u64 t_ns;
	u32 marker;
	u32 from, to;
	__be32 destination;
	u64 marker_ns;		/* when the marker arrived; 0 = not yet */
	u64 ended_ns;		/* when the wait ended; 0 = not yet */
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
	u64 sent_ns;		/* 0 = not sent */
	s64 old_delay_ns, new_delay_ns;
	u64 wait_ns;
};

/* One record of /proc/leolink/nodes. */
struct leolink_node_record {
	u32 id;			/* of a direction of one of the node's links */
	u32 receives;		/* 1 = the node receives over this direction, 0 = it sends */
	u64 held_pkts, held_bytes;	/* at present, before and behind links together */
	u64 held_max_bytes, held_max_at_ns;
	u64 signals_pkts, signals_bytes;	/* frames without the link's overhead */
	u64 behind_pkts;	/* those of held_pkts that wait behind links, which have delivered them */
};

/* One record of /proc/leolink/switches: a switch that moved packets or made them wait. */
struct leolink_switched {
	u64 t_ns;
	u32 from, to;
	__be32 destination;
	u32 marker;
	u32 refused;
	u32 zero;
	u64 moved_pkts, moved_bytes;
	u64 hold_ns;		/* planned wait of the first packet; 0 = none waits */
	u64 held_back_pkts, held_back_bytes;
	u64 held_back_max_bytes;	/* maximum at one time */
	u64 held_back_longest_ns;
	u64 full_pkts;		/* packets that found the hold buffer full */
	u64 copied_pkts, copied_bytes;	/* packets of which copies went over the other direction */
};

/* Kinds of waits behind a link (bits of on_arrival). */
#define ARRIVAL_ORDER	1	/* at a station, for the order of packet numbers */
#define ARRIVAL_MARKER	2	/* an arriving packet may be a marker */
#define ARRIVAL_MERGE	4	/* some packets wait for a marker */

static inline bool leolink_is_for(const struct sk_buff *skb, __be32 destination)
{
	return skb->protocol == htons(ETH_P_IP) && ip_hdr(skb)->daddr == destination;
}

/* leolink_record.c: one record per switch; and how any records are read */
struct leolink_switched *leolink_switched_new(void);
void leolink_switched_keep(struct leolink_switched *r);
void leolink_switched_free(struct leolink_switched *r);
void leolink_switched_open(struct leolink_switched *r);
void leolink_switched_close(struct leolink_switched *r);
ssize_t leolink_records_read(char __user *to, size_t size, void *record, size_t bytes, bool (*take)(void *record));
ssize_t leolink_switches_read(struct file *f, char __user *to, size_t size, loff_t *pos);

/* leolink_node.c: an account per node, of packets that wait and of packets that it sends itself */
struct leolink_node *leolink_node_of(const struct net *net, u32 id, bool receives);
void leolink_node_hold(struct leolink_node *node, u32 bytes, bool behind, u64 now);
void leolink_node_release(struct leolink_node *node, u32 bytes, bool behind);
void leolink_node_signal(struct leolink_node *node, u32 bytes);
ssize_t leolink_nodes_read(struct file *f, char __user *to, size_t size, loff_t *pos);

/* leolink_order.c: numbers packets and restores their order */
extern bool leolink_is_moving;
void leolink_order_set_by_flow(bool by_flow);
void leolink_order_number(struct leolink_sched *q, struct sk_buff *skb);
bool leolink_order_has_number(const struct sk_buff *skb);
void leolink_order_deliver(struct leolink_sched *q, struct net_device *peer, struct sk_buff *skb, u64 now);
ssize_t leolink_orders_read(struct file *f, char __user *to, size_t size, loff_t *pos);
void leolink_orders_register(void);

/* leolink_window.c: copies and marks packets for a while after a switch */
int leolink_window_begin(struct leolink_sched *q, const struct leolink_switch *s, int copy_ifindex, bool marks,
			 struct leolink_switched *record);
void leolink_window_end_all(struct leolink_sched *q);

/* leolink_hold.c: new packets wait until the old path is empty */
struct leolink_hold *leolink_hold_new(void);
void leolink_hold_free(struct leolink_hold *hold);
void leolink_hold_begin(struct leolink_sched *q, struct leolink_hold *hold, __be32 destination, u64 until_ns,
			struct leolink_switched *record);
void leolink_hold_take(struct leolink_sched *q, __be32 destination, struct qdisc_skb_head *taken, u64 now);
u64 leolink_hold_last_arrival_ns(struct leolink_sched *q, __be32 destination);

/* leolink_signal.c: packets that the network itself sends */
#define SIGNAL_NOTICE	253	/* ICMP types */
#define SIGNAL_MARKER	254
#define SIGNAL_MARKER_MAGIC	0x6c656f6d	/* "leom" */
struct sk_buff *leolink_signal_new(u8 type, __be32 destination, const __be32 *body, u32 body_bytes, gfp_t flags);
bool leolink_signal_is_marker(const struct sk_buff *skb, u32 *number);
void leolink_signal_frame(struct sk_buff *skb, struct net_device *dev);

/* leolink_merge.c: packets on a new path wait for the marker that ends the old path */
int leolink_merge_begin(struct leolink_sched *q, const struct leolink_merge *m);
bool leolink_merge_takes_marker(struct sk_buff *skb, u64 now);
bool leolink_merge_holds(struct leolink_sched *q, struct net_device *peer, struct sk_buff *skb, u64 now);
void leolink_merge_leave(struct leolink_sched *q, u64 now);
ssize_t leolink_merges_read(struct file *f, char __user *to, size_t size, loff_t *pos);
void leolink_merges_register(void);

/* leolink_notice.c: hosts are notified of a route change */
int leolink_notice_begin(struct leolink_sched *q, const struct leolink_notice *n, struct netlink_ext_ack *extack);
ssize_t leolink_notices_read(struct file *f, char __user *to, size_t size, loff_t *pos);

/* leolink_switch.c: packets for a host move to another link */
int leolink_switch_over(struct Qdisc *sch, const struct leolink_switch *s, struct netlink_ext_ack *extack);

#endif
