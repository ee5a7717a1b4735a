// SPDX-License-Identifier: GPL-2.0-only
/*
 * loss_detection: functions that replace functions of the kernel (guest/build.sh, --wrap). __real_NAME is the kernel's
 * function NAME.
 */
#include "loss_detection.h"

void __real_tcp_rack_update_reo_wnd(struct sock *sk, struct rate_sample *rs);
bool __real_tcp_rack_mark_lost(struct sock *sk);
void __real_tcp_rack_reo_timeout(struct sock *sk);
s32 __real_tcp_rack_skb_timeout(struct tcp_sock *tp, struct sk_buff *skb, u32 reo_wnd);
void __real_tcp_newreno_mark_lost(struct sock *sk, bool snd_una_advanced);
void __real_tcp_enter_loss(struct sock *sk);
void __real_tcp_cleanup_congestion_control(struct sock *sk);
int __real_icmp_rcv(struct sk_buff *skb);

void __wrap_tcp_rack_update_reo_wnd(struct sock *sk, struct rate_sample *rs);
bool __wrap_tcp_rack_mark_lost(struct sock *sk);
void __wrap_tcp_rack_reo_timeout(struct sock *sk);
s32 __wrap_tcp_rack_skb_timeout(struct tcp_sock *tp, struct sk_buff *skb, u32 reo_wnd);
void __wrap_tcp_newreno_mark_lost(struct sock *sk, bool snd_una_advanced);
void __wrap_tcp_enter_loss(struct sock *sk);
void __wrap_tcp_cleanup_congestion_control(struct sock *sk);
int __wrap_icmp_rcv(struct sk_buff *skb);

/* Whether a method waits for a window of ACKs or longer before it declares a packet lost, and keeps state for this */
static bool loss_waits(enum loss_detection detection)
{
	return detection == LOSS_NCR_CAREFUL || detection == LOSS_NCR_AGGRESSIVE || detection == LOSS_RR ||
	       detection == LOSS_PR;
}

/* Whether a method alone decides which packets are lost */
static bool loss_has_own(enum loss_detection detection)
{
	return loss_waits(detection) || loss_by_first_rack(detection);
}

/*
 * If losses are detected later than in Linux, the sender must buffer more unacknowledged data. Linux's send buffer
 * holds two windows of data, of which the second allows for the round trip of a retransmission (tcp_sndbuf_expand). If
 * the sender waits for a window of duplicate ACKs, the buffer needs one more window. If the sender waits for beta * M
 * (method pr), the buffer needs beta more windows. With a full buffer, the sender would send nothing during recovery.
 * After recovery, the sender would send up to a whole window at once. The buffer is enlarged only while some packets
 * are SACKed, so it stays as in Linux if a sender never waits for a loss.
 */
static u32 loss_windows_buffered(struct sock *sk)
{
	const struct loss_state *state = loss_state_if_any(sk);
	u32 windows = state->original->sndbuf_expand ? state->original->sndbuf_expand(sk) : 2;

	if (!tcp_sk(sk)->sacked_out)
		return windows;
	return windows + (loss_detection(sk) == LOSS_PR ? loss_pr_windows() : 1);
}

/*
 * Called in tcp_ack() for each ACK that arrives while packets are in flight. At this point, the kernel has processed
 * SACK, and has not yet looked for losses
 */
void __wrap_tcp_rack_update_reo_wnd(struct sock *sk, struct rate_sample *rs)
{
	enum loss_detection detection = loss_detection(sk);
	struct loss_state *state;

	__real_tcp_rack_update_reo_wnd(sk, rs);
	/* When the ACK of the SYN arrives, the socket is not complete yet */
	if (detection == LOSS_KERNEL || loss_by_first_rack(detection) || sk->sk_state == TCP_SYN_SENT || sk->sk_state == TCP_SYN_RECV)
		return;
	state = loss_state(sk);
	if (!state)
		return;
	if (loss_waits(detection) && loss_ops_copy(sk, state))
		state->ops.sndbuf_expand = loss_windows_buffered;
	if (detection == LOSS_NCR_CAREFUL || detection == LOSS_NCR_AGGRESSIVE)
		loss_ncr_ack(sk, state, detection == LOSS_NCR_CAREFUL);
	else if (detection == LOSS_DOOR)
		loss_door_ack(sk, state);
	else if (detection == LOSS_RR)
		loss_rr_ack(sk, state);
	else if (detection == LOSS_PR)
		loss_pr_ack(sk, state, rs);
	else if (detection == LOSS_NOTIFIED && !loss_by_rack(sk))
		loss_notice_ack(sk, state);
}

/* Marks lost packets by the chosen method. Returns true if the method has set the timer */
static bool loss_mark(struct sock *sk, enum loss_detection detection, struct loss_state *state)
{
	u32 dupthresh_pkts = state->dupthresh_pkts, lost_out = tcp_sk(sk)->lost_out;

	if (detection == LOSS_PR)
		return loss_pr_mark(sk, state);
	/*
	 * The threshold of rr never exceeds that of NCR: RFC 4653 regards a window of duplicate ACKs as enough evidence
	 */
	if (detection == LOSS_RR)
		dupthresh_pkts = min(dupthresh_pkts, loss_ncr_dupthresh(tcp_sk(sk)->packets_out, false));
	loss_count_mark(sk, dupthresh_pkts);
	if (tcp_sk(sk)->lost_out != lost_out)
		loss_ncr_end(sk, state);
	return false;
}

