/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * leolink: netlink attributes, the records that the agent reads, the state of one direction of a link, and the
 * functions that the parts share. Each part uses only parts above it in this list:
 *
 *	leolink_table.c		tables by time of what a link does
 *	leolink_overtake.c	packets that overtake each other
 *	leolink_no_cures.c	replaces guest/cures (leolink_cures.h) if that is not linked
 *	leolink_drops.c		which packets were lost
 *	leolink_arrivals.c	the earliest arrival of all links
 *	leolink_schedule.c	when a packet starts, departs and arrives
 *	leolink_links.c		all links
 *	leolink_direct.c	packets go from one link straight into the next; leolink_kernel.c replaces it if not linked
 *	leolink_proc.c		/proc/leolink
 *	leolink_child.c		another queueing discipline instead of the FIFO
 *	leolink_change.c	netlink
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
	LEOLINK_OVERHEAD_BYTES,	/* s32: added to the frame's length */
	LEOLINK_LOSS,		/* u32: probability times 2^32 */
	LEOLINK_SEED,		/* u64 */
	LEOLINK_DOWN,		/* u32: 1 = refuse offered packets */
	LEOLINK_FLUSH,		/* flag: drop all held packets */
	LEOLINK_CAPACITY,	/* struct leolink_row[]: appended to the table of capacities */
	LEOLINK_CHANNEL,	/* struct leolink_row[]: appended to the table of delays and losses */
	LEOLINK_ORIGIN,		/* u64: clock time of the tables' 0; sent before them or with them */
	LEOLINK_IN_ORDER,	/* u32: 0 = a packet that meets a smaller delay overtakes */
	LEOLINK_PROBE_BYTES,	/* u32: the measured delay includes the transmission of a packet of this length */
	LEOLINK_SWITCH,		/* struct leolink_switch: packets for a host leave over this direction from now on */
	LEOLINK_ORDER,		/* struct leolink_order: packets are numbered or put in order; set first */
	LEOLINK_MERGE,		/* struct leolink_merge: arriving packets for a host wait for a marker */
	LEOLINK_MARKERS,	/* flag: markers may arrive */
	LEOLINK_NOTICE,		/* struct leolink_notice: the node notifies a host */
	__LEOLINK_MAX,
};
#define LEOLINK_MAX (__LEOLINK_MAX - 1)

enum leolink_cause { CAUSE_QUEUE, CAUSE_LOSS, CAUSE_DOWN, CAUSES };

struct leolink_cb {
	u64 start_ns;
	u64 arrive_ns;
	u32 serialise_ns : 31;
	u32 lost : 1;
} __packed __aligned(4);	/* a qdisc has only these 20 bytes in an skb */

/* One record of /proc/leolink/links. crates/agent reads it by these offsets. */
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
	u64 busy_ns;		/* transmission time of all accepted packets */
	u64 delay_ns;
	u64 max_bytes;
	u64 max_pkts_at_ns, max_bytes_at_ns;	/* when each maximum was first reached; 0 = nothing has waited */
};

/* One record of /proc/leolink/drops: a lost packet, with time, place and cause. */
struct leolink_drop {
	u64 t_ns;
	u32 id;
	u32 cause;		/* 1 queue, 2 loss, 3 link down */
	u32 frame_bytes;
	u32 captured;
	u8 data[40];		/* the packet's first bytes, from the IP header on */
};

/*
 * One row of a table, in force from t_ns on. In netlink t_ns counts from the tables' 0; in the stored table it is a
 * clock time. Capacity: value in bit/s, 0 = nothing is sent, LEOLINK_UNSHAPED = no limit. Channel: value is the delay
 * in ns; loss is a probability times 2^32, U32_MAX = certain.
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
	u64 delay_ns;		/* how long a packet waits for missing ones before it */
};

#define LEOLINK_ORDER_NUMBER	1	/* numbers the packets that it accepts */
#define LEOLINK_ORDER_RESTORE	2	/* delivers packets in the order of their numbers */
#define LEOLINK_ORDER_BY_FLOW	4	/* one sequence of numbers per flow, not per pair of hosts */
#define LEOLINK_ORDER_ADVANCED	8	/* only a packet that came by a new path waits for those before it */
#define LEOLINK_ORDER_ELIMINATE	16	/* discards the second of two copies of a packet */

/* The node's route to a host changes to this direction, from another direction of the same node. */
struct leolink_switch {
	u32 from;		/* id of the other direction */
	__be32 destination;	/* the host's address */
	u64 rest_from_ns;	/* time from the far end of the other direction to the host, for the last packet ... */
	u64 rest_to_ns;		/* ... and for the first one over this direction */
	u32 flags;
	u32 hold_limit_bytes;	/* bytes that this direction may hold, for all hosts together */
	u32 marker;		/* number of the marker that ends the old path; 0 = there is none */
	u32 refused;		/* why there is no marker, or no copies; enum leolink_refused */
	u64 copy_ns;		/* how long copies go over the other direction; 0 = no copies */
	u64 new_way_ns;		/* how long packets are marked as sent over a new path, if they may overtake; 0 = not */
};

#define LEOLINK_SWITCH_MOVE	1	/* packets waiting at the other direction move to this one */
#define LEOLINK_SWITCH_HOLD	2	/* packets on this one are held, to arrive after the last over the other */
#define LEOLINK_SWITCH_SEND	4	/* a full hold buffer sends its oldest packet instead of refusing the newest */

/*
 * Why a cure does nothing, or not all. The agent finds all reasons except the last, which leolink finds and the agent
 * reads back.
 */
