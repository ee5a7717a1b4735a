/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * leolink: its netlink attributes, the records that the agent reads, what a direction of a link consists of, and what
 * its parts have for each other. Each part uses those above it in the list below, none that follow:
 *
 *	leolink_table.c		what a link does is known beforehand: rows by time
 *	leolink_overtake.c	packets that overtake each other
 *	leolink_no_cures.c	in place of guest/cures (leolink_cures.h) where that is not linked
 *	leolink_drops.c		which packets were lost
 *	leolink_arrivals.c	the earliest arrival of all links
 *	leolink_schedule.c	when a packet starts, departs and arrives
 *	leolink_links.c		all links
 *	leolink_direct.c	packets go from one link straight into the next; leolink_kernel.c where it is not linked
 *	leolink_proc.c		/proc/leolink
 *	leolink_child.c		another queueing discipline in place of the FIFO
 *	leolink_change.c	netlink
 *	leolink_qdisc.c		the model, and the queueing discipline that the kernel knows
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
	LEOLINK_ID,		/* u32: the direction's number in the scenario */
	LEOLINK_RATE_BPS,	/* u64: 0 = unshaped */
	LEOLINK_DELAY_NS,	/* u64 */
	LEOLINK_LIMIT_PKTS,	/* u32: U32_MAX = none */
	LEOLINK_LIMIT_BYTES,	/* u32: U32_MAX = none */
	LEOLINK_OVERHEAD_BYTES,	/* s32: on top of the frame's length */
	LEOLINK_LOSS,		/* u32: share of 2^32 */
	LEOLINK_SEED,		/* u64 */
	LEOLINK_DOWN,		/* u32: 1 = refuse what is offered */
	LEOLINK_FLUSH,		/* flag: lose what is held */
	LEOLINK_CAPACITY,	/* struct leolink_row[]: appended to the table of capacities */
	LEOLINK_CHANNEL,	/* struct leolink_row[]: appended to the table of delays and losses */
	LEOLINK_ORIGIN,		/* u64: what the clock shows at the tables' 0; given before them or with them */
	LEOLINK_IN_ORDER,	/* u32: 0 = a packet that meets a smaller delay overtakes */
	LEOLINK_PROBE_BYTES,	/* u32: the delay holds the transmission of a packet of this length */
	LEOLINK_SWITCH,		/* struct leolink_switch: a host's packets leave over this direction from now on */
	LEOLINK_ORDER,		/* struct leolink_order: packets are numbered or put in order; before any is held */
	LEOLINK_MERGE,		/* struct leolink_merge: a host's packets that arrive wait for a marker */
	LEOLINK_MARKERS,	/* flag: markers may arrive */
	LEOLINK_NOTICE,		/* struct leolink_notice: the node tells a host */
	__LEOLINK_MAX,
};
#define LEOLINK_MAX (__LEOLINK_MAX - 1)

enum leolink_cause { CAUSE_QUEUE, CAUSE_LOSS, CAUSE_DOWN, CAUSES };

struct leolink_cb {
	u64 start_ns;
	u64 arrive_ns;
	u32 serialise_ns : 31;
	u32 lost : 1;
} __packed __aligned(4);	/* 20 bytes are all that a qdisc has in an skb */

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
	u64 busy_ns;		/* transmitting, all that was accepted */
	u64 delay_ns;
	u64 max_bytes;
	u64 max_pkts_at_ns, max_bytes_at_ns;	/* when so many first waited; 0 = none ever did */
};

/* One record of /proc/leolink/drops: which packet was lost, where, when, why. */
struct leolink_drop {
	u64 t_ns;
	u32 id;
	u32 cause;		/* 1 queue, 2 loss, 3 link down */
	u32 frame_bytes;
	u32 captured;
	u8 data[40];		/* from the IP header on */
};

