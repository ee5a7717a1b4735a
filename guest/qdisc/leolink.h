/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * leolink: its netlink attributes, the records that the agent reads, and what a direction of a link consists of.
 * leolink.c is one object: the headers beside this one hold its parts, as include/net/codel_impl.h does for codel.
 */
#ifndef LEOLINK_H
#define LEOLINK_H

#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/prefetch.h>
#include <linux/skbuff.h>
#include <linux/time-internal.h>
#include <linux/vmalloc.h>
#include <net/netlink.h>
#include <net/pkt_sched.h>
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
	LEOLINK_ORIGIN,		/* u64: what the clock shows at the tables' 0; to be said before them */
	LEOLINK_IN_ORDER,	/* u32: 0 = a packet that meets a smaller delay overtakes */
	LEOLINK_PROBE_BYTES,	/* u32: the delay holds the transmission of a packet of this length */
	__LEOLINK_MAX,
};
#define LEOLINK_MAX (__LEOLINK_MAX - 1)

enum leolink_cause { CAUSE_QUEUE, CAUSE_LOSS, CAUSE_DOWN, CAUSES };

/* 31 bits hold the serialisation time in ns: 1,514 bytes at 8 kbit/s take 1.5 s */
#define MIN_RATE_BPS	8000

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
 * Capacity: value in bit/s, 0 = nothing is sent, ROW_UNSHAPED = no limit. Channel: value is the delay in ns, loss a
 * share of 2^32, U32_MAX = certain.
 */
struct leolink_row {
	u64 t_ns;
	u64 value;
	u32 loss;
	u32 zero;
};

#define ROW_UNSHAPED U64_MAX

struct leolink_table {
	struct leolink_row *rows;
	u32 count, room;
	u32 at;			/* where the last search ended; searches go forward in time */
};

/* A packet that waits, of a link on which packets overtake: there the list is in order of arrival. */
struct leolink_waiting {
	u64 start_ns;
	u32 bytes;
};

struct leolink_sched {
	/* what every packet touches, together */
	u32 place;		/* in the heap of arrivals, from 1; 0 = no arrival is due */
	bool down;
	bool plain;		/* no tables, no child, nothing overtakes: all below `all` is at rest */
	s32 overhead_bytes;
	u32 last_bytes, last_serialise_ns;
	u32 loss;
	u64 rate_bps;
	u64 busy_until_ns, last_arrive_ns;
	struct sk_buff *first_waiting;
	struct Qdisc *sch;

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
};


static u64 now_ns(void)
{
	return time_travel_time;
}

static struct leolink_cb *cb(const struct sk_buff *skb)
{
	qdisc_cb_private_validate(skb, sizeof(struct leolink_cb));
	return (struct leolink_cb *)qdisc_skb_cb(skb)->data;
}

static u32 link_bytes(const struct leolink_sched *q, const struct sk_buff *skb)
{
	return qdisc_pkt_len(skb) + q->overhead_bytes;
}

#endif
