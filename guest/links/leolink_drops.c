// SPDX-License-Identifier: GPL-2.0-only
/* The packets that were lost: a ring that the agent reads as /proc/leolink/drops, binary. */
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "leolink.h"

#define DROPS_MAX 65536

static struct leolink_drop *drops;
static u32 drops_head, drops_count;
static u64 drops_overrun;

void leolink_record_drop(struct leolink_sched *q, struct sk_buff *skb, enum leolink_cause cause, u64 now)
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
	/* if a packet has two copies, only the second loss counts as its loss */
	d->captured = length > 0 && !leolink_order_spares(skb) && !skb_copy_bits(skb, offset, d->data, length) ? length : 0;
}

/* Whether there is anything to read. */
bool leolink_drops_wait(void)
{
	return drops_count || drops_overrun;
}

/* Reading removes records. If the ring was too small, the reader gets an error at its next read. */
ssize_t leolink_drops_read(struct file *f, char __user *to, size_t size, loff_t *pos)
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

int __init leolink_drops_register(void)
{
	BUILD_BUG_ON(sizeof(struct leolink_drop) != 64);
	drops = vzalloc(DROPS_MAX * sizeof(*drops));
	return drops ? 0 : -ENOMEM;
}
