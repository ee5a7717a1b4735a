/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The cures for route changes, an optional addition to leolink. This header declares the records that the agent reads.
 * It also declares functions that one cure file calls in another. A cure file uses functions of leolink, and of the
 * cure files above it in this header. The file leolink_cures.c uses all other cure files. leolink.h declares the cures'
 * functions that leolink calls. In a kernel without cures, leolink_no_cures.c defines these functions of leolink.h.
 */
#ifndef LEOLINK_CURES_H
#define LEOLINK_CURES_H

#include "leolink.h"

/* Bits in skb->hash of a numbered packet. */
#define NUMBER_NEW_WAY	0x80000000	/* the packet took a new link shortly after a switch */
#define NUMBER_COPIED	0x40000000	/* a copy of the packet was sent */
#define NUMBER_MASK	0x3fffffff

/* One record of /proc/leolink/orders, for a stream of numbered packets. */
struct leolink_ordered {
	__be32 source, destination;
	u32 protocol, ports;	/* as in the packets' headers; 0 = the stream contains all flows between the hosts */
	u64 numbered_pkts;
	u64 waited_pkts;	/* packets that waited because lower numbers had not arrived yet */
	u64 waiting_max_bytes;	/* largest number of bytes that waited at once */
	u64 longest_ns;		/* longest time for which a packet waited */
	u64 given_up_pkts;	/* packets that were still missing when the wait of a later packet ended */
	u64 late_pkts;		/* packets that arrived after the station had passed on later ones */
	u64 eliminated_pkts;	/* packets that were discarded because another copy had already arrived */
};

/* One record of /proc/leolink/merges, for a node where an old and a new path meet, and for one route change. */
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

/* One record of /proc/leolink/notices, for one notice. */
struct leolink_noticed {
	u64 t_ns;
	u32 number;
	u32 flags;
	u32 id;			/* id of the direction */
	__be32 told, destination;
	u32 zero;
	u64 sent_ns;		/* when the notice was sent; 0 = not sent */
	s64 old_delay_ns, new_delay_ns;
	u64 wait_ns;
};

/* One record of /proc/leolink/nodes, for one node. */
struct leolink_node_record {
	u32 id;			/* id of one of the node's directions; the agent recognises the node by it */
	u32 receives;		/* 1 = this direction leads to the node, 0 = away from it */
	u64 held_pkts, held_bytes;	/* sum of the packets that the node holds now, before and after its links */
	u64 held_max_bytes, held_max_at_ns;
	u64 signals_pkts, signals_bytes;	/* frames that the node itself has sent, without the link's overhead */
	u64 behind_pkts;	/* packets among held_pkts that arrived over a link and wait at the node */
};

/* One record of /proc/leolink/switches, for one switch that moved or held packets. */
struct leolink_switched {
	u64 t_ns;
	u32 from, to;
	__be32 destination;
	u32 marker;
	u32 refused;
	u32 zero;
	u64 moved_pkts, moved_bytes;
	u64 hold_ns;		/* planned wait of the first held packet; 0 = no packet is held */
	u64 held_back_pkts, held_back_bytes;
	u64 held_back_max_bytes;	/* largest number of bytes held at once */
	u64 held_back_longest_ns;
	u64 full_pkts;		/* packets that arrived while the hold buffer was full */
	u64 copied_pkts, copied_bytes;	/* packets that were also sent over the previous direction */
};

/* Reasons why packets wait at a node after they arrived over a link (bits of on_arrival). */
#define ARRIVAL_ORDER	1	/* at a station, packets wait until all earlier numbers have arrived */
#define ARRIVAL_MARKER	2	/* an arriving packet may be a marker */
#define ARRIVAL_MERGE	4	/* packets for some hosts wait for a marker */

static inline bool leolink_is_for(const struct sk_buff *skb, __be32 destination)
{
	return skb->protocol == htons(ETH_P_IP) && ip_hdr(skb)->daddr == destination;
}

