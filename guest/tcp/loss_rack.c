// SPDX-License-Identifier: GPL-2.0-only
/*
 * loss_detection: early RACK, combined with a threshold of duplicate ACKs.
 *
 *	time	a packet is lost if a later packet has been delivered, and if the time since the lost packet was sent
 *		exceeds the RTT of the delivered packet plus the reordering window. rack-draft follows the first drafts
 *		(draft-ietf-tcpm-rack-00, 2016): the window is 1 ms until reordering has been seen. Afterwards, it is a
 *		quarter of the minimum RTT, but at least 1 ms. rack-4.14 follows Linux 4.11 to 4.14: the window is a
 *		quarter of the minimum RTT as well while no packet is marked lost. The window of 1 ms therefore applies
 *		only during a recovery, and never starts one.
 *	count	a packet is lost when tp->reordering packets above it are SACKed (RFC 6675). tp->reordering grows with
 *		the reordering that the kernel sees.
 *
 * The present kernel has the rules `time` and `count` in tcp_rack_detect_loss(), with two differences. First, the
 * kernel's window is 0 or a quarter of the minimum RTT. Second, the kernel applies the count rule only until reordering
 * has been seen. The kernel itself maintains the variables that RACK needs: rack.mstamp, rack.rtt_us, rack.end_seq,
 * reord_seen.
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

/*
 * Marks packets lost by the time rule, and sets the timer to the longest remaining wait. Returns false if no packet has
 * a remaining wait
 */
bool loss_rack_mark_late(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	s64 waits_us = (s64)tp->rack.rtt_us + loss_rack_window(sk), longest_us = -1;
	struct sk_buff *skb, *next;

	/* tsorted_sent_queue is in the order of the last transmission, and does not contain SACKed packets. */
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
	 * 1 us is added because a packet counts as lost only if more time than longest_us has passed.
	 * TCP_TIMEOUT_MIN_US is added as for the kernel's own RACK timer
	 */
	inet_csk_reset_xmit_timer(sk, ICSK_TIME_REO_TIMEOUT, usecs_to_jiffies(longest_us + 1 + TCP_TIMEOUT_MIN_US),
				  inet_csk(sk)->icsk_rto);
	return true;
}

/*
 * The time rule is applied first, as in Linux 4.11 to 4.14. The count rule may mark a packet lost at this ACK. Such a
 * packet therefore affects the reordering window only from the next ACK on
 */
bool loss_rack_mark(struct sock *sk)
{
	bool waits = loss_rack_mark_late(sk);

	loss_count_mark(sk, tcp_sk(sk)->reordering);
	return waits;
}
