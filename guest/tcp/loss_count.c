// SPDX-License-Identifier: GPL-2.0-only
/*
 * loss_detection: methods that declare a packet lost when a given number of packets above it has been SACKed.
 *
 * NCR (RFC 4653). NCR's threshold is a share of the packets in flight. NCR therefore declares a loss only after a
 * window of duplicate ACKs. While the sender waits for these ACKs, it sends new packets (extended limited transmit).
 * The aggressive variant sends one new packet per SACKed packet. Linux without leowarp also sends one new packet per
 * SACKed packet, because SACKed packets are not in flight. The careful variant sends one new packet per two SACKed
 * packets.
 *
 * RR-TCP (Zhang, Karp, Floyd, Peterson: "RR-TCP: A Reordering-Robust TCP with DSACK", ICNP 2003), variant DSACK-FA.
 * RR-TCP's threshold is a percentile of the extents of late packets. When a late packet arrives, its extent is the
 * number of SACKed packets above it.
 */
#include <linux/moduleparam.h>
#include "loss_detection.h"

static uint rr_percentile_ppm = 900000;
module_param(rr_percentile_ppm, uint, 0644);
MODULE_PARM_DESC(rr_percentile_ppm, "rr: millionths of past reordering that the threshold rides out (default 900000)");

/*
 * RFC 4653, 3.2 (T.1, T.2). If the congestion control sets the window itself, it also paces, so no burst needs to be
 * prevented.
 */
static void loss_ncr_reordered(struct sock *sk, struct loss_state *state)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (inet_csk(sk)->icsk_ca_ops->cong_control)
		return;
	tcp_snd_cwnd_set(tp, max(min(tp->packets_out + 1, state->flight_size_prev_pkts), 1U));
	tp->snd_ssthresh = state->flight_size_prev_pkts;
}

/*
 * When a loss ends extended limited transmit, the reduction starts from the window before extended limited transmit
 * (3.4)
 */
void loss_ncr_end(struct sock *sk, struct loss_state *state)
{
	if (state->flight_size_prev_pkts && !inet_csk(sk)->icsk_ca_ops->cong_control)
		tcp_snd_cwnd_set(tcp_sk(sk), state->cwnd_pkts);
	state->flight_size_prev_pkts = 0;
}

/* Called for each ACK, before the kernel looks for losses */
void loss_ncr_ack(struct sock *sk, struct loss_state *state, bool careful)
{
	struct tcp_sock *tp = tcp_sk(sk);
	bool advanced = tp->snd_una != state->una, had_holes = state->sacked_pkts;
	u32 pipe_pkts = tcp_packets_in_flight(tp);

	state->una = tp->snd_una;
	state->sacked_pkts = tp->sacked_out;
	state->dupthresh_pkts = loss_ncr_dupthresh(tp->packets_out, careful);
	if (inet_csk(sk)->icsk_ca_state > TCP_CA_Disorder) {
		state->flight_size_prev_pkts = 0;
		return;
	}
	if (state->flight_size_prev_pkts && advanced) {
		loss_ncr_reordered(sk, state);
		/* T.4: FlightSizePrev does not change if holes remain */
		state->flight_size_pkts = tp->packets_out;
		if (!tp->sacked_out)
			state->flight_size_prev_pkts = 0;
	} else if (!state->flight_size_prev_pkts && tp->sacked_out && !had_holes) {
		/*
		 * RFC 4653, 3.1: extended limited transmit begins with the first ACK that carries SACK after ACKs
		 * without SACK. Extended limited transmit does not begin if SACKed packets are left from an earlier
		 * period, for instance after a timeout.
		 */
		state->flight_size_prev_pkts = tp->packets_out;
		state->flight_size_pkts = tp->packets_out;
		state->cwnd_pkts = tcp_snd_cwnd(tp);
	}
	if (careful && state->flight_size_prev_pkts && !inet_csk(sk)->icsk_ca_ops->cong_control) {
		u32 skipped_pkts = tp->packets_out - state->flight_size_pkts;
		u32 pkts = loss_ncr_careful_pkts(state->flight_size_prev_pkts, pipe_pkts, skipped_pkts);

		tcp_snd_cwnd_set(tp, max(pipe_pkts + pkts, 1U));
	}
}

/* Called when the oldest hole was filled by a packet that was late by `extent_pkts` */
static void loss_rr_learn(struct loss_state *state, u32 extent_pkts)
{
	state->extents_pkts[state->extents++ % LOSS_RR_EXTENTS] = extent_pkts;
	state->dupthresh_pkts = loss_rr_dupthresh(state->extents_pkts, min_t(u32, state->extents, LOSS_RR_EXTENTS),
						  rr_percentile_ppm);
}

/*
 * Called for each ACK, before the kernel looks for losses. If SND.UNA advances, the packet at the old SND.UNA has
 * arrived after `sacked_pkts` packets above it. If no retransmission was outstanding, the packet was late, as in the
 * kernel's tcp_packet_delayed(). If there was a retransmission, the echoed timestamp shows whether the ACK answers the
 * original or the retransmission (Eifel, RFC 3522). Without timestamps, a later DSACK for the retransmission shows that
 * the packet was late. DSACKs arrive in the order of the retransmissions, so each DSACK belongs to the oldest entry of
 * `pending_pkts`.
 */
void loss_rr_ack(struct sock *sk, struct loss_state *state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 dsacked_pkts = tp->dsack_dups - state->dsacked_pkts;

	if (tp->snd_una != state->una && state->sacked_pkts) {
		if (!tp->retrans_stamp) {
			loss_rr_learn(state, state->sacked_pkts);
		} else if (tp->rx_opt.saw_tstamp && tp->rx_opt.rcv_tsecr) {
			if (before(tp->rx_opt.rcv_tsecr, tp->retrans_stamp))
				loss_rr_learn(state, state->sacked_pkts);
		} else if (state->pending_count < LOSS_RR_PENDING) {
			u32 place = (state->pending_first + state->pending_count++) % LOSS_RR_PENDING;

			state->pending_pkts[place] = state->sacked_pkts;
		}
	}
	for (; dsacked_pkts && state->pending_count; dsacked_pkts--, state->pending_count--)
		loss_rr_learn(state, state->pending_pkts[state->pending_first++ % LOSS_RR_PENDING]);
	state->dsacked_pkts = tp->dsack_dups;
	state->una = tp->snd_una;
	state->sacked_pkts = tp->sacked_out;
}

/*
 * Marks lost packets by the rule IsLost of RFC 6675, 4. Here, the rule counts packets. A packet that was already marked
 * and retransmitted is not marked a second time
 */
void loss_count_mark(struct sock *sk, u32 dupthresh_pkts)
{
	u32 above_pkts = tcp_sk(sk)->sacked_out;
	struct sk_buff *skb;

	skb_rbtree_walk(skb, &sk->tcp_rtx_queue) {
		u8 sacked = TCP_SKB_CB(skb)->sacked;

		if (above_pkts < dupthresh_pkts)
			break;
		if (sacked & TCPCB_SACKED_ACKED)
			above_pkts -= tcp_skb_pcount(skb);
		else if (!(sacked & TCPCB_LOST))
			tcp_mark_skb_lost(sk, skb);
	}
}
