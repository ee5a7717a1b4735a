// SPDX-License-Identifier: GPL-2.0-only
/* What was done at switches, as the agent reads it: /proc/leolink/switches, binary. */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "leolink_cures.h"

/* A record, and whether a hold still writes into it. */
struct entry {
	struct leolink_switched r;
	struct list_head all;
	bool is_open, was_read;
};

static LIST_HEAD(entries);

/* Room for a record, which nobody reads before it is kept. May sleep. */
struct leolink_switched *leolink_switched_new(void)
{
	struct entry *e = kzalloc(sizeof(*e), GFP_KERNEL);

	return e ? &e->r : NULL;
}

void leolink_switched_keep(struct leolink_switched *r)
{
	list_add_tail(&container_of(r, struct entry, r)->all, &entries);
}

void leolink_switched_free(struct leolink_switched *r)
{
	if (r)
		kfree(container_of(r, struct entry, r));
}

/* Somebody writes into a record from now on, or no longer. */
void leolink_switched_open(struct leolink_switched *r)
{
	container_of(r, struct entry, r)->is_open = true;
}

void leolink_switched_close(struct leolink_switched *r)
{
	struct entry *e = container_of(r, struct entry, r);

	e->is_open = false;
	if (e->was_read)
		kfree(e);
}

/* What has been read is gone: records are read once, at the end of a run. */
ssize_t leolink_switches_read(struct file *f, char __user *to, size_t size, loff_t *pos)
{
	size_t done = 0;

	while (!list_empty(&entries) && done + sizeof(struct leolink_switched) <= size) {
		struct entry *e = list_first_entry(&entries, struct entry, all);
		struct leolink_switched r = e->r;

		list_del(&e->all);
		e->was_read = true;
		if (!e->is_open)
			kfree(e);
		if (copy_to_user(to + done, &r, sizeof(r)))
			return -EFAULT;
		done += sizeof(r);
	}
	return done;
}
