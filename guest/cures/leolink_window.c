// SPDX-License-Identifier: GPL-2.0-only
/*
 * For some time after a switch, copies or marks the packets that a link takes. The node sends the copies over the old
 * link (packet replication, RFC 8655, 3.2.2.2). A mark says that the packet took a new path. The station that restores
 * the order uses this mark (RFC 9550, advanced algorithm). Only numbered packets are copied or marked.
 */
#include <linux/slab.h>
#include "leolink_cures.h"

struct leolink_window {
	struct leolink_window *next;
	__be32 destination;
	int copy_ifindex;	/* 0 = no copies */
	bool marks;
	u64 copy_until_ns, mark_until_ns;
	struct leolink_switched *record;	/* record that counts the copies; NULL = no packets are copied */
};

/* May sleep. */
int leolink_window_begin(struct leolink_sched *q, const struct leolink_switch *s, int copy_ifindex, bool marks,
			 struct leolink_switched *record)
{
	struct leolink_window *w = kzalloc(sizeof(*w), GFP_KERNEL);
	u64 now = now_ns();

	if (!w)
		return -ENOMEM;
	w->destination = s->destination;
	w->copy_ifindex = copy_ifindex;
	w->marks = marks;
	w->copy_until_ns = copy_ifindex ? now + s->copy_ns : 0;
	w->mark_until_ns = marks ? now + s->new_way_ns : 0;
	if (copy_ifindex) {
		w->record = record;
		leolink_switched_open(record);
	}
	sch_tree_lock(q->sch);
	/* the newest window is first in the list */
	w->next = q->windows;
	q->windows = w;
	leolink_set_plain(q);
	sch_tree_unlock(q->sch);
	return 0;
}

static void end(struct leolink_window **place)
{
	struct leolink_window *w = *place;

	*place = w->next;
	if (w->record)
		leolink_switched_close(w->record);
	kfree(w);
}

void leolink_window_end_all(struct leolink_sched *q)
{
	while (q->windows)
		end(&q->windows);
}

/* Returns the newest window for the packet's destination. The function also removes windows whose time is over. */
static struct leolink_window *window_of(struct leolink_sched *q, const struct sk_buff *skb, u64 now)
{
	struct leolink_window **place = &q->windows, *found = NULL;

	while (*place) {
		if (max((*place)->copy_until_ns, (*place)->mark_until_ns) <= now) {
			end(place);
			continue;
		}
		if (!found && leolink_is_for(skb, (*place)->destination))
			found = *place;
		place = &(*place)->next;
	}
	leolink_set_plain(q);
	return found;
}

/*
 * Called when a link takes a packet. Gives the packet a number. If a window is open for the packet's destination, also
 * marks or copies the packet. Returns the copy, which the caller must send over the link with the interface
 * `copy_ifindex`; NULL = no copy was made. If the argument `copy_ifindex` is NULL, no copy is made.
 */
struct sk_buff *leolink_window_accept(struct leolink_sched *q, struct sk_buff *skb, int *copy_ifindex, u64 now)
{
	struct leolink_window *w;
	struct sk_buff *copy;

	if (q->order & LEOLINK_ORDER_NUMBER)
		leolink_order_number(q, skb);
	if (!q->windows)
		return NULL;
	w = window_of(q, skb, now);
	if (!w || !leolink_order_has_number(skb))
		return NULL;
	if (w->mark_until_ns > now)
		skb->hash |= NUMBER_NEW_WAY;
	/* a copy may come back to this node on its path, and must not be copied again */
	if (w->copy_until_ns <= now || !copy_ifindex || (skb->hash & NUMBER_COPIED))
		return NULL;
	copy = skb_copy(skb, GFP_ATOMIC);
	if (!copy)
		return NULL;
	skb->hash |= NUMBER_COPIED;
	copy->hash |= NUMBER_COPIED;
	w->record->copied_pkts++;
	w->record->copied_bytes += link_bytes(q, skb);
	*copy_ifindex = w->copy_ifindex;
	return copy;
}
