// SPDX-License-Identifier: GPL-2.0-only
/*
 * For each node, counts the held packets, and the packets that the node itself sends. Packets are held before the
 * node's links (leolink_hold.c) and after them (leolink_order.c, leolink_merge.c). The agent reads these counts from
 * /proc/leolink/nodes, in binary form. A node is a network namespace. The agent identifies a node by one of its links.
 */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "leolink_cures.h"

struct leolink_node {
	struct leolink_node_record r;
	const struct net *net;
	struct list_head all;
};

static LIST_HEAD(nodes);

/*
 * The counts of a node; NULL = out of memory. struct leolink_node stores the namespace's pointer without a reference,
 * because the pointer is only compared. A node's counts are freed only when the run ends.
 */
struct leolink_node *leolink_node_of(const struct net *net, u32 id, bool receives)
{
	struct leolink_node *node;

	list_for_each_entry(node, &nodes, all)
		if (node->net == net)
			return node;
	node = kzalloc(sizeof(*node), GFP_ATOMIC);
	if (!node)
		return NULL;
	node->net = net;
	node->r.id = id;
	node->r.receives = receives;
	list_add_tail(&node->all, &nodes);
	return node;
}

/*
 * Counts a packet that the node holds, either after the link over which the packet arrived (`behind`) or before the
 * next link.
 */
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
