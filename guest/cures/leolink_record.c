// SPDX-License-Identifier: GPL-2.0-only
/* One record per switch, as the agent reads them: /proc/leolink/switches, binary. */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "leolink_cures.h"

/* A record, and whether a hold or a window still writes to it. */
struct entry {
	struct leolink_switched r;
	struct list_head all;
	bool is_open, was_read;
};

static LIST_HEAD(entries);

/* Allocates a record, which can be read only once it is kept. May sleep. */
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

/* From open to close, a record is still written to. */
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

/* Records are read once, at the end of a run. Reading removes them. */
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
