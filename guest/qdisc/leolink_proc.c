// SPDX-License-Identifier: GPL-2.0-only
/* What the agent reads of leolink: /proc/leolink/links, drops, orders, switches, merges, notices, nodes, binary. */
#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include "leolink.h"

static LIST_HEAD(links);

/* Both under RTNL. */
void leolink_links_join(struct leolink_sched *q)
{
	list_add_tail(&q->all, &links);
}

void leolink_links_leave(struct leolink_sched *q)
{
	list_del(&q->all);
}

/* The link of a number in a namespace; NULL = there is none. Under RTNL. */
struct leolink_sched *leolink_links_find(const struct net *net, u32 id)
{
	struct leolink_sched *q;

	/* runs that share a boot number their links alike, and one's namespaces outlive it */
	list_for_each_entry(q, &links, all)
		if (q->r.id == id && net_eq(dev_net(qdisc_dev(q->sch)), net))
			return q;
	return NULL;
}

static ssize_t links_read(struct file *f, char __user *to, size_t size, loff_t *pos)
{
	struct leolink_sched *q;
	size_t done = 0;
	loff_t at = 0;
	u64 now;
	int cause;

	if (*pos % sizeof(q->r))
		return -EINVAL;
	rtnl_lock();
	now = now_ns();
	list_for_each_entry(q, &links, all) {
		struct leolink_record r;

		if (at < *pos) {
			at += sizeof(r);
			continue;
		}
		if (done + sizeof(r) > size)
			break;
		local_bh_disable();
		leolink_advance_any(q, now);
		r = q->r;
		r.held_pkts = r.offered_pkts - r.delivered_pkts;
		r.held_bytes = r.offered_bytes - r.delivered_bytes;
		for (cause = 0; cause < CAUSES; cause++) {
			r.held_pkts -= r.dropped_pkts[cause];
			r.held_bytes -= r.dropped_bytes[cause];
		}
		q->r.max_pkts_since_read = q->r.waiting_pkts;
		local_bh_enable();
		if (copy_to_user(to + done, &r, sizeof(r))) {
			rtnl_unlock();
			return -EFAULT;
		}
		done += sizeof(r);
	}
	rtnl_unlock();
	*pos += done;
	return done;
}

static const struct proc_ops links_ops = { .proc_read = links_read };
static const struct proc_ops drops_ops = { .proc_read = leolink_drops_read };
static const struct proc_ops orders_ops = { .proc_read = leolink_orders_read };
static const struct proc_ops switches_ops = { .proc_read = leolink_switches_read };
static const struct proc_ops merges_ops = { .proc_read = leolink_merges_read };
static const struct proc_ops notices_ops = { .proc_read = leolink_notices_read };
static const struct proc_ops nodes_ops = { .proc_read = leolink_nodes_read, .proc_write = leolink_nodes_clear };

int __init leolink_proc_register(void)
{
	struct proc_dir_entry *dir;

	BUILD_BUG_ON(sizeof(struct leolink_record) != 160);
	BUILD_BUG_ON(sizeof(struct leolink_row) != 24);
	BUILD_BUG_ON(sizeof(struct leolink_switch) != 56);
	BUILD_BUG_ON(sizeof(struct leolink_switched) != 112);
	BUILD_BUG_ON(sizeof(struct leolink_merge) != 32);
	BUILD_BUG_ON(sizeof(struct leolink_merged) != 80);
	BUILD_BUG_ON(sizeof(struct leolink_notice) != 72);
	BUILD_BUG_ON(sizeof(struct leolink_noticed) != 64);
	BUILD_BUG_ON(sizeof(struct leolink_node_record) != 64);
	BUILD_BUG_ON(sizeof(struct leolink_ordered) != 72);
	dir = proc_mkdir("leolink", NULL);
	if (!dir || !proc_create("links", 0400, dir, &links_ops) || !proc_create("drops", 0400, dir, &drops_ops) ||
	    !proc_create("orders", 0400, dir, &orders_ops) || !proc_create("switches", 0400, dir, &switches_ops) ||
	    !proc_create("merges", 0400, dir, &merges_ops) ||
	    !proc_create("notices", 0400, dir, &notices_ops) || !proc_create("nodes", 0600, dir, &nodes_ops))
		return -ENOMEM;
	return 0;
}
