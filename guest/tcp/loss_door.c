// SPDX-License-Identifier: GPL-2.0-only
/*
 * loss_detection: the response of TCP-DOOR (Wang, Zhang: "Improving TCP Performance over Mobile Ad-Hoc Networks with
 * Out-of-Order Detection and Response", MobiHoc 2002). Losses are detected as in the kernel. When a sender has signs
 * that packets or ACKs arrived out of order,
 *
 *	- no detected loss reduces the window for the time T1 (temporarily disabling congestion control), and
 *	- a reduction is undone if it is not older than T2 (instant recovery during congestion avoidance).
 *
 * In the paper, TCP options contain the numbers of packets and ACKs. In leowarp, TCP options contain no such numbers.
 * Instead, a sender takes two signs as evidence that data arrived out of order. The first sign is reordering that the
 * kernel has seen (tp->reord_seen): a packet that was never retransmitted filled a hole. The second sign of data out of
 * order is a DSACK. ACKs arrived out of order if an ACK has an older timestamp than an earlier ACK.
 *
 * door replaces the functions ssthresh and cong_control of the socket's congestion control. ssthresh returns the window
 * after a reduction. With cong_control, a congestion control such as BBR sets the window itself.
 */
#include <linux/moduleparam.h>
#include "loss_detection.h"

static ulong door_freeze_ns;
module_param(door_freeze_ns, ulong, 0644);
MODULE_PARM_DESC(door_freeze_ns, "door: T1, ns without reduction after packets out of order (default 0: the smoothed RTT)");

static ulong door_undo_ns;
module_param(door_undo_ns, ulong, 0644);
MODULE_PARM_DESC(door_undo_ns, "door: T2, age in ns of a reduction that is taken back (default 0: the smoothed RTT)");

static u64 loss_door_time_ns(const struct tcp_sock *tp, ulong given_ns)
{
	return given_ns ? given_ns : (u64)(tp->srtt_us >> 3) * NSEC_PER_USEC;
}

static bool loss_door_frozen(const struct sock *sk, const struct loss_state *state)
{
	return tcp_sk(sk)->tcp_clock_cache < state->frozen_until_ns;
}

/*
 * Proportional rate reduction (RFC 6937) sends no more packets than were delivered since the reduction began. This
 * function therefore counts a whole window as delivered, so that the sender can keep its window.
 */
static void loss_door_fill(struct tcp_sock *tp, u32 cwnd_pkts)
{
	tp->prr_delivered = tp->prr_out + (tcp_packets_in_flight(tp) <= cwnd_pkts ? cwnd_pkts : 0);
}

/*
 * Called when a reduction begins. prior_ssthresh is 0 if ECN requires the reduction (tcp_enter_recovery, tcp_enter_cwr)
 */
static u32 loss_door_ssthresh(struct sock *sk)
{
	struct loss_state *state = loss_state_if_any(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tp->prior_ssthresh)
		return state->original->ssthresh(sk);
	if (loss_door_frozen(sk, state)) {
		/*
		 * If a congestion control sets the window itself, this call only saves the window. The returned
		 * threshold has no meaning
		 */
		if (state->original->cong_control)
			return state->original->ssthresh(sk);
		loss_door_fill(tp, tcp_snd_cwnd(tp));
		return tcp_snd_cwnd(tp);
	}
	state->reduced_at_ns = tp->tcp_clock_cache;
	state->reduced_cwnd_pkts = tcp_snd_cwnd(tp);
	state->reduced_ssthresh_pkts = tp->snd_ssthresh;
	return state->original->ssthresh(sk);
}

static void loss_door_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	struct loss_state *state = loss_state_if_any(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	state->original->cong_control(sk, ack, flag, rs);
	if (loss_door_frozen(sk, state))
		tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp), state->frozen_cwnd_pkts));
}

static bool loss_door_out_of_order(const struct tcp_sock *tp, struct loss_state *state)
{
	bool out_of_order = tp->reord_seen != state->reordered || tp->dsack_dups != state->repeated;

	state->reordered = tp->reord_seen;
	state->repeated = tp->dsack_dups;
	return out_of_order || (tp->rx_opt.saw_tstamp && before(tp->rx_opt.rcv_tsval, tp->rx_opt.ts_recent));
}

static void loss_door_restore(struct sock *sk, struct loss_state *state)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->snd_ssthresh = max(tp->snd_ssthresh, state->reduced_ssthresh_pkts);
	if (tcp_in_cwnd_reduction(sk) && !state->original->cong_control) {
		/* During a reduction, the kernel moves the window towards the threshold (tcp_cwnd_reduction) */
		tp->snd_ssthresh = max(tcp_snd_cwnd(tp), state->reduced_cwnd_pkts);
		loss_door_fill(tp, tp->snd_ssthresh);
	}
	tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp), state->reduced_cwnd_pkts));
	state->reduced_at_ns = 0;
}

/* Called for each ACK, before the kernel looks for losses */
void loss_door_ack(struct sock *sk, struct loss_state *state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 now_ns = tp->tcp_clock_cache;

	if (loss_ops_copy(sk, state)) {
		state->ops.ssthresh = loss_door_ssthresh;
		if (state->original->cong_control)
			state->ops.cong_control = loss_door_cong_control;
	}
	if (!loss_door_out_of_order(tp, state))
		return;
	if (state->reduced_at_ns && now_ns - state->reduced_at_ns <= loss_door_time_ns(tp, door_undo_ns))
		loss_door_restore(sk, state);
	if (!loss_door_frozen(sk, state))
		state->frozen_cwnd_pkts = tcp_snd_cwnd(tp);
	state->frozen_until_ns = now_ns + loss_door_time_ns(tp, door_freeze_ns);
}