/*
 * One row of a table, in force from t_ns on (as netlink has it: from the tables' 0; as it is kept: on the clock).
 * Capacity: value in bit/s, 0 = nothing is sent, LEOLINK_UNSHAPED = no limit. Channel: value is the delay in ns, loss a
 * share of 2^32, U32_MAX = certain.
 */
struct leolink_row {
	u64 t_ns;
	u64 value;
	u32 loss;
	u32 zero;
};

#define LEOLINK_UNSHAPED U64_MAX

/* What a link of a station does for the order of packets. */
struct leolink_order {
	u32 flags;
	u32 zero;
	u64 delay_ns;		/* how long a packet waits for those before it */
};

#define LEOLINK_ORDER_NUMBER	1	/* numbers what it accepts */
#define LEOLINK_ORDER_RESTORE	2	/* delivers in the order of the numbers */
#define LEOLINK_ORDER_BY_FLOW	4	/* numbers for each flow; otherwise for all from host to host */
#define LEOLINK_ORDER_ADVANCED	8	/* only what came by a new way waits for those before it */
#define LEOLINK_ORDER_ELIMINATE	16	/* of a packet that was copied the second to come is discarded */

/* The node's entry for a host changes to this direction, from another of the same node. */
struct leolink_switch {
	u32 from;		/* id of the other direction */
	__be32 destination;	/* the host's address */
	u64 rest_from_ns;	/* what the last packet takes to the host once it has arrived over the other direction ... */
	u64 rest_to_ns;		/* ... and the first one over this */
	u32 flags;
	u32 hold_limit_bytes;	/* what this direction may hold back, for all hosts together */
	u32 marker;		/* the number of the marker that ends the old way; 0 = there is none */
	u32 refused;		/* why there is none, or no copies are sent; enum leolink_refused */
	u64 copy_ns;		/* for so long copies go over the other direction; 0 = none do */
	u64 new_way_ns;		/* for so long packets are marked as gone a new way, if they may overtake; 0 = not */
};

#define LEOLINK_SWITCH_MOVE	1	/* what waits at the other direction goes over this one */
#define LEOLINK_SWITCH_HOLD	2	/* what goes over this one waits until it arrives behind the last over the other */
#define LEOLINK_SWITCH_SEND	4	/* a full hold buffer sends its oldest packet instead of refusing the newest */

/* Why a cure does nothing, or not all. The agent finds it, leolink the last, and the agent reads it again. */
enum leolink_refused {
	REFUSED_NOT,
	REFUSED_NO_OLD_WAY,	/* the old link leads to the host no more */
	REFUSED_SAME_WAY,	/* it leads back to this node */
	REFUSED_NO_TIME,	/* the ways meet behind a link without delay and rate */
	REFUSED_IN_FLIGHT,	/* what flies over the old link is not moved, and is late */
};

/* A switch of another node: packets for a host that arrive over this direction wait for the marker of the old way. */
struct leolink_merge {
	u32 marker;		/* its number */
	__be32 destination;
	u64 wait_ns;		/* how long a packet waits, at most */
	u32 from;		/* id of the direction over which the marker arrives */
	u32 limit_bytes;	/* what may wait that came over this direction, for all hosts together */
	u32 flags;		/* LEOLINK_SWITCH_SEND */
	u32 zero;
};

/* A host is told that its packets to another go over this direction from now on. */
struct leolink_notice {
	u32 number;
	u32 flags;
	__be32 told, destination;
	s64 old_delay_ns, new_delay_ns;
	u64 rest_from_ns, rest_to_ns;	/* as of leolink_switch; of a false one the first is the wait that it names */
	s64 answer_ns;		/* from the destination back to the host, less what the notice takes there */
	u64 delay_ns;		/* how long the node waits before it sends it */
	u32 from;		/* id of the direction before */
	u32 zero;
};

#define LEOLINK_NOTICE_LOST		1	/* it is recorded and not sent */
#define LEOLINK_NOTICE_FALSE		2	/* there is no change */
#define LEOLINK_NOTICE_NO_OLD_WAY	4	/* what left over the direction before does not arrive */

