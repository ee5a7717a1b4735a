// SPDX-License-Identifier: GPL-2.0-only
/*
 * loss_detection: TCP-PR (Bohacek, Hespanha, Lee, Lim, Obraczka: "A New TCP for Persistent Packet Reordering", IEEE/ACM
 * Transactions on Networking 14 (2), 2006). A packet is lost if it is not acknowledged within beta * M after it was
 * sent. M is the decaying maximum of round-trip times. The expiry of beta * M is the only sign of loss that TCP-PR
 * uses.
 *
 * In this implementation, the kernel calls TCP-PR only if an ACK is a duplicate or carries SACK. If the last packets of
 * a transfer are lost, the kernel's probe (TLP) and timer (RTO) find these losses. After a loss, the congestion control
 * halves the present window. In the paper, the sender halves the window that was in force when the lost packet was
 * sent.
 */
#include <linux/moduleparam.h>
#include "loss_detection.h"

static uint pr_alpha_ppm = 995000;
module_param(pr_alpha_ppm, uint, 0644);
MODULE_PARM_DESC(pr_alpha_ppm, "pr: millionths of the largest RTT that are left after one RTT (default 995000)");

static uint pr_beta_ppm = 3000000;
module_param(pr_beta_ppm, uint, 0644);
MODULE_PARM_DESC(pr_beta_ppm, "pr: millionths of the largest RTT after which a packet is lost (default 3000000)");

/*
 * rs->rtt_us belongs to the packet that this ACK acknowledged last, and never to a retransmitted packet
 * (tcp_ack_update_rtt)
 */
void loss_pr_ack(struct sock *sk, struct loss_state *state, const struct rate_sample *rs)
{
	if (rs->rtt_us > 0)
		state->longest_ns = loss_pr_longest_ns(state->longest_ns, (u64)rs->rtt_us * NSEC_PER_USEC,
						       tcp_snd_cwnd(tcp_sk(sk)), pr_alpha_ppm);
}

/* Time until a packet counts as lost, in ns; 0 = it is lost now */
u64 loss_pr_left_ns(const struct sock *sk, const struct loss_state *state, const struct sk_buff *skb)
{
	u64 lost_at_ns = skb->skb_mstamp_ns + loss_pr_limit_ns(state->longest_ns, pr_beta_ppm);
	u64 now_ns = tcp_sk(sk)->tcp_clock_cache;

	return lost_at_ns > now_ns ? lost_at_ns - now_ns : 0;
}

/* Number of windows of data that a sender sends while it waits for one packet */
u32 loss_pr_windows(void)
{
	return DIV_ROUND_UP(pr_beta_ppm, LOSS_PPM);
}

/*
 * Sets the socket's retransmission timer. A socket has only one such timer. One tick is added, because the current tick
 * is partly over.
 */
void loss_timer_in(struct sock *sk, u64 left_ns)
{
	inet_csk_reset_xmit_timer(sk, ICSK_TIME_REO_TIMEOUT, nsecs_to_jiffies(left_ns) + 1, TCP_RTO_MAX);
}

/* Marks lost packets, and sets the timer for the next packet that can become lost. Returns false if no packet waits */
bool loss_pr_mark(struct sock *sk, struct loss_state *state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct sk_buff *skb, *next;

	/* Before an RTT was measured, no packet can be late */
	if (!state->longest_ns)
		return false;
	/* tsorted_sent_queue is in the order of the last transmission, and does not contain SACKed packets */
	list_for_each_entry_safe(skb, next, &tp->tsorted_sent_queue, tcp_tsorted_anchor) {
		u8 sacked = TCP_SKB_CB(skb)->sacked;
		u64 left_ns;

		if ((sacked & TCPCB_LOST) && !(sacked & TCPCB_SACKED_RETRANS))
			continue;
		left_ns = loss_pr_left_ns(sk, state, skb);
		if (left_ns) {
			loss_timer_in(sk, left_ns);
			return true;
		}
		tcp_mark_skb_lost(sk, skb);
		list_del_init(&skb->tcp_tsorted_anchor);
	}
	return false;
}
