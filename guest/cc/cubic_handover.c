// SPDX-License-Identifier: GPL-2.0-only
/*
 * cubic_handover: the kernel's CUBIC, except that it repairs the losses of an expected handover without reducing the
 * window.
 *
 * net/ipv4/tcp_cubic.c is included unchanged. This file contains all differences from the kernel's CUBIC. A loss is
 * treated differently if it touches the window around a scheduled reconfiguration: its packet was sent in the window,
 * its detection happens in the window, or the window lies between the two. Such a loss is treated as follows:
 *
 *	fast recovery	the repair by SACK changes neither the congestion window nor CUBIC's curve. After the repair,
 *			the slow start threshold has its former value
 *	timeout		the kernel sends one packet, and then slow-starts (tcp_enter_loss) up to the former congestion
 *			window. After the repair, congestion window and threshold have their former values, and CUBIC's
 *			curve continues
 *	RTT samples	HyStart does not get samples that touch the window around the reconfiguration. After the window,
 *			HyStart's minimum delay is measured anew, because the path has changed
 *
 * ECN marks always cause a reduction, as in CUBIC.
 *
 * With marks_only, if a connection has negotiated ECN, only marks and timeouts reduce its window. With marks_only and
 * ECN, losses that fast recovery finds are repaired without a reduction. This also applies outside the windows around
 * reconfigurations. With marks_only, an ECN mark that arrives during the repair causes a reduction. A timeout causes a
 * reduction only outside the windows around reconfigurations. With marks_only, a connection without ECN always behaves
 * like CUBIC, also in the windows around reconfigurations.
 *
 * The kernel, and not the congestion control, decides the following three things. First, after a burst of losses, the
 * connection refills the kept congestion window all at once, unless a pacer such as sch_fq spreads the packets. Second,
 * after a timeout, the kernel performs the slow start itself. Third, without SACK, the kernel repairs one packet per
 * round trip.
 *
 * Before working on this file, read net/ipv4/tcp_cubic.c. Also read, in net/ipv4/tcp_input.c, tcp_enter_recovery,
 * tcp_cwnd_reduction, tcp_end_cwnd_reduction, tcp_enter_loss and tcp_undo_cwnd_reduction.
 */
#include <linux/version.h>
#include <net/tcp.h>

/* Nearly all pings that a Starlink dish lost were lost within 1 s of a reconfiguration (clarkzjw/LEONetEM) */
#define HANDOVER_BEFORE_NS 1000000000
#define HANDOVER_AFTER_NS 1000000000
#include "handover.h"

/* With this macro, tcp_cubic.c passes its struct tcp_congestion_ops to a function of this file */
static int cubic_handover_register(struct tcp_congestion_ops *ops);
#define tcp_register_congestion_control cubic_handover_register
#include "net/ipv4/tcp_cubic.c"
#undef tcp_register_congestion_control

static bool marks_only;
module_param(marks_only, bool, 0644);
MODULE_PARM_DESC(marks_only, "with ECN: marks and timeouts alone reduce; without: CUBIC, windows or not (default 0)");

struct cubic_handover {
	struct bictcp cubic;	/* must be first, because the functions of tcp_cubic.c expect a struct bictcp here */
	u32 held_cwnd;		/* congestion window after the repair; 0 = no repair of a handover's losses */
	u32 held_ssthresh;
	u32 windows_seen;	/* handover_count() at the last RTT sample that HyStart received */
};

static void cubic_handover_init(struct sock *sk)
{
	struct cubic_handover *ca = inet_csk_ca(sk);

	cubictcp_init(sk);
	ca->windows_seen = handover_count(tcp_sk(sk)->tcp_clock_cache);
}

static bool cubic_handover_has_ecn(const struct sock *sk)
{
#ifdef TCP_ECN_OK /* in kernels up to 6.17 */
	return tcp_sk(sk)->ecn_flags & TCP_ECN_OK;
#else
	return tcp_ecn_mode_any(tcp_sk(sk));
#endif
}

/* Whether a loss that the sender detects now belongs to a handover */
static bool cubic_handover_now(const struct sock *sk)
{
	return handover_touches(handover_oldest_sent_ns(sk), tcp_sk(sk)->tcp_clock_cache);
}

/*
 * Proportional rate reduction sends no more than was delivered since the recovery began. This function raises the count
 * of delivered packets, so the sender can refill the congestion window after losses.
 */
static void cubic_handover_fill(struct tcp_sock *tp, u32 cwnd)
{
	tp->prr_delivered = tp->prr_out + (tcp_packets_in_flight(tp) <= cwnd ? cwnd : 0);
}

/*
 * Called when a reduction begins. prior_ssthresh is 0 if ECN requires the reduction (tcp_enter_recovery, tcp_enter_cwr)
 */
