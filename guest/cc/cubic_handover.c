// SPDX-License-Identifier: GPL-2.0-only
/*
 * cubic_handover: the kernel's CUBIC, except that it repairs the losses of an expected handover without reducing the
 * window.
 *
 * net/ipv4/tcp_cubic.c is included unchanged. This file contains everything that differs. A loss is treated differently
 * if it touches the window around a scheduled reconfiguration: its packet was sent in the window, its detection happens
 * in the window, or the window lies between the two. Such a loss is treated as follows:
 *
 *	fast recovery	neither the congestion window nor CUBIC's curve changes. The repair by SACK keeps the congestion
 *			window, and the slow start threshold is restored after the repair
 *	timeout		the kernel sends one packet and then slow-starts (tcp_enter_loss) up to the former congestion
 *			window. After the repair, congestion window and threshold have their former values, and CUBIC's
 *			curve continues
 *	RTT samples	samples that touch the window around the reconfiguration are not passed to HyStart. The first
 *			sample after it starts a new minimum delay, because the path has changed
 *
 * ECN marks always cause a reduction, as in CUBIC.
 *
 * With marks_only, a connection that has negotiated ECN reduces its window only because of marks and timeouts. Losses
 * that fast recovery finds are repaired at any time as if they were in a window around a reconfiguration. An ECN mark
 * that arrives during the repair causes a reduction. A timeout causes a reduction only outside the windows around
 * reconfigurations. A connection without ECN always behaves like CUBIC, also in the windows around reconfigurations.
 *
 * A congestion control cannot change the following three things. First, if nothing paces the connection (sch_fq would),
 * it refills the kept congestion window after a burst of losses all at once. Second, the kernel performs the slow start
 * after a timeout. Third, without SACK, the kernel repairs one packet per round trip.
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

/* Makes tcp_cubic.c register its struct tcp_congestion_ops through a function of this file */
static int cubic_handover_register(struct tcp_congestion_ops *ops);
#define tcp_register_congestion_control cubic_handover_register
#include "net/ipv4/tcp_cubic.c"
#undef tcp_register_congestion_control

static bool marks_only;
module_param(marks_only, bool, 0644);
MODULE_PARM_DESC(marks_only, "with ECN: marks and timeouts alone reduce; without: CUBIC, windows or not (default 0)");

struct cubic_handover {
	struct bictcp cubic;	/* must be first, because the functions of tcp_cubic.c only know this part */
	u32 held_cwnd;		/* congestion window after the repair; 0 = not repairing a handover's losses */
	u32 held_ssthresh;
	u32 windows_seen;	/* handover_count() at the last RTT sample that was passed to HyStart */
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

/* Whether a loss that is found now belongs to a handover */
static bool cubic_handover_now(const struct sock *sk)
{
	return handover_touches(handover_oldest_sent_ns(sk), tcp_sk(sk)->tcp_clock_cache);
}

/*
 * Proportional rate reduction sends no more than was delivered since the recovery began. Raising the count of delivered
 * packets therefore refills the congestion window that losses have emptied.
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
	 * Only set_state knows whether a timeout causes this reduction. At a timeout outside the windows around
	 * reconfigurations, set_state reduces the congestion window.
	 */
	if (!tp->prior_ssthresh || !(marks_only ? cubic_handover_has_ecn(sk) : cubic_handover_now(sk))) {
		ca->held_cwnd = 0;
		return cubictcp_recalc_ssthresh(sk);
	}
	/*
	 * At a second timeout of the same repair, the congestion window is already small. The value that was kept at
	 * the first timeout then stays in use
	 */
	if (!ca->held_cwnd || inet_csk(sk)->icsk_ca_state <= TCP_CA_Disorder) {
		ca->held_cwnd = tcp_snd_cwnd(tp);
		ca->held_ssthresh = tp->snd_ssthresh;
	}
	cubic_handover_fill(tp, ca->held_cwnd);
	return ca->held_cwnd;
}

/* Reduces the congestion window that was kept during the repair. The kernel still controls the packets in flight. */
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
 * Handles an ECN mark during a repair. The kernel ignores the mark, because in its view the window is already reduced.
 * As in tcp_init_cwnd_reduction(), the sender sends CWR to the receiver, the proportional reduction begins here, and
 * marks on packets in flight cause no second reduction. The value of high_seq is one higher, because the ACK of the
 * last byte in flight can also carry a mark.
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

/* Called before an ACK causes its part of a reduction */
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
 * Called at the end of the repair after a timeout. A fast recovery sets the congestion window again at its end, and
 * signals the end only afterwards (cubic_handover_cwnd_event)
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
	 * in later kernels, a separate hook (cwnd_event_tx_start) does the work of this function, and CUBIC's own hook
	 * is used
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
	/* The slow start after a timeout ends by itself, at the former congestion window */
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