enum leolink_refused {
	REFUSED_NOT,
	REFUSED_NO_OLD_WAY,	/* the old link no longer leads to the host */
	REFUSED_SAME_WAY,	/* the old link leads back to this node */
	REFUSED_NO_TIME,	/* the paths meet behind a link without delay and rate */
	REFUSED_IN_FLIGHT,	/* packets in flight over the old link are not moved, and arrive late */
};

/* A switch of another node: packets for a host that arrive over this direction wait for the marker of the old path. */
struct leolink_merge {
	u32 marker;		/* number of the marker */
	__be32 destination;
	u64 wait_ns;		/* longest wait of a packet */
	u32 from;		/* id of the direction over which the marker arrives */
	u32 limit_bytes;	/* bytes that may wait after arriving over this direction, for all hosts together */
	u32 flags;		/* LEOLINK_SWITCH_SEND */
	u32 zero;
};

/* A host is notified that its packets to another host go over this direction from now on. */
struct leolink_notice {
	u32 number;
	u32 flags;
	__be32 told, destination;
	s64 old_delay_ns, new_delay_ns;
	u64 rest_from_ns, rest_to_ns;	/* as in leolink_switch; in a false notice, the first is the announced wait */
	s64 answer_ns;		/* time from the destination back to the host, minus the notice's own travel time */
	u64 delay_ns;		/* how long the node waits before it sends the notice */
	u32 from;		/* id of the previous direction */
	u32 zero;
};

#define LEOLINK_NOTICE_LOST		1	/* the notice is recorded but not sent */
#define LEOLINK_NOTICE_FALSE		2	/* there is no route change */
#define LEOLINK_NOTICE_NO_OLD_WAY	4	/* packets sent over the previous direction do not arrive */

struct leolink_table {
	struct leolink_row *rows;
	u32 count, room;
	u32 at;			/* where the last search ended; searches go forward in time */
	u64 least, most;	/* smallest and largest value of the rows; 0 without rows */
};

/* A waiting packet of a link on which packets overtake; there, the packet list is in order of arrival. */
struct leolink_waiting {
	u64 start_ns;
	u32 bytes;
};

/* A larger ring would ask too much kernel memory for one netlink message. The agent's setup has the same limit. */
#define LEOLINK_WAITING_MAX 65536

struct leolink_sched {
	/* the fields that every packet touches, together */
	u32 slot;		/* the link's place in the table that maps links to the heap of arrivals */
	bool is_due;		/* an arrival is in the heap */
	bool down;
	bool asks_nobody;	/* not plain, but without child, holds and windows: it has tables or numbers */
	bool plain;		/* no tables, child, holds, numbers or overtaking: fields below `all` are unused */
	s32 overhead_bytes;
	u32 last_bytes, last_serialise_ns;
	u32 loss;
	u64 rate_bps;
	u64 due_ns;		/* time of the arrival in the heap */
	u64 busy_until_ns, last_arrive_ns;
	struct sk_buff *first_waiting;
	struct Qdisc *sch;
	struct leolink_ways *ways;	/* where the node at the other end sends packets; NULL = nothing has arrived */

	u32 limit_pkts, limit_bytes;
	struct leolink_record r;	/* held_* are computed when the record is read */
	u64 random;
	struct list_head all;

	/* a channel: the link's behaviour is known beforehand, and read from tables */
	struct leolink_table capacity, channel;
	u64 origin_ns;
	/* end of the last transmission by the table, and what its last nanosecond could have carried in addition */
	u64 sent_until_ns, credit;
	u32 probe_bytes;

	/* packets that overtake */
	bool overtakes;
	struct leolink_waiting *waiting;	/* a ring with room for limit_pkts */
	u32 waiting_head, waiting_count, waiting_room;

	/* a queueing discipline that replaces the FIFO; NULL = the FIFO */
	struct Qdisc *child;
	bool child_has_nothing_due;

	/* packets held before they are queued; NULL = none */
	struct leolink_hold *holds;
	struct leolink_window *windows;	/* NULL = no recent switch */
	u64 hold_due_ns;	/* when the first hold ends; U64_MAX = there is none */
	u32 hold_bytes, hold_limit_bytes;
	bool full_hold_sends;

	/* packets that are numbered or put in order */
	u32 order;		/* LEOLINK_ORDER_* */
	u64 order_delay_ns;

	/* packets that arrive and wait, or end a wait */
	u32 on_arrival;		/* ARRIVAL_* of leolink_cures.h; 0 = packets go on at once */
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

/* The qdisc whose private data this is, without a load; kernels up to 7.2 call this qdisc_from_priv() */
static inline const struct Qdisc *leolink_qdisc_of(const struct leolink_sched *q)
{
	return container_of((const void *)q, struct Qdisc, privdata);
}

/* gcc assumes that a function that only prefetches has no effect, and removes its calls; an asm keeps them. */
static inline void leolink_prefetch(const void *line)
{
	prefetch(line);
	asm volatile("");
}

/* Prefetches all of an sk_buff. Once this is in the cache, the memory at its data pointer can be prefetched. */
static inline void leolink_prefetch_packet(const struct sk_buff *skb)
{
	unsigned int i;

	for (i = 0; i < sizeof(*skb); i += L1_CACHE_BYTES)
		leolink_prefetch((const u8 *)skb + i);
}

/*
 * Prefetches the headers of a packet whose sk_buff is in the cache. TCP places them across two cache lines: the first
 * bytes of the Ethernet header end one line, the rest and the IP header begin the next.
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

/* Called wherever waiting_* may have grown; between such calls they only fall. The first of equal maxima counts. */
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
 * Functions of guest/cures that links call. They make packets wait, number or copy them, or put them in order.
 * leolink_no_cures.c provides them in a kernel without cures.
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

/* Packets whose transmission has begun no longer wait. For a FIFO; each packet passes here twice on each link. */
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
