// SPDX-License-Identifier: GPL-2.0-only
/* One record per switch. The agent reads these records from /proc/leolink/switches, in binary form. */
#include <linux/slab.h>
#include <linux/uaccess.h>
#include "leolink_cures.h"

/* A record of a switch, and whether a hold or a window may still write to it. */
struct entry {
	struct leolink_switched r;
	struct list_head all;
	bool is_open, was_read;
};

static LIST_HEAD(entries);

/* Allocates a record. The agent can read the record after leolink_switched_keep(). May sleep. */
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

/* Marks the record as open. A hold or a window may change an open record, until leolink_switched_close(). */
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

/*
 * Copies as many records to the agent as fit into its buffer. `take` removes the next record and copies it to `record`,
 * which is `bytes` bytes long. `take` returns false if there are no more records.
 */
ssize_t leolink_records_read(char __user *to, size_t size, void *record, size_t bytes, bool (*take)(void *record))
{
	size_t done;

	for (done = 0; done + bytes <= size && take(record); done += bytes)
		if (copy_to_user(to + done, record, bytes))
			return -EFAULT;
	return done;
}

static bool take_switched(void *record)
{
	struct entry *e = list_first_entry_or_null(&entries, struct entry, all);

	if (!e)
		return false;
	*(struct leolink_switched *)record = e->r;
	list_del(&e->all);
	e->was_read = true;
	if (!e->is_open)
		kfree(e);
	return true;
}

/* The agent reads the records once, at the end of a run. Reading deletes the records. */
ssize_t leolink_switches_read(struct file *f, char __user *to, size_t size, loff_t *pos)
{
	struct leolink_switched r;

	return leolink_records_read(to, size, &r, sizeof(r), take_switched);
}
