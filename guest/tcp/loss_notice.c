// SPDX-License-Identifier: GPL-2.0-only
/*
 * loss_detection: the method notified, which receives notices of route changes (design/cures.md, "Notice"). A notice
 * states for how long packets to a destination may arrive out of order. For the stated time, the sender does not
 * declare packets to this destination lost merely because later packets have arrived. Without RACK, the timers (TLP,
 * RTO) keep running during this time.
 *
 * Anyone who can send a packet to a host can send it a notice. Neither the source nor the content of a notice is
 * verified.
 */
#include <linux/slab.h>
#include <linux/unaligned.h>
#include "loss_detection.h"

/* One of the ICMP types that RFC 4727 reserves for experiments */
#define LOSS_NOTICE_TYPE 253
#define LOSS_NOTICE_MAGIC 0x6c656f6e	/* "leon" */
/*
 * A value that tp->reordering has only while a notice applies. The product of any MSS and LOSS_NOTICE_REORDERING stays
 * below 2^31 bytes
 */
#define LOSS_NOTICE_REORDERING (1U << 20)

struct loss_notice_wire {
	u8 type, code;
	__sum16 checksum;
	__be32 magic;
	__be32 sequence;
	__be32 destination;
	__be64 old_delay_ns;
	__be64 new_delay_ns;
	__be64 wait_ns;
} __packed;

struct loss_notice {
	struct list_head list;
	u64 net_cookie, until_ns;
	__be32 destination;
};

/* This lock is never contended, because there is one processor and no preemption */
static LIST_HEAD(loss_notices);
static DEFINE_SPINLOCK(loss_notices_lock);

/*
 * Stores a notice. If several notices apply to a socket, the socket uses the longest wait. After this function, the
 * kernel drops the packet, like any ICMP message of unknown type.
 */
void loss_notice_take(struct sk_buff *skb)
{
	const struct net *net = dev_net(skb->dev);
	const struct loss_notice_wire *wire;
	u64 now_ns = ktime_get_ns(), wait_ns;
	struct loss_notice *notice;

	if (READ_ONCE(net->ipv4.sysctl_tcp_recovery) >> LOSS_DETECTION_SHIFT != LOSS_NOTIFIED ||
	    !pskb_may_pull(skb, sizeof(*wire)))
		return;
	wire = (const struct loss_notice_wire *)skb->data;
	if (wire->type != LOSS_NOTICE_TYPE || wire->code || wire->magic != htonl(LOSS_NOTICE_MAGIC) ||
	    skb_checksum_simple_validate(skb))
		return;
	wait_ns = get_unaligned_be64(&wire->wait_ns);
	notice = kmalloc(sizeof(*notice), GFP_ATOMIC);
	if (!notice) {
		pr_warn_ratelimited("loss_detection: no memory for a notice: it is not heeded\n");
		return;
	}
	notice->net_cookie = net->net_cookie;
	notice->destination = get_unaligned(&wire->destination);
	notice->until_ns = wait_ns < U64_MAX - now_ns ? now_ns + wait_ns : U64_MAX;
	spin_lock_bh(&loss_notices_lock);
	list_add(&notice->list, &loss_notices);
	spin_unlock_bh(&loss_notices_lock);
}

/*
 * Remaining time, in ns, of the longest notice for packets to this socket's peer. During this time, losses are not
 * declared
 */
u64 loss_notice_left_ns(const struct sock *sk)
{
	u64 now_ns = tcp_sk(sk)->tcp_clock_cache, left_ns = 0;
	struct loss_notice *notice, *next;

	if (list_empty(&loss_notices))
		return 0;
	spin_lock_bh(&loss_notices_lock);
	list_for_each_entry_safe(notice, next, &loss_notices, list) {
		if (notice->until_ns <= now_ns) {
			list_del(&notice->list);
			kfree(notice);
		} else if (notice->destination == sk->sk_daddr && notice->net_cookie == sock_net(sk)->net_cookie) {
			left_ns = max(left_ns, notice->until_ns - now_ns);
		}
	}
	spin_unlock_bh(&loss_notices_lock);
	return left_ns;
}

/*
 * Without RACK, the kernel compares the number of duplicate ACKs with tp->reordering. Several functions of the kernel
 * make this comparison, and they cannot be replaced one by one. This function therefore raises tp->reordering
 */
void loss_notice_ack(struct sock *sk, struct loss_state *state)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (loss_notice_left_ns(sk)) {
		if (tp->reordering != LOSS_NOTICE_REORDERING) {
			state->kept_reordering_pkts = tp->reordering;
			tp->reordering = LOSS_NOTICE_REORDERING;
		}
	} else if (tp->reordering == LOSS_NOTICE_REORDERING) {
		tp->reordering = state->kept_reordering_pkts;
	}
}
