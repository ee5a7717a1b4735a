/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * leolink's declarations: the netlink attributes, the records for the agent, and the state of one direction of a link.
 * Functions that are called from another file of leolink are also declared here. Each file uses only the files above it
 * in this list:
 *
 *	leolink_table.c		tables of what a link does at which time
 *	leolink_overtake.c	packets that overtake each other
 *	leolink_no_cures.c	replaces guest/cures (leolink_cures.h) in a kernel without cures
 *	leolink_drops.c		records of lost packets
 *	leolink_arrivals.c	finds the earliest arrival of all links
 *	leolink_schedule.c	computes when a packet starts, departs and arrives
 *	leolink_links.c		list of all links
 *	leolink_direct.c	moves packets directly from one link into the next; without it, leolink_kernel.c is used
 *	leolink_proc.c		files in /proc/leolink
 *	leolink_child.c		another queueing discipline that replaces the FIFO
 *	leolink_change.c	netlink messages
 *	leolink_qdisc.c		the model, and the queueing discipline registered with the kernel
 */
#ifndef LEOLINK_H
#define LEOLINK_H

#include <linux/ip.h>
#include <linux/kernel.h>
#include <linux/prefetch.h>
#include <linux/skbuff.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include "clock.h"

enum {
	LEOLINK_UNSPEC,
	LEOLINK_ID,		/* u32: number of the direction in the scenario */
	LEOLINK_RATE_BPS,	/* u64: 0 = unlimited */
	LEOLINK_DELAY_NS,	/* u64 */
	LEOLINK_LIMIT_PKTS,	/* u32: U32_MAX = none */
	LEOLINK_LIMIT_BYTES,	/* u32: U32_MAX = none */
	LEOLINK_OVERHEAD_BYTES,	/* s32: number of bytes added to the frame's length */
	LEOLINK_LOSS,		/* u32: probability times 2^32 */
	LEOLINK_SEED,		/* u64 */
	LEOLINK_DOWN,		/* u32: 1 = refuse offered packets */
	LEOLINK_FLUSH,		/* flag: drop all packets that the link holds */
	LEOLINK_CAPACITY,	/* struct leolink_row[]: rows to append to the table of capacities */
	LEOLINK_CHANNEL,	/* struct leolink_row[]: rows to append to the table of delays and losses (channel) */
	LEOLINK_ORIGIN,		/* u64: clock time at which the tables begin; sent before or with the tables */
	LEOLINK_IN_ORDER,	/* u32: 0 = a packet with a smaller delay may overtake others */
	LEOLINK_PROBE_BYTES,	/* u32: length of measuring packets; the measured delay includes their transmission */
	LEOLINK_SWITCH,		/* struct leolink_switch: from now on, packets for a host leave over this direction */
	LEOLINK_ORDER,		/* struct leolink_order: packets are numbered or put in order; set before any packet */
	LEOLINK_MERGE,		/* struct leolink_merge: arriving packets for a host wait for a marker */
	LEOLINK_MARKERS,	/* flag: markers may arrive over this direction */
	LEOLINK_NOTICE,		/* struct leolink_notice: the node sends a notice to a host */
	__LEOLINK_MAX,
};
#define LEOLINK_MAX (__LEOLINK_MAX - 1)

enum leolink_cause { CAUSE_QUEUE, CAUSE_LOSS, CAUSE_DOWN, CAUSES };

struct leolink_cb {
	u64 start_ns;
	u64 arrive_ns;
	u32 serialise_ns : 31;
	u32 lost : 1;
} __packed __aligned(4);	/* an skb has only these 20 bytes for a qdisc */

/* One record of /proc/leolink/links, for one direction of a link. crates/agent reads its fields by their offsets. */
struct leolink_record {
	u32 id;
	u32 waiting_pkts;
	u64 waiting_bytes;
	u32 max_pkts_since_read;
	u32 max_pkts;
	u64 offered_pkts, offered_bytes;
	u64 delivered_pkts, delivered_bytes;
	u64 dropped_pkts[CAUSES], dropped_bytes[CAUSES];
	u64 held_pkts, held_bytes;
	u64 busy_ns;		/* sum of the transmission times of all packets that the link has accepted */
	u64 delay_ns;
	u64 max_bytes;
	u64 max_pkts_at_ns, max_bytes_at_ns;	/* when each maximum was first reached; 0 = no packet has waited */
};

