// SPDX-License-Identifier: GPL-2.0-only
/*
 * bbr_handover: the kernel's BBR, which does not learn from a handover that it knows to come.
 *
 * net/ipv4/tcp_bbr.c is included as it is; here is all that differs, and it differs only for an ACK whose sample (from
 * the sending of what it acknowledges until now) touches the window around a scheduled reconfiguration:
 *
 *	probing		PROBE_BW paces with gain 1 and its cycle stands still; PROBE_RTT is not entered
 *	filters		bandwidth, minimum RTT and ACK aggregation keep what they held
 *	policers	its losses are no evidence of one: the sampling of long-term bandwidth starts anew
 *
 * After the window bandwidth and base delay are another path's. The rounds that the bandwidth filter reaches back have
 * gone on, so that it turns to the samples that follow. The minimum RTT expires: a base delay that has risen cannot be
 * told from the queue that a handover leaves behind, and BBR's own way is PROBE_RTT, which empties the queue. It comes
 * now and not at some time within the next 10 s.
 *
 * A connection that has not filled the pipe yet has nothing to hold: all is BBR's until then.
 *
 * With only_defer the pacing alone differs: while the window lasts PROBE_BW paces with gain 1 and its cycle pauses, so
 * that a probe comes after the window. A tree whose tcp_bbr.c is version 3 has this alone.
 *
 * Before working on this file read net/ipv4/tcp_bbr.c and net/ipv4/tcp_rate.c.
 */
#include <net/tcp.h>

/* From a probe that would still fill the queue until spikes of delay (50 ms on Starlink) have drained */
#define HANDOVER_BEFORE_NS 100000000
#define HANDOVER_AFTER_NS 400000000
#include "handover.h"

/* Draws as BBR does: without windows the two are the same to the byte */
#define DRAWS_OF sk
#include "draws.h"

/* The registration of tcp_bbr.c comes here, with its struct tcp_congestion_ops */
static int bbr_handover_register(struct tcp_congestion_ops *ops);
#define tcp_register_congestion_control bbr_handover_register
#include "net/ipv4/tcp_bbr.c"
#undef tcp_register_congestion_control

/* Version 3 alone says which it is */
#ifndef BBR_VERSION

static bool only_defer;
module_param(only_defer, bool, 0644);
MODULE_PARM_DESC(only_defer, "nothing but pacing differs: gain 1 in the window (default 0)");

static bool force_probe_rtt = true;
module_param(force_probe_rtt, bool, 0644);
MODULE_PARM_DESC(force_probe_rtt, "the minimum RTT expires after each window, unless only_defer (default 1)");

/* struct bbr fills all that a connection has for its congestion control: the count of windows goes where it has room */
#define bbr_windows_seen unused_b
#define BBR_WINDOWS_MASK 0x1f

static u32 bbr_windows(const struct sock *sk)
{
	return handover_count(tcp_sk(sk)->tcp_clock_cache) & BBR_WINDOWS_MASK;
}

static void bbr_handover_init(struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);

	bbr_init(sk);
	bbr->bbr_windows_seen = bbr_windows(sk);
}

/* Undoes what an ACK of the window has done to the filters */
static void bbr_handover_hold_filters(struct sock *sk, const struct bbr *was)
{
	struct bbr *bbr = inet_csk_ca(sk);

	bbr->bw = was->bw;
	bbr->min_rtt_us = was->min_rtt_us;
	if (!force_probe_rtt)
		bbr->min_rtt_stamp = was->min_rtt_stamp;	/* it expires when it would have, but not in the window */
	bbr->extra_acked[0] = was->extra_acked[0];
	bbr->extra_acked[1] = was->extra_acked[1];
	bbr->extra_acked_win_rtts = was->extra_acked_win_rtts;
	bbr->extra_acked_win_idx = was->extra_acked_win_idx;
	if (!was->lt_use_bw)
		bbr_reset_lt_bw_sampling(sk);
}

/* The same for the cycle, and gain 1 */
static void bbr_handover_hold_cycle(struct sock *sk, const struct bbr *was)
{
	struct bbr *bbr = inet_csk_ca(sk);

	if (bbr->mode != BBR_PROBE_BW)
		return;
	if (was->mode == BBR_PROBE_BW) {
		bbr->cycle_idx = was->cycle_idx;
		bbr->cycle_mstamp = was->cycle_mstamp;
	}
	bbr->pacing_gain = BBR_UNIT;
}

