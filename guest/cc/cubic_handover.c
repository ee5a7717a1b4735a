// SPDX-License-Identifier: GPL-2.0-only
/*
 * cubic_handover: the kernel's CUBIC, which repairs the losses of a handover that it knows to come without reducing its
 * window.
 *
 * net/ipv4/tcp_cubic.c is included as it is; here is all that differs. A loss whose packet was sent, or whose detection
 * lies, in the window around a scheduled reconfiguration (or between which two the window lies):
 *
 *	fast recovery	neither congestion window nor CUBIC's curve changes: the window is what it was during the repair by
 *			SACK, and the slow start threshold is after it
 *	timeout		the kernel sends one packet and starts slowly (tcp_enter_loss), up to the window that was; when the
 *			repair is done, window and threshold are what they were, and CUBIC's curve goes on
 *	RTT samples	that touch the window are not HyStart's; the first after it begins a new minimum delay, because the
 *			path is another one
 *
 * ECN asks for a reduction wherever it is: that is CUBIC's own.
 *
 * With marks_only a connection that has negotiated ECN reduces for marks and timeouts alone. Losses that are found by fast
 * recovery are repaired as in a window, wherever they are; a mark that comes meanwhile reduces. A timeout reduces outside
 * of a window. A connection without ECN is CUBIC's in all, in windows too.
 *
 * What a congestion control can not change: a window of held size that is refilled after a burst of losses goes out at
 * once, if nothing paces it (sch_fq does); after a timeout the slow start is the kernel's; without SACK the kernel
 * repairs one packet a round trip.
 *
 * Before working on this file read net/ipv4/tcp_cubic.c, and in net/ipv4/tcp_input.c tcp_enter_recovery,
 * tcp_cwnd_reduction, tcp_end_cwnd_reduction, tcp_enter_loss, tcp_undo_cwnd_reduction.
 */
#include <linux/version.h>
#include <net/tcp.h>

/* Of the pings that a Starlink dish lost, nearly all were lost within 1 s of a reconfiguration (clarkzjw/LEONetEM) */
#define HANDOVER_BEFORE_NS 1000000000
#define HANDOVER_AFTER_NS 1000000000
#include "handover.h"

/* The registration of tcp_cubic.c comes here, with its struct tcp_congestion_ops */
static int cubic_handover_register(struct tcp_congestion_ops *ops);
#define tcp_register_congestion_control cubic_handover_register
#include "net/ipv4/tcp_cubic.c"
#undef tcp_register_congestion_control

static bool marks_only;
module_param(marks_only, bool, 0644);
MODULE_PARM_DESC(marks_only, "with ECN: marks and timeouts alone reduce; without: CUBIC, windows or not (default 0)");

struct cubic_handover {
	struct bictcp cubic;	/* first: it is all that the functions of tcp_cubic.c see */
	u32 held_cwnd;		/* packets to have when the repair is done; 0: it is not a handover's */
	u32 held_ssthresh;
	u32 windows_seen;	/* handover_count() at the last RTT sample that HyStart got */
};

static void cubic_handover_init(struct sock *sk)
{
	struct cubic_handover *ca = inet_csk_ca(sk);

	cubictcp_init(sk);
	ca->windows_seen = handover_count(tcp_sk(sk)->tcp_clock_cache);
}

static bool cubic_handover_has_ecn(const struct sock *sk)
{
	return tcp_sk(sk)->ecn_flags & TCP_ECN_OK;
}

/* Is a loss that is found now a handover's? */
static bool cubic_handover_now(const struct sock *sk)
{
	return handover_touches(handover_oldest_sent_ns(sk), tcp_sk(sk)->tcp_clock_cache);
}

/*
 * Proportional rate reduction sends no more than was delivered since the recovery began. What it is told to have been
 * delivered before lets it fill the window that its losses have emptied.
 */
static void cubic_handover_fill(struct tcp_sock *tp, u32 cwnd)
{
	tp->prr_delivered = tp->prr_out + (tcp_packets_in_flight(tp) <= cwnd ? cwnd : 0);
}

/* Called when a reduction begins. prior_ssthresh is 0 if ECN asks for it (tcp_enter_recovery, tcp_enter_cwr) */
static u32 cubic_handover_ssthresh(struct sock *sk)
{
	struct cubic_handover *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	/* set_state alone knows that it is a timeout, and reduces outside of a window */
	if (!tp->prior_ssthresh || !(marks_only ? cubic_handover_has_ecn(sk) : cubic_handover_now(sk))) {
		ca->held_cwnd = 0;
		return cubictcp_recalc_ssthresh(sk);
	}
	/* A second timeout of the same repair finds a window that is not worth holding */
	if (!ca->held_cwnd || inet_csk(sk)->icsk_ca_state <= TCP_CA_Disorder) {
		ca->held_cwnd = tcp_snd_cwnd(tp);
		ca->held_ssthresh = tp->snd_ssthresh;
	}
	cubic_handover_fill(tp, ca->held_cwnd);
	return ca->held_cwnd;
}

/* The window that is held is reduced after all; what is in flight of it stays the kernel's */
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
 * A mark during a repair, which the kernel answers by nothing because it takes the window for reduced. As in
 * tcp_init_cwnd_reduction() the receiver gets CWR, the proportional reduction begins here, and what is in flight now
 * brings no second one. The ACK of its last byte can still ask for one, so that one more has to be acknowledged.
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

/* Before each ACK's share of a reduction */
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

/* The end of a timeout's repair. That of a fast recovery sets the window once more, and says so afterwards: below */
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
	/* later ones have a hook of its own for all that it does (cwnd_event_tx_start), which stays CUBIC's */
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
	/* The slow start after a timeout ends by itself, at the window that was */
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