/* One record of /proc/leolink/drops, for one lost packet: the time, place and cause of the loss. */
struct leolink_drop {
	u64 t_ns;
	u32 id;
	u32 cause;		/* 1 = queue full, 2 = loss, 3 = link down */
	u32 frame_bytes;
	u32 captured;
	u8 data[40];		/* the packet's first bytes, beginning at the IP header */
};

/*
 * One row of a table, which is valid from t_ns until the next row's t_ns. In netlink messages, t_ns is relative to
 * LEOLINK_ORIGIN. In the stored table, t_ns is a time of the guest's clock. In a table of capacities, `value` is in
 * bit/s; 0 = nothing is sent, LEOLINK_UNSHAPED = no limit. In a table of delays and losses (a channel), `value` is the
 * delay in ns, and `loss` is the loss probability times 2^32; U32_MAX = every packet is lost.
 */
struct leolink_row {
	u64 t_ns;
	u64 value;
	u32 loss;
	u32 zero;
};

#define LEOLINK_UNSHAPED U64_MAX

/* How a station's link treats the order of packets. */
struct leolink_order {
	u32 flags;
	u32 zero;
	u64 delay_ns;		/* how long a packet waits for missing packets with lower numbers */
};

#define LEOLINK_ORDER_NUMBER	1	/* the link gives a number to each packet that it accepts */
#define LEOLINK_ORDER_RESTORE	2	/* the link delivers packets in the order of their numbers */
#define LEOLINK_ORDER_BY_FLOW	4	/* one sequence of numbers per flow; without this flag, one per pair of hosts */
#define LEOLINK_ORDER_ADVANCED	8	/* a packet waits for lower numbers only if marked as sent over a new path */
#define LEOLINK_ORDER_ELIMINATE	16	/* the link discards the second of two copies of a packet */

/* The node's route to a host changes from another direction of the node to this direction. */
struct leolink_switch {
	u32 from;		/* id of the previous direction */
	__be32 destination;	/* address of the host */
	u64 rest_from_ns;	/* rest of the old path: last packet's travel time from direction `from` to the host */
	u64 rest_to_ns;		/* rest of the new path: first packet's travel time from this direction to the host */
	u32 flags;
	u32 hold_limit_bytes;	/* number of bytes that this direction may hold for all hosts together */
	u32 marker;		/* number of the marker that ends the old path; 0 = there is no marker */
	u32 refused;		/* enum leolink_refused: why there is no marker, or why there are no copies */
	u64 copy_ns;		/* for this time after the switch, copies leave over direction `from`; 0 = no copies */
	u64 new_way_ns;		/* for this time after the switch, packets get the mark of a new path; 0 = never */
};

#define LEOLINK_SWITCH_MOVE	1	/* packets that wait at the previous direction are moved to this one */
#define LEOLINK_SWITCH_HOLD	2	/* packets are held so that they arrive after all packets on the old path */
#define LEOLINK_SWITCH_SEND	4	/* a full hold buffer sends its oldest packet, instead of refusing the newest */

/*
 * The reason why a cure does nothing, or does only a part of its work. The agent finds all reasons except
 * REFUSED_IN_FLIGHT. leolink finds REFUSED_IN_FLIGHT, and the agent reads it in the record of the switch.
 */
enum leolink_refused {
	REFUSED_NOT,
	REFUSED_NO_OLD_WAY,	/* the old link no longer leads to the host */
	REFUSED_SAME_WAY,	/* the old link leads back to the same node */
	REFUSED_NO_TIME,	/* the paths meet after a link without delay and rate */
	REFUSED_IN_FLIGHT,	/* packets that were in flight over the old link were not moved, and arrive late */
};

/*
 * The node at which the old and the new path of a switch meet. There, packets for a host that arrive over this
 * direction wait for the old path's marker.
 */
struct leolink_merge {
	u32 marker;		/* number of the marker */
	__be32 destination;
	u64 wait_ns;		/* maximum time for which a packet waits for the marker */
	u32 from;		/* id of the direction over which the marker arrives */
	u32 limit_bytes;	/* limit for waiting bytes from this direction, for all hosts together */
	u32 flags;		/* 0 or LEOLINK_SWITCH_SEND */
	u32 zero;
};

