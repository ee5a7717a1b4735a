/* SPDX-License-Identifier: GPL-2.0-only */
/* What leolink tells the agent: /proc/leolink/links and /proc/leolink/drops, binary. */
#ifndef LEOLINK_PROC_H
#define LEOLINK_PROC_H

#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include "leolink.h"

static LIST_HEAD(links);
static u32 links_count;

#define DROPS_MAX 65536
static struct leolink_drop *drops;
static u32 drops_head, drops_count;
static u64 drops_overrun;

static void advance_any(struct leolink_sched *q, u64 now);

static void record_drop(struct leolink_sched *q, struct sk_buff *skb, enum leolink_cause cause, u64 now)
{
	u32 bytes = link_bytes(q, skb);
	struct leolink_drop *d;
	int offset = skb_network_offset(skb), length;

	q->r.dropped_pkts[cause]++;
	q->r.dropped_bytes[cause] += bytes;
	if (drops_count == DROPS_MAX) {
		drops_overrun++;
		return;
	}
	d = &drops[(drops_head + drops_count++) % DROPS_MAX];
	length = min_t(int, sizeof(d->data), (int)skb->len - offset);
	d->t_ns = now;
	d->id = q->r.id;
	d->cause = cause + 1;
	d->frame_bytes = qdisc_pkt_len(skb);
	memset(d->data, 0, sizeof(d->data));
	d->captured = length > 0 && !skb_copy_bits(skb, offset, d->data, length) ? length : 0;
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
		advance_any(q, now);
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

/* What has been read is gone; a full ring is an error of the reader's, said once it reads. */
static ssize_t drops_read(struct file *f, char __user *to, size_t size, loff_t *pos)
{
	size_t done = 0;

	if (drops_overrun)
		return -EOVERFLOW;
	while (drops_count && done + sizeof(*drops) <= size) {
		struct leolink_drop d;

		local_bh_disable();
		d = drops[drops_head];
		drops_head = (drops_head + 1) % DROPS_MAX;
		drops_count--;
		local_bh_enable();
		if (copy_to_user(to + done, &d, sizeof(d)))
			return -EFAULT;
		done += sizeof(d);
	}
	return done;
}

static const struct proc_ops links_ops = { .proc_read = links_read };
static const struct proc_ops drops_ops = { .proc_read = drops_read };

static int __init leolink_proc_register(void)
{
	struct proc_dir_entry *dir;

	BUILD_BUG_ON(sizeof(struct leolink_record) != 136);
	BUILD_BUG_ON(sizeof(struct leolink_drop) != 64);
	BUILD_BUG_ON(sizeof(struct leolink_row) != 24);
	drops = vzalloc(DROPS_MAX * sizeof(*drops));
	if (!drops)
		return -ENOMEM;
	dir = proc_mkdir("leolink", NULL);
	if (!dir || !proc_create("links", 0400, dir, &links_ops) || !proc_create("drops", 0400, dir, &drops_ops))
		return -ENOMEM;
	return 0;
}

#endif