/* leolink_record.c: one record per switch, and functions by which the agent reads the records of all cures */
struct leolink_switched *leolink_switched_new(void);
void leolink_switched_keep(struct leolink_switched *r);
void leolink_switched_free(struct leolink_switched *r);
void leolink_switched_open(struct leolink_switched *r);
void leolink_switched_close(struct leolink_switched *r);
ssize_t leolink_records_read(char __user *to, size_t size, void *record, size_t bytes, bool (*take)(void *record));
ssize_t leolink_switches_read(struct file *f, char __user *to, size_t size, loff_t *pos);

/*
 * leolink_node.c: for each node, counts the packets that the node holds, and the packets that the node itself sends
 */
struct leolink_node *leolink_node_of(const struct net *net, u32 id, bool receives);
void leolink_node_hold(struct leolink_node *node, u32 bytes, bool behind, u64 now);
void leolink_node_release(struct leolink_node *node, u32 bytes, bool behind);
void leolink_node_signal(struct leolink_node *node, u32 bytes);
ssize_t leolink_nodes_read(struct file *f, char __user *to, size_t size, loff_t *pos);

/* leolink_order.c: numbers packets, and restores their order at the receiving station */
extern bool leolink_is_moving;
void leolink_order_set_by_flow(bool by_flow);
void leolink_order_number(struct leolink_sched *q, struct sk_buff *skb);
bool leolink_order_has_number(const struct sk_buff *skb);
void leolink_order_deliver(struct leolink_sched *q, struct net_device *peer, struct sk_buff *skb, u64 now);
ssize_t leolink_orders_read(struct file *f, char __user *to, size_t size, loff_t *pos);
void leolink_orders_register(void);

/* leolink_window.c: copies and marks packets for some time after a switch */
int leolink_window_begin(struct leolink_sched *q, const struct leolink_switch *s, int copy_ifindex, bool marks,
			 struct leolink_switched *record);
void leolink_window_end_all(struct leolink_sched *q);

/* leolink_hold.c: holds packets for a new path until the packets on the old path have arrived */
struct leolink_hold *leolink_hold_new(void);
void leolink_hold_free(struct leolink_hold *hold);
void leolink_hold_begin(struct leolink_sched *q, struct leolink_hold *hold, __be32 destination, u64 until_ns,
			struct leolink_switched *record);
void leolink_hold_take(struct leolink_sched *q, __be32 destination, struct qdisc_skb_head *taken, u64 now);
u64 leolink_hold_last_arrival_ns(struct leolink_sched *q, __be32 destination);

/* leolink_signal.c: notices and markers, which are packets that a node itself sends */
#define SIGNAL_NOTICE	253	/* ICMP types */
#define SIGNAL_MARKER	254
#define SIGNAL_MARKER_MAGIC	0x6c656f6d	/* "leom" */
struct sk_buff *leolink_signal_new(u8 type, __be32 destination, const __be32 *body, u32 body_bytes, gfp_t flags);
bool leolink_signal_is_marker(const struct sk_buff *skb, u32 *number);
void leolink_signal_frame(struct sk_buff *skb, struct net_device *dev);

/* leolink_merge.c: makes packets on a new path wait for the marker that ends the old path */
int leolink_merge_begin(struct leolink_sched *q, const struct leolink_merge *m);
bool leolink_merge_takes_marker(struct sk_buff *skb, u64 now);
bool leolink_merge_holds(struct leolink_sched *q, struct net_device *peer, struct sk_buff *skb, u64 now);
void leolink_merge_leave(struct leolink_sched *q, u64 now);
ssize_t leolink_merges_read(struct file *f, char __user *to, size_t size, loff_t *pos);
void leolink_merges_register(void);

/* leolink_notice.c: notifies hosts of a route change */
int leolink_notice_begin(struct leolink_sched *q, const struct leolink_notice *n, struct netlink_ext_ack *extack);
ssize_t leolink_notices_read(struct file *f, char __user *to, size_t size, loff_t *pos);

/* leolink_switch.c: moves packets for a host to another link */
int leolink_switch_over(struct Qdisc *sch, const struct leolink_switch *s, struct netlink_ext_ack *extack);

#endif