/* A notice to the host `told`. From now on, packets from `told` to the host `destination` take this direction. */
struct leolink_notice {
	u32 number;
	u32 flags;
	__be32 told, destination;
	s64 old_delay_ns, new_delay_ns;
	u64 rest_from_ns, rest_to_ns;	/* as in leolink_switch; in false notices, rest_from_ns is the announced wait */
	s64 answer_ns;		/* time from `destination` back to `told`, minus the notice's own travel time */
	u64 delay_ns;		/* how long the node waits before it sends the notice */
	u32 from;		/* id of the previous direction */
	u32 zero;
};

#define LEOLINK_NOTICE_LOST		1	/* the notice is recorded, but not sent */
#define LEOLINK_NOTICE_FALSE		2	/* a false notice: it announces a route change that does not happen */
#define LEOLINK_NOTICE_NO_OLD_WAY	4	/* packets that were sent over the previous direction never arrive */

struct leolink_table {
	struct leolink_row *rows;
	u32 count, room;
	u32 at;			/* row at which the last search ended; the next search starts there */
	u64 least, most;	/* smallest and largest value of the rows; 0 if there are no rows */
};

/*
 * A waiting packet, stored in the ring of a link on which packets overtake each other. The ring is in order of
 * transmission, whereas the link's packet list is in order of arrival.
 */
struct leolink_waiting {
	u64 start_ns;
	u32 bytes;
};

/*
 * The ring is limited, because a larger ring would require too much kernel memory for one netlink message. The agent
 * rejects a setup with a higher limit.
 */
#define LEOLINK_WAITING_MAX 65536

struct leolink_sched {
	/* the fields that every packet accesses are adjacent in memory */
	u32 slot;		/* index of this link in `places` of leolink_arrivals.c */
	bool is_due;		/* whether the heap of arrivals contains this link */
	bool down;
	bool asks_nobody;	/* the link is not `plain`, but has no child, no holds and no windows */
	bool plain;		/* no tables, holds, windows, child, numbers or overtaking; fields after `all` unused */
	s32 overhead_bytes;
	u32 last_bytes, last_serialise_ns;
	u32 loss;
	u64 rate_bps;
	u64 due_ns;		/* the link's time in the heap of arrivals */
	u64 busy_until_ns, last_arrive_ns;
	struct sk_buff *first_waiting;
	struct Qdisc *sch;
	struct leolink_ways *ways;	/* cached routes of the node at the other end; NULL = none yet */

	u32 limit_pkts, limit_bytes;
	struct leolink_record r;	/* held_* fields of `r` are computed only when the agent reads the record */
	u64 random;
	struct list_head all;

	/* tables: capacity, delay and loss are known in advance */
	struct leolink_table capacity, channel;
	u64 origin_ns;
	/*
	 * sent_until_ns: end of the last transmission that the table of capacities scheduled. credit: further bits that
	 * would have fitted into the last nanosecond of this transmission
	 */
	u64 sent_until_ns, credit;
	u32 probe_bytes;

	/* packets that overtake */
	bool overtakes;
	struct leolink_waiting *waiting;	/* ring for up to limit_pkts packets */
	u32 waiting_head, waiting_count, waiting_room;

	/* queueing discipline that replaces the FIFO; NULL = there is a FIFO */
	struct Qdisc *child;
	bool child_has_nothing_due;

	/* packets that the link holds before it queues them; NULL = none */
	struct leolink_hold *holds;
	struct leolink_window *windows;	/* NULL = no recent switch */
	u64 hold_due_ns;	/* time at which the first hold ends; U64_MAX = nothing is held */
	u32 hold_bytes, hold_limit_bytes;
	bool full_hold_sends;

	/* numbering packets, and putting them in order */
	u32 order;		/* flags LEOLINK_ORDER_* */
	u64 order_delay_ns;

	/* packets that wait after they have arrived over this link, and markers that end such a wait */
	u32 on_arrival;		/* flags ARRIVAL_* of leolink_cures.h; 0 = packets move on immediately */
	u32 merge_bytes, merge_limit_bytes;
	bool full_merge_sends;
};

static inline u64 now_ns(void)
{
	return time_travel_time;
}

