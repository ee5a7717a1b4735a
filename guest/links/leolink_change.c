// SPDX-License-Identifier: GPL-2.0-only
/*
 * Netlink messages of leolink. Settings that a message does not contain stay as they are. A message is either applied
 * as a whole, or refused with an error text.
 *
 * Work that may sleep (allocating memory) is done first, without the lock. The decision to refuse a message is made
 * under the lock, because it depends on the packets in the link.
 */
#include <linux/mm.h>
#include <linux/rtnetlink.h>
#include "leolink.h"

/* a serialisation time must fit into 31 bits, in ns (2.1 s). At 8 kbit/s, 1,514 bytes take 1.5 s */
#define MIN_RATE_BPS	8000

static const struct nla_policy policy[LEOLINK_MAX + 1] = {
	[LEOLINK_ID] = { .type = NLA_U32 },
	[LEOLINK_RATE_BPS] = { .type = NLA_U64 },
	[LEOLINK_DELAY_NS] = { .type = NLA_U64 },
	[LEOLINK_LIMIT_PKTS] = { .type = NLA_U32 },
	[LEOLINK_LIMIT_BYTES] = { .type = NLA_U32 },
	[LEOLINK_OVERHEAD_BYTES] = { .type = NLA_S32 },
	[LEOLINK_LOSS] = { .type = NLA_U32 },
	[LEOLINK_SEED] = { .type = NLA_U64 },
	[LEOLINK_DOWN] = { .type = NLA_U32 },
	[LEOLINK_FLUSH] = { .type = NLA_FLAG },
	[LEOLINK_CAPACITY] = { .type = NLA_BINARY },
	[LEOLINK_CHANNEL] = { .type = NLA_BINARY },
	[LEOLINK_ORIGIN] = { .type = NLA_U64 },
	[LEOLINK_IN_ORDER] = { .type = NLA_U32 },
	[LEOLINK_PROBE_BYTES] = { .type = NLA_U32 },
	[LEOLINK_ORDER] = NLA_POLICY_EXACT_LEN(sizeof(struct leolink_order)),
	[LEOLINK_SWITCH] = NLA_POLICY_EXACT_LEN(sizeof(struct leolink_switch)),
	[LEOLINK_MERGE] = NLA_POLICY_EXACT_LEN(sizeof(struct leolink_merge)),
	[LEOLINK_MARKERS] = { .type = NLA_FLAG },
	[LEOLINK_NOTICE] = NLA_POLICY_EXACT_LEN(sizeof(struct leolink_notice)),
};

static u64 origin_after(const struct leolink_sched *q, struct nlattr *tb[])
{
	return tb[LEOLINK_ORIGIN] ? nla_get_u64(tb[LEOLINK_ORIGIN]) : q->origin_ns;
}

static u32 limit_pkts_after(const struct leolink_sched *q, struct nlattr *tb[])
{
	return tb[LEOLINK_LIMIT_PKTS] ? nla_get_u32(tb[LEOLINK_LIMIT_PKTS]) : q->limit_pkts;
}

static bool overtakes_after(const struct leolink_sched *q, struct nlattr *tb[])
{
	return tb[LEOLINK_IN_ORDER] ? !nla_get_u32(tb[LEOLINK_IN_ORDER]) : q->overtakes;
}

/* Allocates the memory that a change needs: for the tables, and for a larger ring if more packets may wait. */
static int reserve(struct leolink_sched *q, struct nlattr *tb[], struct leolink_waiting **ring,
		   struct netlink_ext_ack *extack)
{
	u32 room = limit_pkts_after(q, tb);
	int err = 0;

	if (tb[LEOLINK_CAPACITY])
		err = leolink_table_reserve(&q->capacity, tb[LEOLINK_CAPACITY]);
	if (!err && tb[LEOLINK_CHANNEL])
		err = leolink_table_reserve(&q->channel, tb[LEOLINK_CHANNEL]);
	if (err == -E2BIG)
		NL_SET_ERR_MSG_MOD(extack, "a table of more than 16777216 rows");
	if (err || !overtakes_after(q, tb) || room <= q->waiting_room || room > LEOLINK_WAITING_MAX)
		return err;
	*ring = kvmalloc_array(room, sizeof(**ring), GFP_KERNEL);
	return *ring ? 0 : -ENOMEM;
}