/*
 * Called in tcp_identify_packet_loss() for each ACK that is a duplicate, carries SACK, or arrives while the congestion
 * state is not Open
 */
bool __wrap_tcp_rack_mark_lost(struct sock *sk)
{
	enum loss_detection detection = loss_detection(sk);
	struct loss_state *state = loss_state_if_any(sk);
	u64 left_ns;

	if (loss_by_first_rack(detection))
		return loss_rack_mark(sk);
	if (loss_waits(detection) && state)
		return loss_mark(sk, detection, state);
	if (detection == LOSS_NOTIFIED && (left_ns = loss_notice_left_ns(sk))) {
		loss_timer_in(sk, left_ns);
		return true;
	}
	return __real_tcp_rack_mark_lost(sk);
}

/*
 * Does the same as the kernel's tcp_rack_reo_timeout, but finds losses by the chosen method. If `state` is given, the
 * method is pr; if `state` is NULL, the method is early RACK
 */
static void loss_timeout(struct sock *sk, struct loss_state *state)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 prior_inflight_pkts = tcp_packets_in_flight(tp), lost_pkts = tp->lost;
	bool waits = state ? loss_pr_mark(sk, state) : loss_rack_mark_late(sk);

	if (prior_inflight_pkts == tcp_packets_in_flight(tp) && waits)
		return;
	if (prior_inflight_pkts != tcp_packets_in_flight(tp)) {
		if (inet_csk(sk)->icsk_ca_state != TCP_CA_Recovery) {
			tcp_enter_recovery(sk, false);
			if (!inet_csk(sk)->icsk_ca_ops->cong_control)
				tcp_cwnd_reduction(sk, 1, tp->lost - lost_pkts, 0);
		}
		tcp_xmit_retransmit_queue(sk);
	}
	if (inet_csk(sk)->icsk_pending != ICSK_TIME_RETRANS)
		tcp_rearm_rto(sk);
}

/*
 * Called in tcp_write_timer_handler() when the reordering timer expires. One of four methods has set this timer: pr,
 * early RACK, notified or the kernel's RACK
 */
void __wrap_tcp_rack_reo_timeout(struct sock *sk)
{
	enum loss_detection detection = loss_detection(sk);
	struct loss_state *state = loss_state_if_any(sk);
	u64 left_ns;

	if (detection == LOSS_PR && state)
		loss_timeout(sk, state);
	else if (loss_by_first_rack(detection))
		loss_timeout(sk, NULL);
	else if (detection == LOSS_NOTIFIED && (left_ns = loss_notice_left_ns(sk)))
		loss_timer_in(sk, left_ns);
	else
		__real_tcp_rack_reo_timeout(sk);
}

/*
 * Called in tcp_timeout_mark_lost() at a retransmission timeout, for each packet except the first. Returns a positive
 * value if the packet is not lost
 */
s32 __wrap_tcp_rack_skb_timeout(struct tcp_sock *tp, struct sk_buff *skb, u32 reo_wnd)
{
	struct sock *sk = (struct sock *)tp;
	enum loss_detection detection = loss_detection(sk);
	struct loss_state *state = loss_state_if_any(sk);

	if (detection == LOSS_PR && state)
		return loss_pr_left_ns(sk, state, skb) ? 1 : 0;
	/* RFC 6675, 5.1: after a timeout, all packets that are not SACKed are lost */
	if (loss_has_own(detection))
		return 0;
	return __real_tcp_rack_skb_timeout(tp, skb, reo_wnd);
}

/* Called in tcp_identify_packet_loss() for connections without SACK */
void __wrap_tcp_newreno_mark_lost(struct sock *sk, bool snd_una_advanced)
{
	if (loss_detection(sk) == LOSS_NOTIFIED && loss_notice_left_ns(sk))
		return;
	__real_tcp_newreno_mark_lost(sk, snd_una_advanced);
}

/* Called in tcp_retransmit_timer() */
void __wrap_tcp_enter_loss(struct sock *sk)
{
	struct loss_state *state = loss_state_if_any(sk);

	if (loss_waits(loss_detection(sk)) && state)
		loss_ncr_end(sk, state);
	__real_tcp_enter_loss(sk);
}

/* Called in tcp_v4_destroy_sock() */
void __wrap_tcp_cleanup_congestion_control(struct sock *sk)
{
	struct loss_state *state = loss_state_if_any(sk);

	if (state)
		loss_ops_restore(sk, state);
	__real_tcp_cleanup_congestion_control(sk);
	if (state)
		loss_state_free(sk);
}

/* Called in ip_protocol_deliver_rcu() */
int __wrap_icmp_rcv(struct sk_buff *skb)
{
	loss_notice_take(skb);
	return __real_icmp_rcv(skb);
}