static u32 cubic_handover_ssthresh(struct sock *sk)
{
	struct cubic_handover *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	/*
	 * This function cannot see whether a timeout causes the reduction, but set_state can. After a timeout outside
	 * the windows around reconfigurations, set_state therefore reduces the congestion window.
	 */
	if (!tp->prior_ssthresh || !(marks_only ? cubic_handover_has_ecn(sk) : cubic_handover_now(sk))) {
		ca->held_cwnd = 0;
		return cubictcp_recalc_ssthresh(sk);
	}
	/*
	 * At a second timeout of the same repair, the kernel has already reduced the congestion window. The value that
	 * was saved at the first timeout is therefore used again
	 */
	if (!ca->held_cwnd || inet_csk(sk)->icsk_ca_state <= TCP_CA_Disorder) {
		ca->held_cwnd = tcp_snd_cwnd(tp);
		ca->held_ssthresh = tp->snd_ssthresh;
	}
	cubic_handover_fill(tp, ca->held_cwnd);
	return ca->held_cwnd;
}

/*
 * Reduces the congestion window that was saved before the repair. Until the repair ends, the kernel still limits the
 * packets in flight.
 */
static void cubic_handover_reduce(struct sock *sk)
{
	struct cubic_handover *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	tcp_snd_cwnd_set(tp, ca->held_cwnd);
	tp->snd_ssthresh = cubictcp_recalc_ssthresh(sk);
	tcp_snd_cwnd_set(tp, cwnd);
	ca->held_cwnd = 0;
}

/*
 * Handles an ECN mark during a repair. The kernel ignores a mark during a repair, because it assumes that it has
 * already reduced the window. This function therefore does the same as tcp_init_cwnd_reduction(): the receiver gets
 * CWR, the proportional reduction begins, and marks on packets that are already in flight cause no second reduction.
 * high_seq is one higher than in the kernel, because the ACK of the last byte in flight can also carry a mark.
 */
static void cubic_handover_marked(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	cubic_handover_reduce(sk);
	tp->high_seq = tp->snd_nxt + 1;
	tp->prr_delivered = 0;
	tp->prr_out = 0;
	tp->ecn_flags |= TCP_ECN_QUEUE_CWR;
}

/* Called for each ACK, before the kernel's proportional rate reduction (tcp_cwnd_reduction) processes the ACK */
static void cubic_handover_in_ack_event(struct sock *sk, u32 flags)
{
	struct cubic_handover *ca = inet_csk_ca(sk);

	if (!ca->held_cwnd || inet_csk(sk)->icsk_ca_state != TCP_CA_Recovery)
		return;
	if (marks_only && flags & CA_ACK_ECE)
		cubic_handover_marked(sk);
	else
		cubic_handover_fill(tcp_sk(sk), ca->held_cwnd);
}

static void cubic_handover_restore(struct sock *sk)
{
	struct cubic_handover *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!ca->held_cwnd)
		return;
	tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp), ca->held_cwnd));
	tp->snd_ssthresh = ca->held_ssthresh;
	ca->held_cwnd = 0;
}

/*
 * Restores the congestion window when a repair after a timeout ends. At the end of a fast recovery, the kernel first
 * sets the congestion window itself. cubic_handover_cwnd_event therefore restores the window afterwards
 */
static void cubic_handover_set_state(struct sock *sk, u8 new_state)
{
	struct cubic_handover *ca = inet_csk_ca(sk);

	if (ca->held_cwnd && new_state == TCP_CA_Loss) {
		if (!marks_only || cubic_handover_now(sk))
			return;
		cubic_handover_reduce(sk);
	}
	cubictcp_state(sk, new_state);
	if (new_state == TCP_CA_Open && inet_csk(sk)->icsk_ca_state == TCP_CA_Loss)
		cubic_handover_restore(sk);
}

static void cubic_handover_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 1, 0)
	/*
	 * in kernels up to 7.0, this call runs CUBIC's own code; later kernels use a separate hook
	 * (cwnd_event_tx_start), which this file does not replace
	 */
	cubictcp_cwnd_event(sk, event);
#endif
	if (event == CA_EVENT_COMPLETE_CWR)
		cubic_handover_restore(sk);
}

static void cubic_handover_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct cubic_handover *ca = inet_csk_ca(sk);
	bool held_loss = ca->held_cwnd && inet_csk(sk)->icsk_ca_state == TCP_CA_Loss;
	u64 now_ns = tcp_sk(sk)->tcp_clock_cache;
	u32 windows = handover_count(now_ns);

	if (marks_only && !cubic_handover_has_ecn(sk)) {
		cubictcp_acked(sk, sample);
		return;
	}
	/* After a timeout, slow start ends at the former congestion window, so HyStart gets no samples */
	if (sample->rtt_us < 0 || held_loss ||
	    handover_touches(now_ns - (u64)sample->rtt_us * NSEC_PER_USEC, now_ns))
		return;
	if (ca->windows_seen != windows) {
		ca->windows_seen = windows;
		ca->cubic.delay_min = 0;
		bictcp_hystart_reset(sk);
	}
	cubictcp_acked(sk, sample);
}

static int cubic_handover_register(struct tcp_congestion_ops *ops)
{
	BUILD_BUG_ON(sizeof(struct cubic_handover) > ICSK_CA_PRIV_SIZE);
	strscpy(ops->name, "cubic_handover", sizeof(ops->name));
	ops->init = cubic_handover_init;
	ops->ssthresh = cubic_handover_ssthresh;
	ops->in_ack_event = cubic_handover_in_ack_event;
	ops->set_state = cubic_handover_set_state;
	ops->cwnd_event = cubic_handover_cwnd_event;
	ops->pkts_acked = cubic_handover_pkts_acked;
	return tcp_register_congestion_control(ops);
}
