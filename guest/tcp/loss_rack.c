// SPDX-License-Identifier: GPL-2.0-only
/*
 * loss_detection: early RACK, together with a threshold of duplicate ACKs.
 *
 *	time	a packet is lost if one that was sent after it has been delivered, and more than the RTT of that one and the
 *		reordering window have passed since the packet was sent. rack-draft follows the first drafts
 *		(draft-ietf-tcpm-rack-00, 2016): the window is 1 ms until reordering has been seen, and then a quarter of the
 *		minimum RTT, but at least 1 ms. rack-4.14 follows Linux 4.11 to 4.14: the quarter also applies while no packet
 *		is marked lost, so that 1 ms does not start a recovery, but applies within one.
 *	count	RFC 6675: a packet is lost once tp->reordering packets above it are SACKed. tp->reordering grows with the
 *		reordering that the kernel sees.
 *
 * Today's kernel has the same two rules in tcp_rack_detect_loss(), with differences: its window is 0 or a quarter of
 * the minimum RTT, and it counts only until reordering has been seen. The kernel maintains the variables that RACK
 * needs: rack.mstamp, rack.rtt_us, rack.end_seq, reord_seen.
 */
#include "loss_detection.h"

bool loss_by_first_rack(enum loss_detection detection)
{
	return detection == LOSS_RACK_DRAFT || detection == LOSS_RACK_4_14;
}

static u32 loss_rack_window(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	bool quarter = tp->reord_seen || (loss_detection(sk) == LOSS_RACK_4_14 && !tp->lost_out);

	return loss_rack_window_us(quarter, tcp_min_rtt(tp));
}

/* Marks packets lost by time, and sets the timer for the longest remaining wait; false: no packet waits */
bool loss_rack_mark_late(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	s64 waits_us = (s64)tp->rack.rtt_us + loss_rack_window(sk), longest_us = -1;
	struct sk_buff *skb, *next;

	/* In the order of their last transmission; SACKed packets are not in the list */
	list_for_each_entry_safe(skb, next, &tp->tsorted_sent_queue, tcp_tsorted_anchor) {
		u8 sacked = TCP_SKB_CB(skb)->sacked;
		s64 left_us;

		if ((sacked & TCPCB_LOST) && !(sacked & TCPCB_SACKED_RETRANS))
			continue;
		if (!tcp_skb_sent_after(tp->rack.mstamp, tcp_skb_timestamp_us(skb), tp->rack.end_seq,
					TCP_SKB_CB(skb)->end_seq))
			break;
		left_us = waits_us - (s64)tcp_stamp_us_delta(tp->tcp_mstamp, tcp_skb_timestamp_us(skb));
		if (left_us >= 0) {
			longest_us = max(longest_us, left_us);
			continue;
		}
		tcp_mark_skb_lost(sk, skb);
		list_del_init(&skb->tcp_tsorted_anchor);
	}
	if (longest_us < 0)
		return false;
	/*
	 * 1 us more, since a packet that has waited exactly that long is not lost; the other part is that of the
	 * kernel's own RACK timer
	 */
	inet_csk_reset_xmit_timer(sk, ICSK_TIME_REO_TIMEOUT, usecs_to_jiffies(longest_us + 1 + TCP_TIMEOUT_MIN_US),
				  inet_csk(sk)->icsk_rto);
	return true;
}

/* By time first, as in the kernels of that time: the count at this ACK determines the window at the next ACK */
bool loss_rack_mark(struct sock *sk)
{
	bool waits = loss_rack_mark_late(sk);

	loss_count_mark(sk, tcp_sk(sk)->reordering);
	return waits;
}