struct leolink_table {
	struct leolink_row *rows;
	u32 count, room;
	u32 at;			/* where the last search ended; searches go forward in time */
	u64 least, most;	/* of the rows' values; without rows 0 */
};

/* A packet that waits, of a link on which packets overtake: there the list is in order of arrival. */
struct leolink_waiting {
	u64 start_ns;
	u32 bytes;
};

/* More would be more than a netlink message should ask of the kernel's memory. The agent's setup has the same bound. */
#define LEOLINK_WAITING_MAX 65536

struct leolink_sched {
	/* what every packet touches, together */
	u32 slot;		/* the link's, in the table of places in the heap of arrivals */
	bool is_due;		/* an arrival is in the heap */
	bool down;
	bool asks_nobody;	/* not plain, and yet no child, holds or windows: tables, or numbers */
	bool plain;		/* no tables, child, holds or numbers, nothing overtakes: all below `all` is at rest */
	s32 overhead_bytes;
	u32 last_bytes, last_serialise_ns;
	u32 loss;
	u64 rate_bps;
	u64 due_ns;		/* the arrival in the heap */
	u64 busy_until_ns, last_arrive_ns;
	struct sk_buff *first_waiting;
	struct Qdisc *sch;
	struct leolink_ways *ways;	/* where the node at the other end sends what arrives; NULL = nothing has */

	u32 limit_pkts, limit_bytes;
	struct leolink_record r;	/* held_* are worked out when it is read */
	u64 random;
	struct list_head all;

	/* a channel: what the link does is known beforehand, and read from tables */
	struct leolink_table capacity, channel;
	u64 origin_ns;
	/* the last transmission by the table: its end, and what its last nanosecond would have carried besides */
	u64 sent_until_ns, credit;
	u32 probe_bytes;

	/* packets that overtake */
	bool overtakes;
	struct leolink_waiting *waiting;	/* a ring with room for limit_pkts */
	u32 waiting_head, waiting_count, waiting_room;

	/* a queueing discipline in place of the FIFO; NULL = the FIFO */
	struct Qdisc *child;
	bool child_has_nothing_due;

	/* packets that are held back before they are queued; NULL = none are */
	struct leolink_hold *holds;
	struct leolink_window *windows;	/* NULL = no switch was a short while ago */
	u64 hold_due_ns;	/* when the first of the holds ends; U64_MAX = there is none */
	u32 hold_bytes, hold_limit_bytes;
	bool full_hold_sends;

	/* packets that are numbered, or put in order */
	u32 order;		/* LEOLINK_ORDER_* */
	u64 order_delay_ns;

	/* packets that arrive and wait, or end a wait */
	u32 on_arrival;		/* ARRIVAL_* of leolink_cures.h; 0 = they go on at once */
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

/* gcc takes a function that only prefetches for one without effect and leaves its calls out; an asm keeps them. */
static inline void leolink_prefetch(const void *line)
{
	prefetch(line);
	asm volatile("");
}

/* All of an sk_buff. What its data pointer points to can be asked for once this is in the cache. */
static inline void leolink_prefetch_packet(const struct sk_buff *skb)
{
	unsigned int i;

	for (i = 0; i < sizeof(*skb); i += L1_CACHE_BYTES)
		leolink_prefetch((const u8 *)skb + i);
}

/*
 * The headers of a packet whose sk_buff is in the cache. TCP puts them where two lines meet: the first bytes of the
 * Ethernet header end one, its rest and the IP header begin the next.
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

/* Wherever waiting_* may have grown: between two such places they only fall. Of equal maxima the first counts. */
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
 * Links call these functions of guest/cures, by which packets wait, get numbers or copies, or are put in order.
 * leolink_no_cures.c has them in a kernel without cures.
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

/* Packets whose transmission has begun by now no longer wait. Of a FIFO; each packet passes here twice on each link. */
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