/* bbr_main() with the holding between what BBR learns and what it does with it */
static void bbr_handover_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	u64 now_ns = tcp_sk(sk)->tcp_clock_cache;
	u64 from_ns = rs->prior_mstamp ? rs->prior_mstamp * NSEC_PER_USEC : now_ns;
	struct bbr *bbr = inet_csk_ca(sk);
	bool full = bbr_full_bw_reached(sk);
	struct bbr was = *bbr;
	u32 bw;

	/* A sample is of the past, but pacing is of now */
	if (only_defer)
		from_ns = now_ns;
	if (!full || !handover_touches(from_ns, now_ns)) {
		if (full && !only_defer && bbr->bbr_windows_seen != bbr_windows(sk)) {
			bbr->bbr_windows_seen = bbr_windows(sk);
			if (force_probe_rtt)
				bbr->min_rtt_stamp = tcp_jiffies32 - bbr_min_rtt_win_sec * HZ - 1;	/* expired */
		}
		bbr_main(sk, ack, flag, rs);
		return;
	}

	if (only_defer) {
		bbr_update_model(sk, rs);
	} else {
		bbr->min_rtt_stamp = tcp_jiffies32;	/* a filter that has not expired starts no PROBE_RTT */
		bbr_update_model(sk, rs);
		bbr_handover_hold_filters(sk, &was);
	}
	bbr_handover_hold_cycle(sk, &was);

	bw = bbr_bw(sk);
	bbr_set_pacing_rate(sk, bw, bbr->pacing_gain);
	bbr_set_cwnd(sk, rs, rs->acked_sacked, bw, bbr->cwnd_gain);
}

/* A timeout, too, is a loss for the policer's sampling */
static void bbr_handover_set_state(struct sock *sk, u8 new_state)
{
	struct bbr *bbr = inet_csk_ca(sk);
	bool lt_used_bw = bbr->lt_use_bw;

	bbr_set_state(sk, new_state);
	if (!only_defer && new_state == TCP_CA_Loss && !lt_used_bw &&
	    handover_touches(handover_oldest_sent_ns(sk), tcp_sk(sk)->tcp_clock_cache))
		bbr_reset_lt_bw_sampling(sk);
}

static void bbr_handover_ops(struct tcp_congestion_ops *ops)
{
	ops->init = bbr_handover_init;
	ops->cong_control = bbr_handover_main;
	ops->set_state = bbr_handover_set_state;
}

#else /* version 3 */

/* Read-only: a run that asks for the holding of filters ends instead of doing something else */
static bool only_defer = true;
module_param(only_defer, bool, 0444);
MODULE_PARM_DESC(only_defer, "nothing but pacing differs: gain 1 in the window; BBR of version 3 has no other way");

/* No probe for bandwidth begins: what it waits for, time or round trips, has almost passed and goes no further */
static void bbr_handover_put_off(struct sock *sk)
{
	struct bbr *bbr = inet_csk_ca(sk);
	u32 rounds = min(bbr_param(sk, bw_probe_max_rounds), bbr_target_inflight(sk));

	if (bbr_has_elapsed_in_phase(sk, bbr->probe_wait_us))
		bbr->cycle_mstamp = tcp_sk(sk)->tcp_mstamp - bbr->probe_wait_us;
	bbr->rounds_since_probe = min_t(u32, bbr->rounds_since_probe, max(rounds, 2U) - 2);
}

static void bbr_handover_main(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	u64 now_ns = tcp_sk(sk)->tcp_clock_cache;
	bool defers = bbr_full_bw_reached(sk) && handover_touches(now_ns, now_ns);
	struct bbr *bbr = inet_csk_ca(sk);

	/* In PROBE_UP this is another clock, by which nothing ends */
	if (defers && bbr->mode == BBR_PROBE_BW && bbr->cycle_idx != BBR_BW_PROBE_UP)
		bbr_handover_put_off(sk);
	bbr_main(sk, ack, flag, rs);
	/* A probe that is under way goes on at the rate that it has found so far */
	if (defers && bbr->mode == BBR_PROBE_BW) {
		bbr->pacing_gain = BBR_UNIT;
		bbr->try_fast_path = 0;	/* which would leave the gain as it is after the window */
		bbr_set_pacing_rate(sk, bbr_bw(sk), BBR_UNIT);
	}
}

static void bbr_handover_ops(struct tcp_congestion_ops *ops)
{
	ops->cong_control = bbr_handover_main;
}

#endif

static int bbr_handover_register(struct tcp_congestion_ops *ops)
{
	strscpy(ops->name, "bbr_handover", sizeof(ops->name));
	bbr_handover_ops(ops);
	return tcp_register_congestion_control(ops);
}