static inline struct leolink_cb *cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct leolink_cb));
	return (struct leolink_cb *)qdisc_skb_cb(skb)->data;
}

/*
 * The qdisc that contains this private data, computed without a memory access. In kernels up to 7.2, the kernel's own
 * function for this is qdisc_from_priv().
 */
static inline const struct Qdisc *leolink_qdisc_of(const struct leolink_sched *q)
{
	return container_of((const void *)q, struct Qdisc, privdata);
}

/*
 * If a function does nothing but prefetch, gcc treats it as without effect, and removes its calls. The asm statement
 * keeps gcc from removing the calls.
 */
static inline void leolink_prefetch(const void *line)
{
	prefetch(line);
	asm volatile("");
}

/*
 * Prefetches all of an sk_buff. Once the sk_buff is in the cache, its data pointer can be read, and the packet's data
 * can be prefetched.
 */
static inline void leolink_prefetch_packet(const struct sk_buff *skb)
{
	unsigned int i;

	for (i = 0; i < sizeof(*skb); i += L1_CACHE_BYTES)
		leolink_prefetch((const u8 *)skb + i);
}

/*
 * Prefetches the headers of a packet whose sk_buff is already in the cache. TCP places a packet's headers across two
 * cache lines: the first bytes of the Ethernet header are at the end of one line, and the rest of the headers at the
 * beginning of the next.
 */
static inline void leolink_prefetch_headers(const struct sk_buff *skb)
{
	leolink_prefetch(skb->data);
	leolink_prefetch(skb->data + ETH_HLEN + sizeof(struct iphdr) - 1);
}

static inline u32 link_bytes(const struct leolink_sched *q, const struct sk_buff *skb)
{
	return qdisc_pkt_len(skb) + q->overhead_bytes;
}

static inline bool leolink_has_no_room(const struct leolink_sched *q, u32 bytes)
{
	return q->r.waiting_pkts >= q->limit_pkts ||
	       (q->limit_bytes != U32_MAX && q->r.waiting_bytes + bytes > q->limit_bytes);
}

/*
 * Called wherever waiting_pkts or waiting_bytes may have grown. `waiting_pkts` and `waiting_bytes` do not grow between
 * calls of this function. If a maximum is reached several times, the earliest time is recorded.
 */
static inline void leolink_note_maxima(struct leolink_sched *q, u64 now)
{
	struct leolink_record *r = &q->r;

	if (r->waiting_pkts > r->max_pkts) {
		r->max_pkts = r->waiting_pkts;
		r->max_pkts_at_ns = now;
	}
	if (r->waiting_bytes > r->max_bytes) {
		r->max_bytes = r->waiting_bytes;
		r->max_bytes_at_ns = now;
	}
	r->max_pkts_since_read = max(r->max_pkts_since_read, r->waiting_pkts);
}

/* leolink_table.c */
int leolink_table_reserve(struct leolink_table *t, const struct nlattr *attr);
int leolink_table_refuses(const struct leolink_table *t, u64 origin_ns, const struct nlattr *attr, bool is_capacity);
void leolink_table_append(struct leolink_table *t, u64 origin_ns, const struct nlattr *attr);
void leolink_table_free(struct leolink_table *t);
u32 leolink_table_find(struct leolink_table *t, u64 at_ns);
u64 leolink_table_ready_ns(struct leolink_table *t, u64 from_ns);
u64 leolink_table_sent_ns(const struct leolink_table *t, u32 i, u64 start_ns, u32 bytes, u64 credit, u64 *rest);

static inline bool leolink_has_table(const struct leolink_sched *q)
{
	return q->capacity.count || q->channel.count;
}

/* leolink_overtake.c */
void leolink_insert_by_arrival(struct Qdisc *sch, struct sk_buff *skb);
void leolink_forget_neighbours(struct sk_buff *head);
void leolink_waiting_push(struct leolink_sched *q, u64 start_ns, u32 bytes);
void leolink_waiting_advance(struct leolink_sched *q, u64 now);
struct leolink_waiting *leolink_waiting_replace(struct leolink_sched *q, struct leolink_waiting *ring, u32 room);

/*
 * Functions of guest/cures that leolink calls.
 */
