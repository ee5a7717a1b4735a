// SPDX-License-Identifier: GPL-2.0-only
/* The list of all links. The agent reads the links' records from /proc/leolink/links, in binary form. */
#include <linux/rtnetlink.h>
#include <linux/uaccess.h>
#include "leolink.h"

static LIST_HEAD(links);

/* leolink_links_join and leolink_links_leave are called under RTNL. */
void leolink_links_join(struct leolink_sched *q)
{
	list_add_tail(&q->all, &links);
}

void leolink_links_leave(struct leolink_sched *q)
{
	list_del(&q->all);
}

/* The link with the number `id`; NULL = there is none. Called under RTNL. */
struct leolink_sched *leolink_links_find(u32 id)
{
	struct leolink_sched *q;

	list_for_each_entry(q, &links, all)
		if (q->r.id == id)
			return q;
	return NULL;
}

ssize_t leolink_links_read(struct file *f, char __user *to, size_t size, loff_t *pos)
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