static bool asks_for_cures(struct nlattr *tb[])
{
	return tb[LEOLINK_ORDER] || tb[LEOLINK_SWITCH] || tb[LEOLINK_MERGE] || tb[LEOLINK_MARKERS] || tb[LEOLINK_NOTICE];
}

/* Refuses settings that are never allowed, and settings that are not allowed while the link holds packets. */
static int refuses(const struct leolink_sched *q, struct nlattr *tb[], struct netlink_ext_ack *extack)
{
	u64 rate = tb[LEOLINK_RATE_BPS] ? nla_get_u64(tb[LEOLINK_RATE_BPS]) : 0;
	u32 limit_pkts = limit_pkts_after(q, tb);
	u64 origin_ns = origin_after(q, tb);
	int err = 0;

	if (asks_for_cures(tb) && !leolink_cures_are_linked()) {
		NL_SET_ERR_MSG_MOD(extack, "a cure, and this kernel was built without them");
		return -EOPNOTSUPP;
	}
	if (rate && rate < MIN_RATE_BPS) {
		NL_SET_ERR_MSG_MOD(extack, "rate below 8 kbit/s");
		return -EINVAL;
	}
	if (rate && (q->capacity.count || tb[LEOLINK_CAPACITY])) {
		NL_SET_ERR_MSG_MOD(extack, "a rate, and there is a table of capacities");
		return -EINVAL;
	}
	if ((q->channel.count || tb[LEOLINK_CHANNEL]) && ((tb[LEOLINK_DELAY_NS] && nla_get_u64(tb[LEOLINK_DELAY_NS])) ||
							  (tb[LEOLINK_LOSS] && nla_get_u32(tb[LEOLINK_LOSS])))) {
		NL_SET_ERR_MSG_MOD(extack, "a delay or a loss, and there is a table of them");
		return -EINVAL;
	}
	if (q->sch->q.qlen &&
	    (tb[LEOLINK_ORDER] || tb[LEOLINK_OVERHEAD_BYTES] || tb[LEOLINK_CAPACITY] || tb[LEOLINK_CHANNEL] || tb[LEOLINK_IN_ORDER])) {
		NL_SET_ERR_MSG_MOD(extack, "overhead, tables and order cannot change while packets are held");
		return -EBUSY;
	}
	if (q->child && (tb[LEOLINK_LIMIT_PKTS] || tb[LEOLINK_LIMIT_BYTES])) {
		NL_SET_ERR_MSG_MOD(extack, "a limit, and the discipline in place of the FIFO has its own: change that");
		return -EINVAL;
	}
	if (overtakes_after(q, tb) && (!limit_pkts || limit_pkts > LEOLINK_WAITING_MAX)) {
		NL_SET_ERR_MSG_MOD(extack, "packets that overtake need a limit of 1 to 65536 packets");
		return -EINVAL;
	}
	if (tb[LEOLINK_CAPACITY])
		err = leolink_table_refuses(&q->capacity, origin_ns, tb[LEOLINK_CAPACITY], true);
	if (!err && tb[LEOLINK_CHANNEL])
		err = leolink_table_refuses(&q->channel, origin_ns, tb[LEOLINK_CHANNEL], false);
	if (err)
		NL_SET_ERR_MSG_MOD(extack, "a table's rows are not in order of time, or out of range");
	return err;
}

/* Drops all packets that a link holds. */
void leolink_flush(struct Qdisc *sch, u64 now)
{
	struct leolink_sched *q = qdisc_priv(sch);
	struct sk_buff *skb;

	leolink_disarm(q);
	while ((skb = __qdisc_dequeue_head(&sch->q))) {
		skb->prev = NULL;
		leolink_record_drop(q, skb, CAUSE_DOWN, now);
		rtnl_kfree_skbs(skb, skb);
	}
	leolink_hold_flush(q, now);
	if (q->child)
		leolink_child_flush(q, now);
	q->first_waiting = NULL;
	q->waiting_count = 0;
	q->r.waiting_pkts = 0;
	q->r.waiting_bytes = 0;
	q->busy_until_ns = now;
	q->last_arrive_ns = now;
}

/* Applies a message that was not refused. Returns the ring that is no longer used, which the caller must free. */
static struct leolink_waiting *obey(struct Qdisc *sch, struct nlattr *tb[], struct leolink_waiting *ring)
{
	struct leolink_sched *q = qdisc_priv(sch);
	u64 now = now_ns();

