// SPDX-License-Identifier: GPL-2.0-only
/*
 * What each node holds back, before its links (leolink_hold.c) and behind them (leolink_order.c, leolink_merge.c), and the
 * packets of its own that it sends: /proc/leolink/nodes, binary. A node is a network namespace; the agent knows it by one
 * of its links.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "leolink.h"

struct leolink_node {
	struct leolink_node_record r;
	const struct net *net;
	struct list_head all;
	u32 users;
	bool is_listed;
};

static LIST_HEAD(nodes);

static void free_unused(struct leolink_node *node)
{
	if (!node->users && !node->is_listed)
		kfree(node);
}

/* The account of a node, which has one user more; NULL = there is no memory. Of a namespace's pointer only, not of it. */
struct leolink_node *leolink_node_of(const struct net *net, u32 id, bool receives)
{
	struct leolink_node *node;

	list_for_each_entry(node, &nodes, all)
		if (node->net == net) {
			node->users++;
			return node;
		}
	node = kzalloc(sizeof(*node), GFP_ATOMIC);
	if (!node)
		return NULL;
	node->net = net;
	node->r.id = id;
	node->r.receives = receives;
	node->users = 1;
	node->is_listed = true;
	list_add_tail(&node->all, &nodes);
	return node;
}

void leolink_node_put(struct leolink_node *node)
{
	if (!node)
		return;
	node->users--;
	free_unused(node);
}

/* A packet is held back, behind the link over which it came or before the next. */
void leolink_node_hold(struct leolink_node *node, u32 bytes, bool behind, u64 now)
{
	if (!node)
		return;
	node->r.held_pkts++;
	node->r.behind_pkts += behind;
	node->r.held_bytes += bytes;
	if (node->r.held_bytes > node->r.held_max_bytes) {
		node->r.held_max_bytes = node->r.held_bytes;
		node->r.held_max_at_ns = now;
	}
}

void leolink_node_release(struct leolink_node *node, u32 bytes, bool behind)
{
	if (!node)
		return;
	node->r.held_pkts--;
	node->r.behind_pkts -= behind;
	node->r.held_bytes -= bytes;
}

void leolink_node_signal(struct leolink_node *node, u32 bytes)
{
	if (!node)
		return;
	node->r.signals_pkts++;
	node->r.signals_bytes += bytes;
}

ssize_t leolink_nodes_read(struct file *f, char __user *to, size_t size, loff_t *pos)
{
	struct leolink_node *node;
	size_t done = 0;
	loff_t at = 0;

	list_for_each_entry(node, &nodes, all) {
		struct leolink_node_record r = node->r;

		if (at < *pos) {
			at += sizeof(r);
			continue;
		}
		if (done + sizeof(r) > size)
			break;
		if (copy_to_user(to + done, &r, sizeof(r)))
			return -EFAULT;
		done += sizeof(r);
	}
	*pos += done;
	return done;
}

/* Whatever is written: all accounts begin anew. Those of an earlier run of the boot may have users yet. */
ssize_t leolink_nodes_clear(struct file *f, const char __user *from, size_t size, loff_t *pos)
{
	unsigned long flags;

	local_irq_save(flags);
	while (!list_empty(&nodes)) {
		struct leolink_node *node = list_first_entry(&nodes, struct leolink_node, all);

		list_del(&node->all);
		node->is_listed = false;
		free_unused(node);
	}
	local_irq_restore(flags);
	return size;
}
