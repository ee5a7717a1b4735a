// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notices. At a route change, a node notifies the hosts whose packets it now routes differently. A notice is a packet
 * that the nodes forward along their routes (design/cures.md, "Notice"). The agent reads the records from
 * /proc/leolink/notices, in binary form.
 */
#include <linux/hrtimer.h>
#include <linux/slab.h>
#include <linux/version.h>
#include <net/ip.h>
#include <net/route.h>
#include "leolink_cures.h"

#define NOTICE_MAGIC	0x6c656f6e	/* "leon" */

struct notice {
	struct leolink_noticed r;
	struct list_head all;
	struct hrtimer timer;
	struct net *net;	/* reference to the namespace, held until the notice is sent or cancelled */
};

static LIST_HEAD(notices);

/* Body of a notice. In the packet, the body follows the first four bytes of the ICMP header (design/cures.md). */
struct message {
	__be32 magic;
	__be32 number;
	__be32 destination;
	__be32 old_delay_ns[2], new_delay_ns[2], wait_ns[2];
};

static void put_be64(__be32 *at, u64 value)
{
	at[0] = htonl(value >> 32);
	at[1] = htonl((u32)value);
}

static void send(struct notice *n)
{
	struct flowi4 fl4 = {
		.daddr = n->r.told,
		.flowi4_proto = IPPROTO_ICMP,
		/* the node has no address; FLOWI_FLAG_ANYSRC permits a route lookup without a local source address */
		.flowi4_flags = FLOWI_FLAG_ANYSRC,
	};
	struct message message = {
		.magic = htonl(NOTICE_MAGIC),
		.number = htonl(n->r.number),
		.destination = n->r.destination,
	};
	struct sk_buff *skb;
	struct rtable *rt;

	put_be64(message.old_delay_ns, n->r.old_delay_ns);
	put_be64(message.new_delay_ns, n->r.new_delay_ns);
	put_be64(message.wait_ns, n->r.wait_ns);
	skb = leolink_signal_new(SIGNAL_NOTICE, n->r.told, (__be32 *)&message, sizeof(message), GFP_ATOMIC);
	rt = skb ? ip_route_output_key(n->net, &fl4) : NULL;
	if (IS_ERR_OR_NULL(rt)) {
		/* the node has no route to the host */
		kfree_skb(skb);
		return;
	}
	n->r.sent_ns = now_ns();
	leolink_node_signal(leolink_node_of(n->net, n->r.id, false), skb->len + ETH_HLEN);
	skb_dst_set(skb, &rt->dst);
	ip_local_out(n->net, NULL, skb);
}

static void release(struct notice *n)
{
	put_net(n->net);
	n->net = NULL;
}

static enum hrtimer_restart due(struct hrtimer *timer)
{
	struct notice *n = container_of(timer, struct notice, timer);

	send(n);
	release(n);
	return HRTIMER_NORESTART;
}

/* Sends a notice, now or later, from the node that sends over this link. May sleep. */
int leolink_notice_begin(struct leolink_sched *q, const struct leolink_notice *given, struct netlink_ext_ack *extack)
{
	struct net *net = dev_net(qdisc_dev(q->sch));
	struct notice *n = kzalloc(sizeof(*n), GFP_KERNEL);
	u64 now = now_ns(), overtaken_ns;

	if (!n)
		return -ENOMEM;
	n->r.t_ns = now;
	n->r.number = given->number;
	n->r.flags = given->flags;
	n->r.id = q->r.id;
	n->r.told = given->told;
	n->r.destination = given->destination;
	n->r.old_delay_ns = given->old_delay_ns;
	n->r.new_delay_ns = given->new_delay_ns;
	if (given->flags & LEOLINK_NOTICE_FALSE) {
		n->r.wait_ns = given->rest_from_ns;
	} else if (!(given->flags & LEOLINK_NOTICE_NO_OLD_WAY)) {
		struct leolink_sched *from = leolink_links_find(given->from);
		u64 last_ns;

		if (!from) {
			NL_SET_ERR_MSG_MOD(extack, "a notice of a link that this node does not have");
			kfree(n);
			return -ENOENT;
		}
		last_ns = leolink_hold_last_arrival_ns(from, given->destination) + given->rest_from_ns;
		overtaken_ns = now + q->r.delay_ns + given->rest_to_ns;
		if (last_ns > overtaken_ns && (s64)(last_ns - now) + given->answer_ns > 0)
			n->r.wait_ns = last_ns - now + given->answer_ns;
	}
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	hrtimer_init(&n->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	n->timer.function = due;
#else
	hrtimer_setup(&n->timer, due, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
#endif
	list_add_tail(&n->all, &notices);
	if (given->flags & LEOLINK_NOTICE_LOST)
		return 0;
	n->net = get_net(net);
	if (given->delay_ns) {
		hrtimer_start(&n->timer, ns_to_ktime(now + given->delay_ns), HRTIMER_MODE_ABS_SOFT);
		return 0;
	}
	local_bh_disable();
	send(n);
	local_bh_enable();
	release(n);
	return 0;
}

static bool take_noticed(void *record)
{
	struct notice *n = list_first_entry_or_null(&notices, struct notice, all);

	if (!n)
		return false;
	if (hrtimer_cancel(&n->timer))
		release(n);
	*(struct leolink_noticed *)record = n->r;
	list_del(&n->all);
	kfree(n);
	return true;
}

/*
 * The agent reads the records once, at the end of a run. Reading deletes the records, and cancels notices that are not
 * yet sent.
 */
ssize_t leolink_notices_read(struct file *f, char __user *to, size_t size, loff_t *pos)
{
	struct leolink_noticed r;

	return leolink_records_read(to, size, &r, sizeof(r), take_noticed);
}