	leolink_advance_any(q, now);
	q->origin_ns = origin_after(q, tb);
	if (tb[LEOLINK_CAPACITY])
		leolink_table_append(&q->capacity, q->origin_ns, tb[LEOLINK_CAPACITY]);
	if (tb[LEOLINK_CHANNEL])
		leolink_table_append(&q->channel, q->origin_ns, tb[LEOLINK_CHANNEL]);
	q->limit_pkts = limit_pkts_after(q, tb);
	q->overtakes = overtakes_after(q, tb);
	if (ring)
		ring = leolink_waiting_replace(q, ring, q->limit_pkts);
	leolink_cures_set(q, tb);
	leolink_set_plain(q);
	if (tb[LEOLINK_RATE_BPS])
		q->rate_bps = nla_get_u64(tb[LEOLINK_RATE_BPS]);
	q->last_bytes = 0;
	if (tb[LEOLINK_ID])
		q->r.id = nla_get_u32(tb[LEOLINK_ID]);
	if (tb[LEOLINK_DELAY_NS])
		q->r.delay_ns = nla_get_u64(tb[LEOLINK_DELAY_NS]);
	if (tb[LEOLINK_LIMIT_BYTES])
		q->limit_bytes = nla_get_u32(tb[LEOLINK_LIMIT_BYTES]);
	if (tb[LEOLINK_OVERHEAD_BYTES])
		q->overhead_bytes = nla_get_s32(tb[LEOLINK_OVERHEAD_BYTES]);
	if (tb[LEOLINK_LOSS])
		q->loss = nla_get_u32(tb[LEOLINK_LOSS]);
	if (tb[LEOLINK_SEED])
		q->random = nla_get_u64(tb[LEOLINK_SEED]);
	if (tb[LEOLINK_PROBE_BYTES])
		q->probe_bytes = nla_get_u32(tb[LEOLINK_PROBE_BYTES]);
	if (tb[LEOLINK_DOWN])
		q->down = nla_get_u32(tb[LEOLINK_DOWN]);
	if (nla_get_flag(tb[LEOLINK_FLUSH]))
		leolink_flush(sch, now);
	else if (tb[LEOLINK_RATE_BPS] || tb[LEOLINK_DELAY_NS])
		leolink_reschedule(sch, now);
	leolink_advance_any(q, now);
	return ring;
}

int leolink_change(struct Qdisc *sch, struct nlattr *opt, struct netlink_ext_ack *extack)
{
	struct leolink_sched *q = qdisc_priv(sch);
	struct nlattr *tb[LEOLINK_MAX + 1];
	struct leolink_waiting *ring = NULL;
	int err;

	if (!opt)
		return 0;
	err = nla_parse_nested(tb, LEOLINK_MAX, opt, policy, extack);
	if (!err)
		err = reserve(q, tb, &ring, extack);
	if (err)
		return err;

	sch_tree_lock(sch);
	err = refuses(q, tb, extack);
	if (!err)
		ring = obey(sch, tb, ring);
	sch_tree_unlock(sch);
	kvfree(ring);
	return err ?: leolink_cures_begin(sch, tb, extack);
}

int leolink_dump(struct Qdisc *sch, struct sk_buff *skb)
{
	struct leolink_sched *q = qdisc_priv(sch);
	struct nlattr *opts = nla_nest_start(skb, TCA_OPTIONS);

	if (!opts ||
	    nla_put_u32(skb, LEOLINK_ID, q->r.id) ||
	    nla_put_u64_64bit(skb, LEOLINK_RATE_BPS, q->rate_bps, LEOLINK_UNSPEC) ||
	    nla_put_u64_64bit(skb, LEOLINK_DELAY_NS, q->r.delay_ns, LEOLINK_UNSPEC) ||
	    nla_put_u32(skb, LEOLINK_LIMIT_PKTS, q->limit_pkts) ||
	    nla_put_u32(skb, LEOLINK_LIMIT_BYTES, q->limit_bytes) ||
	    nla_put_s32(skb, LEOLINK_OVERHEAD_BYTES, q->overhead_bytes) ||
	    nla_put_u32(skb, LEOLINK_LOSS, q->loss) ||
	    nla_put_u32(skb, LEOLINK_DOWN, q->down)) {
		nla_nest_cancel(skb, opts);
		return -EMSGSIZE;
	}
	return nla_nest_end(skb, opts);
}
