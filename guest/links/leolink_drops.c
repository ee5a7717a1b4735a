// SPDX-License-Identifier: GPL-2.0-only
/* The records of lost packets, stored in a ring. The agent reads the ring as /proc/leolink/drops, in binary form. */
#include <linux/uaccess.h>
#include <linux/vmalloc.h>
#include "leolink.h"

#define DROPS_MAX 65536

static struct leolink_drop *drops;
static u32 drops_head, drops_count;
static u64 drops_overrun;

#if IS_ENABLED(CONFIG_IPV6)
/*
 * Forty bytes from the start of an IPv6 packet would contain only its IP header. For IPv6, the record therefore
 * contains the following parts of the packet:
 *
 * - the first eight bytes of the IP header, and the last four bytes of each address;
 * - the first sixteen bytes after the IP header (for TCP, they end with the window field);
 * - eight bytes at offset twenty after the IP header, where TCP has its first options, usually a timestamp.
 *
 * crates/agent brings captured frames into the same form, so that they can be compared (packets/short.rs).
 */
static bool shorten(const struct sk_buff *skb, int offset, u8 *data)
{
	static const struct { u8 from, bytes, to; } parts[] = {
		{ 0, 8, 0 }, { 20, 4, 8 }, { 36, 4, 12 }, { 40, 16, 16 }, { 60, 8, 32 },
	};
	int i, has;

	memset(data, 0, sizeof_field(struct leolink_drop, data));
	for (i = 0; i < ARRAY_SIZE(parts); i++) {
		has = min_t(int, parts[i].bytes, (int)skb->len - offset - parts[i].from);
		if (has > 0 && skb_copy_bits(skb, offset + parts[i].from, data + parts[i].to, has))
			return false;
	}
	return true;
}
#endif

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
	/* if a packet has two copies, the packet counts as lost only when the second copy is lost */
	d->captured = length > 0 && !leolink_order_spares(skb) && !skb_copy_bits(skb, offset, d->data, length) ? length : 0;
#if IS_ENABLED(CONFIG_IPV6)
	if (d->captured == sizeof(d->data) && skb->protocol == htons(ETH_P_IPV6) && !shorten(skb, offset, d->data))
		d->captured = 0;
#endif
}

/* Whether the ring contains records. */
bool leolink_drops_wait(void)
{
	return drops_count || drops_overrun;
}

/*
 * Reading deletes the records that were read. If the ring was too small for all records, reading returns an error.
 */
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
