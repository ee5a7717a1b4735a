// SPDX-License-Identifier: GPL-2.0-only
/* What the agent reads of leolink: /proc/leolink/links, drops, orders, switches, merges, notices, nodes, binary. */
#include <linux/proc_fs.h>
#include "leolink.h"

static const struct proc_ops links_ops = { .proc_read = leolink_links_read };
static const struct proc_ops drops_ops = { .proc_read = leolink_drops_read };
static const struct proc_ops orders_ops = { .proc_read = leolink_orders_read };
static const struct proc_ops switches_ops = { .proc_read = leolink_switches_read };
static const struct proc_ops merges_ops = { .proc_read = leolink_merges_read };
static const struct proc_ops notices_ops = { .proc_read = leolink_notices_read };
static const struct proc_ops nodes_ops = { .proc_read = leolink_nodes_read };

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
	    !proc_create("notices", 0400, dir, &notices_ops) || !proc_create("nodes", 0400, dir, &nodes_ops))
		return -ENOMEM;
	return 0;
}
