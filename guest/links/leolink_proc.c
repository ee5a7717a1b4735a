// SPDX-License-Identifier: GPL-2.0-only
/* The files of links that the agent reads, /proc/leolink/links and /proc/leolink/drops, in binary form. */
#include <linux/proc_fs.h>
#include "leolink.h"

static const struct proc_ops links_ops = { .proc_read = leolink_links_read };
static const struct proc_ops drops_ops = { .proc_read = leolink_drops_read };

int __init leolink_proc_register(void)
{
	struct proc_dir_entry *dir;

	BUILD_BUG_ON(sizeof(struct leolink_record) != 160);
	BUILD_BUG_ON(sizeof(struct leolink_row) != 24);
	dir = proc_mkdir("leolink", NULL);
	if (!dir || !proc_create("links", 0400, dir, &links_ops) || !proc_create("drops", 0400, dir, &drops_ops))
		return -ENOMEM;
	return 0;
}