bool leolink_cures_are_linked(void);
void leolink_cures_set(struct leolink_sched *q, struct nlattr *tb[]);
int leolink_cures_begin(struct Qdisc *sch, struct nlattr *tb[], struct netlink_ext_ack *extack);
void leolink_cures_arrive(struct leolink_sched *q, struct net_device *peer, struct sk_buff *skb, u64 now);
void leolink_cures_leave(struct leolink_sched *q, u64 now);
bool leolink_order_spares(const struct sk_buff *skb);
void leolink_order_forget(struct sk_buff *skb);
struct sk_buff *leolink_window_accept(struct leolink_sched *q, struct sk_buff *skb, int *copy_ifindex, u64 now);
bool leolink_hold_takes(struct leolink_sched *q, struct sk_buff *skb, struct sk_buff **to_free, u64 now, int *ret);
void leolink_hold_release(struct leolink_sched *q, u64 now);
void leolink_hold_flush(struct leolink_sched *q, u64 now);
void leolink_switch_send_copy(struct leolink_sched *q, struct sk_buff *copy, int ifindex);

/* leolink_drops.c */
void leolink_record_drop(struct leolink_sched *q, struct sk_buff *skb, enum leolink_cause cause, u64 now);
bool leolink_drops_wait(void);
ssize_t leolink_drops_read(struct file *f, char __user *to, size_t size, loff_t *pos);
int leolink_drops_register(void);

/* leolink_arrivals.c */
void leolink_arm(struct leolink_sched *q, u64 at_ns, u64 now);
void leolink_disarm(struct leolink_sched *q);
int leolink_arrivals_join(struct leolink_sched *q);
void leolink_arrivals_leave(struct leolink_sched *q);
void leolink_arrivals_register(u64 (*deliver)(struct leolink_sched *q, u64 now),
			       void (*forward)(const struct leolink_sched *next));

/* leolink_schedule.c */
u32 leolink_serialise_ns(struct leolink_sched *q, u32 bytes);
void leolink_transmit_plain(struct leolink_sched *q, struct sk_buff *skb, u64 start, u64 now);
void leolink_transmit(struct leolink_sched *q, struct sk_buff *skb, u64 now);
void leolink_advance_any(struct leolink_sched *q, u64 now);
void leolink_set_plain(struct leolink_sched *q);
void leolink_arm_next(struct leolink_sched *q, u64 now);
void leolink_reschedule(struct Qdisc *sch, u64 now);

/*
 * Updates the count of waiting packets. A packet no longer counts as waiting when its transmission has begun. Only for
 * a link with a FIFO. Inline, because it runs twice per packet on each link.
 */
static inline void leolink_advance(struct leolink_sched *q, u64 now)
{
	while (q->first_waiting && cb(q->first_waiting)->start_ns <= now) {
		q->r.waiting_pkts--;
		q->r.waiting_bytes -= link_bytes(q, q->first_waiting);
		q->first_waiting = q->first_waiting->next;
	}
}

/* leolink_links.c */
void leolink_links_join(struct leolink_sched *q);
void leolink_links_leave(struct leolink_sched *q);
struct leolink_sched *leolink_links_find(u32 id);
ssize_t leolink_links_read(struct file *f, char __user *to, size_t size, loff_t *pos);

/* leolink_direct.c */
void leolink_direct_arrive(struct leolink_sched *q, struct net_device *peer, struct sk_buff *skb);
void leolink_direct_give_way(void);
void leolink_direct_forward(const struct leolink_sched *next);
void leolink_direct_links_changed(void);
struct net_device *leolink_direct_peer(struct leolink_sched *q);
int leolink_direct_register(int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free));

/* leolink_proc.c */
int leolink_proc_register(void);

/* leolink_child.c */
extern const struct Qdisc_class_ops leolink_class_ops;
int leolink_child_enqueue(struct leolink_sched *q, struct sk_buff *skb, struct sk_buff **to_free, u64 now);
void leolink_child_pull(struct leolink_sched *q, u64 now);
void leolink_child_rearm(struct leolink_sched *q, u64 now);
void leolink_child_flush(struct leolink_sched *q, u64 now);

/* leolink_change.c */
int leolink_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack);
int leolink_dump(struct Qdisc *sch, struct sk_buff *skb);
void leolink_flush(struct Qdisc *sch, u64 now);

#endif
